//! Whom a program trusts over TLS, and which certificate it shows: rustls with ring, version 1.2 at
//! least and 1.3 by preference (spec §7.1, §13.4).
//!
//! For whatever makes connections: clients of agents, of authorization servers, of databases and of
//! NATS say it in the same words. Whoever calls or serves agents finds it in `a2a_http::tls`.
//!
//! ```no_run
//! use a2a_tls::{ClientTls, Pem};
//!
//! # fn main() -> Result<(), a2a_tls::TlsError> {
//! let tls = ClientTls::new()
//!     .with_roots(&Pem::file("ca.crt"))?
//!     .with_identity(&Pem::file("client.crt"), &Pem::file("client.key"))?;
//! let config = tls.config()?;
//! # Ok(())
//! # }
//! ```
//!
//! Settings for rustls, and the form in which it has certificates, are what this crate is for: it
//! is the one that has them in its signatures.

mod client;
mod error;
pub mod pem;
mod verify;

pub use client::ClientTls;
pub use error::TlsError;
pub use pem::Pem;
