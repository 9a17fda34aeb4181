//! Errors of loading certificates and keys.

use std::{error::Error as StdError, io, path::PathBuf};

/// Why certificates or keys can't be used.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file can't be read.
    #[error("failed to read {what} from {}", path.display())]
    Read {
        /// The expected content, for example `private key`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// The text is not PEM (RFC 7468).
    #[error("{what} is not valid PEM")]
    Pem {
        /// The expected content.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The text is PEM, but has no section of the expected type.
    #[error("no {0} found in the PEM text")]
    Missing(&'static str),
    /// A root certificate or certificate revocation list is invalid.
    #[error("invalid {what}")]
    Unusable {
        /// The expected content.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The private key does not match the certificate, or its type is unsupported.
    #[error("certificate and private key do not match, or the key type is unsupported")]
    Identity(#[source] Box<dyn StdError + Send + Sync>),
    /// The system lacks random numbers or another prerequisite of TLS.
    #[error("failed to set up TLS")]
    Setup(#[source] Box<dyn StdError + Send + Sync>),
}

a2a_core::debug_as_chain!(TlsError);
