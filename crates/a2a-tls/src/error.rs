//! Why certificates and keys can't be used.

use std::{error::Error as StdError, io, path::PathBuf};

/// Why certificates and keys can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file can't be read.
    #[error("can't read the {what} in {}", path.display())]
    Read {
        /// What it should hold, for example `key`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The text is not PEM (RFC 7468).
    #[error("the {what} is not PEM")]
    Pem {
        /// What it should hold.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The text is PEM, but holds nothing of the kind that is looked for.
    #[error("there is no {0} in what was given as one")]
    Missing(&'static str),
    /// A certificate among those to trust can't be one, or a list of revocations is broken.
    #[error("the {what} can't be used")]
    Unusable {
        /// What it should be.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The key does not belong to the certificate, or is of a kind that is not known.
    #[error("the certificate and the key can't be used together")]
    Identity(#[source] Box<dyn StdError + Send + Sync>),
    /// The system has no random numbers, or lacks what TLS needs.
    #[error("TLS can't be set up")]
    Setup(#[source] Box<dyn StdError + Send + Sync>),
}
