//! Signing and verifying agent cards.

use std::fmt;

use a2a_core::{AgentCard, Result};
use async_trait::async_trait;
use bytes::Bytes;

/// The result of verifying the signatures of an agent card (spec §8.4.3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CardSignature {
    /// Signed by a trusted key.
    Verified {
        /// The id of the key.
        key_id: String,
        /// The signed part of the card, as JSON. Use it instead of the received card, which may
        /// have unsigned members added by anyone.
        covered: Bytes,
    },
    /// Signed, but no signature could be verified.
    Unverifiable {
        /// Why, for each of the signatures.
        reason: String,
    },
    /// It is not signed.
    Absent,
}

impl fmt::Display for CardSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified { key_id, .. } => write!(f, "verified ({key_id})"),
            Self::Unverifiable { reason } => write!(f, "unverifiable ({reason})"),
            Self::Absent => f.write_str("absent"),
        }
    }
}

/// Verifies the signatures of agent cards. `a2a-kit-auth` provides an implementation with trusted keys.
#[async_trait]
pub trait CardVerifier: fmt::Debug + Send + Sync + 'static {
    /// Verifies a card, given as the received bytes. Never fails: a card that cannot be verified is
    /// [`Unverifiable`](CardSignature::Unverifiable).
    async fn verify(&self, json: &[u8]) -> CardSignature;
}

/// Signs agent cards before they are published. `a2a-kit-auth` provides an implementation.
pub trait CardSigner: fmt::Debug + Send + Sync + 'static {
    /// Adds a signature to a final card.
    fn sign(&self, card: AgentCard) -> Result<AgentCard>;
}
