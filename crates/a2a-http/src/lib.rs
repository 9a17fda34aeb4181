//! What the HTTP bindings of A2A share: limits, service parameters, event streams, the card
//! endpoint, the server loop, an HTTP client and webhooks.
//!
//! Bindings are built on this crate. An application meets it in three places: [`Limits`] and
//! [`VersionPolicy`] when it sets up a binding, [`Server`] when it serves a router, and
//! [`Webhooks`] when its agent calls webhooks.
//!
//! ```no_run
//! use a2a_core::AgentCard;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let router = a2a_http::card::router(AgentCard::new("Echo", "Says what it hears"))?;
//! let listener = a2a_http::bind("127.0.0.1:8080").await?;
//! a2a_http::Server::new(router).serve(listener, std::future::pending()).await;
//! # Ok(())
//! # }
//! ```

mod address;
pub mod body;
pub mod card;
pub mod client;
pub mod dispatch;
pub mod fault;
mod gate;
mod limits;
pub mod media;
mod options;
pub mod parameters;
pub mod parse;
mod peer;
pub mod pieces;
pub mod rate;
pub mod refusal;
mod report;
mod serve;
pub mod site_guard;
pub mod sse;
pub mod tls;
mod webhook;

pub use address::{InvalidNetwork, TrustedProxy, client_address, network};
pub use limits::Limits;
pub use options::Options;
pub use parameters::VersionPolicy;
pub use peer::PeerCertificates;
pub use report::report;
pub use serve::{Drain, PerIpLimit, PerIpPermit, ServeError, Server, bind};
pub use webhook::{Allowed, Payload, UnknownAddress, WebhookPolicy, Webhooks};
