//! A certificate authority for tests.
//!
//! An [`Authority`] issues an [`Identity`], which is a certificate with its key, as PEM and as
//! DER. A [`Folder`] has an authority and writes what it issues to files.
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
//! Further certificate parameters are set with the re-exported [`rcgen`].

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
