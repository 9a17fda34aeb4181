//! TLS for servers and clients: rustls with ring, TLS 1.2 or later, 1.3 preferred (spec §7.1,
//! §13.4).
//!
//! ```no_run
//! use a2a_kit_http::{client::ClientSettings, tls::{ClientTls, Pem}};
//!
//! # fn main() -> Result<(), a2a_kit_http::tls::TlsError> {
//! let tls = ClientTls::new()
//!     .with_roots(&Pem::file("ca.crt"))?
//!     .with_identity(&Pem::file("client.crt"), &Pem::file("client.key"))?;
//! let settings = ClientSettings::default().with_tls(tls);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "server")]
mod expiry;
#[cfg(feature = "server")]
mod reload;
#[cfg(feature = "server")]
mod settings;

#[cfg(feature = "client")]
pub use a2a_kit_tls::ClientTls;
pub use a2a_kit_tls::{Pem, TlsError};
#[cfg(feature = "server")]
pub use reload::Tls;
#[cfg(feature = "server")]
pub use settings::{ClientCertificates, TlsSettings};
