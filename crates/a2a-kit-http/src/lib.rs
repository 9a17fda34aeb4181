//! HTTP building blocks shared by the A2A bindings: limits, service parameters, event streams, the
//! card endpoint, the server, an HTTP client and webhooks.
//!
//! Bindings are built on this crate, by modules that are hidden here. Applications use it in three places: [`Limits`] and
//! [`VersionPolicy`] to configure a binding, [`HttpServer`] to serve a router, and [`Webhooks`] to
//! deliver push notifications.
//!
//! ```no_run
//! use a2a_core::AgentCard;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let router = a2a_kit_http::card::router(AgentCard::new("Echo", "Says what it hears"))?;
//! let listener = a2a_kit_http::bind("127.0.0.1:8080").await?;
//! a2a_kit_http::HttpServer::new(router).serve(listener, a2a_kit_http::shutdown_signal()).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! All are enabled by default.
//!
//! - `client`: the HTTP client of the bindings.
//! - `server`: the server, and what the bindings write.
//! - `webhook`: delivery of push notifications.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, reason = "clients and servers share modules")
)]

#[cfg(feature = "server")]
mod address;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod body;
#[cfg(feature = "server")]
pub mod card;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod card_page;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod chunked_body;
#[cfg(feature = "client")]
pub mod client;
#[doc(hidden)]
pub mod content_type;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod dispatch;
#[doc(hidden)]
pub mod error_body;
mod error_log;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod error_response;
#[cfg(any(feature = "client", feature = "server"))]
mod forward_io;
#[cfg(feature = "server")]
mod head_check;
mod limits;
#[cfg(feature = "server")]
mod options;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod parse;
#[cfg(feature = "server")]
mod peer;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod query;
#[cfg(feature = "server")]
pub mod rate;
mod read_budget;
#[doc(hidden)]
pub mod redaction;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod repeated_fields;
mod response_error;
#[cfg(feature = "server")]
mod serve;
#[doc(hidden)]
pub mod service_parameters;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod site_guard;
#[doc(hidden)]
pub mod sse;
pub mod tls;
#[doc(hidden)]
pub mod uri;
#[cfg(feature = "client")]
mod webhook;

#[cfg(feature = "server")]
pub use address::TrustedProxy;
#[cfg(feature = "server")]
#[doc(hidden)]
pub use address::{ClientAddress, client_address, network};
pub use error_log::report;
pub use limits::Limits;
#[cfg(feature = "server")]
pub use options::BindingOptions;
#[cfg(feature = "server")]
#[doc(hidden)]
pub use peer::PeerCertificates;
#[cfg(feature = "server")]
pub use serve::{BindError, Drain, HttpServer, bind, shutdown_signal};
#[cfg(feature = "server")]
#[doc(hidden)]
pub use serve::{DirectHandler, DirectRoutes, PerIpLimit, PerIpPermit, serve_binding};
#[doc(inline)]
pub use service_parameters::VersionPolicy;
#[cfg(feature = "webhook")]
#[doc(hidden)]
pub use webhook::Payload;
#[cfg(feature = "webhook")]
pub use webhook::Webhooks;
#[cfg(feature = "client")]
pub use webhook::{Allowed, WebhookPolicy};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
