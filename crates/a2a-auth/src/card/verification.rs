//! What came of checking the signatures of a card.

use std::fmt;

use a2a_core::Error;
use a2a_operations::CardSignature;
use bytes::Bytes;

use super::{Form, MalformedHeader, NotACard};
use crate::jose::{Algorithm, MissingKey, RefusedAlgorithm};

/// What is known of the signatures of a card.
#[derive(Debug)]
#[non_exhaustive]
pub enum Verification {
    /// One of them is good.
    Verified(Verified),
    /// There are some, and none is good: why, for each that was looked at.
    Unverifiable(Vec<Rejected>),
    /// There are none.
    Absent,
}

/// A good signature.
#[derive(Clone, Debug)]
pub struct Verified {
    pub(super) key_id: String,
    pub(super) algorithm: Algorithm,
    pub(super) form: Form,
    pub(super) covered: Bytes,
}

impl Verified {
    /// The id of the key.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// How it is signed.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// What it is over.
    pub fn form(&self) -> Form {
        self.form
    }

    /// What of the card the signature vouches for, as JSON: this is to be read, and not what was
    /// received, which may have members beside that anybody could have put there.
    pub fn covered(&self) -> &Bytes {
        &self.covered
    }
}

/// A signature that is not good.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rejected {
    /// The id of the key that it names, where it does.
    pub key_id: Option<String>,
    /// What is wrong.
    pub reason: Reason,
}

/// Why a signature is not believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// What was received is no card.
    #[error(transparent)]
    NotACard(#[from] NotACard),
    /// It is no signature.
    #[error(transparent)]
    Malformed(#[from] MalformedHeader),
    /// It is made in a way that is not to be trusted, or not known.
    #[error(transparent)]
    Algorithm(#[from] RefusedAlgorithm),
    /// The key is for another algorithm than the signature.
    #[error("the key is for {0}")]
    OtherAlgorithm(Algorithm),
    /// The key is none of those that are trusted.
    #[error("the key is not known")]
    UnknownKey,
    /// The signature says that the key is at an address that is not trusted.
    #[error("keys at {0:?} are not trusted")]
    UntrustedAddress(String),
    /// The keys can't be had at the moment.
    #[error("{0}")]
    Keys(#[source] MissingKey),
    /// The key is no longer valid.
    #[error("the key has expired")]
    Expired,
    /// The key is not valid yet.
    #[error("the key is not valid yet")]
    NotYetValid,
    /// The key is revoked.
    #[error("the key is revoked")]
    Revoked,
    /// The signature is not over this card, or not by this key.
    #[error("the signature is wrong")]
    Signature,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key_id) = &self.key_id {
            write!(f, "{key_id:?}: ")?;
        }
        write!(f, "{}", self.reason)
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified(verified) => write!(f, "verified ({})", verified.key_id),
            Self::Unverifiable(rejected) => write!(f, "unverifiable ({})", Listed(rejected)),
            Self::Absent => f.write_str("absent"),
        }
    }
}

struct Listed<'a>(&'a [Rejected]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, rejected) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{rejected}")?;
        }
        Ok(())
    }
}

impl From<Verification> for CardSignature {
    fn from(verification: Verification) -> Self {
        match verification {
            Verification::Verified(verified) => {
                Self::Verified { key_id: verified.key_id, covered: verified.covered }
            }
            Verification::Unverifiable(rejected) => {
                Self::Unverifiable { reason: Listed(&rejected).to_string() }
            }
            Verification::Absent => Self::Absent,
        }
    }
}

impl From<super::SignError> for Error {
    fn from(error: super::SignError) -> Self {
        Self::internal(error)
    }
}
