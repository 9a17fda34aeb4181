//! HTTP building blocks shared by the A2A bindings: limits, service parameters, event streams, the
//! card endpoint, the server, an HTTP client and webhooks.
//!
//! Bindings are built on this crate. Applications use it in three places: [`Limits`] and
//! [`VersionPolicy`] to configure a binding, [`Server`] to serve a router, and [`Webhooks`] to
//! deliver push notifications.
//!
//! ```no_run
//! use a2a_core::AgentCard;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let router = a2a_kit_http::card::router(AgentCard::new("Echo", "Says what it hears"))?;
//! let listener = a2a_kit_http::bind("127.0.0.1:8080").await?;
//! a2a_kit_http::Server::new(router).serve(listener, a2a_kit_http::shutdown_signal()).await;
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod address;
pub mod body;
pub mod card;
pub mod client;
pub mod content_type;
pub mod dispatch;
pub mod error_body;
mod error_log;
pub mod error_response;
mod gate;
mod limits;
mod options;
pub mod parse;
mod peer;
pub mod pieces;
pub mod rate;
mod serve;
pub mod service_parameters;
pub mod site_guard;
pub mod sse;
pub mod tls;
mod webhook;

pub use address::{InvalidNetwork, TrustedProxy, client_address, network};
pub use error_log::report;
pub use limits::Limits;
pub use options::BindingOptions;
pub use peer::PeerCertificates;
pub use serve::{Drain, PerIpLimit, PerIpPermit, ServeError, Server, bind, shutdown_signal};
pub use service_parameters::VersionPolicy;
pub use webhook::{Allowed, Payload, UnknownAddress, WebhookPolicy, Webhooks};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
