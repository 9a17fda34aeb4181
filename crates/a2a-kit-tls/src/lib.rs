//! TLS client configuration shared by HTTP, PostgreSQL and NATS: rustls, TLS 1.3 and 1.2 (spec
//! §7.1, §13.4).
//!
//! Clients and servers of agents find it re-exported in `a2a_kit_http::tls`.
//!
//! ```no_run
//! use a2a_kit_tls::{ClientTls, Pem};
//!
//! # fn main() -> Result<(), a2a_kit_tls::TlsError> {
//! let tls = ClientTls::new()
//!     .with_roots(&Pem::file("ca.crt"))?
//!     .with_identity(&Pem::file("client.crt"), &Pem::file("client.key"))?;
//! let config = tls.config()?;
//! # Ok(())
//! # }
//! ```
//!
//! This is the only crate of the workspace with rustls types in its public API.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
pub mod crypto;
mod error;
pub mod pem;
#[cfg(feature = "client")]
mod verify;

#[cfg(feature = "client")]
pub use client::ClientTls;
pub use error::TlsError;
pub use pem::Pem;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
