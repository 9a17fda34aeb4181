//! TLS for both ends: rustls with ring, version 1.2 at least and 1.3 by preference (spec §7.1,
//! §13.4).

mod client;
mod error;
mod live;
mod pem;
mod settings;

pub use client::ClientTls;
pub use error::TlsError;
pub use live::Tls;
pub use pem::Pem;
pub use settings::{ClientCertificates, TlsSettings};
