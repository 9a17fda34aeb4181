//! The result of verifying the signatures of a card.

use std::fmt;

use a2a_core::ParseError;
use a2a_kit_operations::CardSignature;
use bytes::Bytes;

use super::CanonicalForm;
use crate::jose::{Algorithm, MissingKey};

/// The result of verifying the signatures of a card.
#[derive(Debug)]
#[non_exhaustive]
pub enum CardVerification {
    /// One of them is valid.
    Verified(VerifiedSignature),
    /// None of them is valid: the reason for each that was checked.
    Unverifiable(Vec<RejectedSignature>),
    /// The card has no signatures.
    Absent,
}

/// A valid signature.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifiedSignature {
    /// The id of the key.
    pub key_id: String,
    /// The algorithm of the signature.
    pub algorithm: Algorithm,
    /// The canonical form that the signature covers.
    pub form: CanonicalForm,
    /// The part of the card that the signature covers, as JSON. Use this rather than the received
    /// card, to which anyone could have added other members.
    pub covered: Bytes,
}

/// An invalid signature.
#[derive(Debug)]
#[non_exhaustive]
pub struct RejectedSignature {
    /// The key id in its header, if any.
    pub key_id: Option<String>,
    /// The reason.
    pub reason: SignatureError,
}

/// Why a signature was rejected.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The document is not a valid card.
    #[error(transparent)]
    NotACard(ParseError),
    /// The signature is malformed.
    #[error("the signature is malformed: {0}")]
    Malformed(&'static str),
    /// The algorithm is unknown or insecure.
    #[error(transparent)]
    Algorithm(#[from] ParseError),
    /// The key is for another algorithm.
    #[error("key is for algorithm {0}")]
    OtherAlgorithm(Algorithm),
    /// The key is not trusted.
    #[error("unknown key")]
    UnknownKey,
    /// The signature names a key URL that is not trusted.
    #[error("untrusted key URL {0:?}")]
    UntrustedAddress(String),
    /// The keys are unavailable.
    #[error("{0}")]
    Keys(#[source] MissingKey),
    /// The key has expired.
    #[error("key has expired")]
    Expired,
    /// The key is not valid yet.
    #[error("key is not valid yet")]
    NotYetValid,
    /// The key is revoked.
    #[error("key is revoked")]
    Revoked,
    /// The signature does not match this card and key.
    #[error("invalid signature")]
    Signature,
}

a2a_core::debug_as_chain!(SignatureError);

impl fmt::Display for RejectedSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key_id) = &self.key_id {
            write!(f, "{key_id:?}: ")?;
        }
        write!(f, "{}", self.reason)
    }
}

impl fmt::Display for CardVerification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified(verified) => write!(f, "verified ({})", verified.key_id),
            Self::Unverifiable(rejected) => write!(f, "unverifiable ({})", list(rejected)),
            Self::Absent => f.write_str("absent"),
        }
    }
}

fn list(rejected: &[RejectedSignature]) -> String {
    rejected.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl From<CardVerification> for CardSignature {
    fn from(verification: CardVerification) -> Self {
        match verification {
            CardVerification::Verified(verified) => {
                Self::Verified { key_id: verified.key_id, covered: verified.covered }
            }
            CardVerification::Unverifiable(rejected) => {
                Self::Unverifiable { reason: list(&rejected) }
            }
            CardVerification::Absent => Self::Absent,
        }
    }
}
