//! A certificate authority for tests, and those whom it vouches for.
//!
//! An [`Authority`] issues an [`Identity`], which is a certificate with its key, as PEM and as
//! DER. A [`Folder`] has an authority and keeps what it issues in files, for what reads those.
//!
//! ```
//! use a2a_test_certificates::Authority;
//!
//! let authority = Authority::new("root");
//! let (server, revoked) = (authority.for_this_machine("server"), authority.for_host("app"));
//! assert!(server.certificate.starts_with("-----BEGIN CERTIFICATE-----"));
//! assert!(authority.revoked(&revoked).starts_with("-----BEGIN X509 CRL-----"));
//! ```
//!
//! What a certificate can say beyond its hosts is said with [`rcgen`], which is here for that.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test that gets no certificate is to fail"
)]

mod authority;
mod folder;
mod identity;

pub use authority::Authority;
pub use folder::Folder;
pub use identity::Identity;
pub use rcgen;
