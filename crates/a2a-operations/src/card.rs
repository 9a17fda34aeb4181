//! Who vouches for an agent card.

use std::fmt;

use a2a_core::{AgentCard, Result};
use async_trait::async_trait;
use bytes::Bytes;

/// What is known of who signed an agent card (spec §8.4.3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CardSignature {
    /// A key that is trusted has signed it.
    Verified {
        /// The id of the key.
        key_id: String,
        /// What of the card is signed, as JSON: this is to be read in place of what was received,
        /// which may have members beside that anybody could have put there.
        covered: Bytes,
    },
    /// It is signed, and none of its signatures could be verified.
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

/// Checks the signatures of agent cards. `a2a-auth` has the one with a store of trusted keys.
#[async_trait]
pub trait CardVerifier: fmt::Debug + Send + Sync + 'static {
    /// Checks a card, given as the bytes that were received. It does not fail: what can't be
    /// checked is [`Unverifiable`](CardSignature::Unverifiable).
    async fn verify(&self, json: &[u8]) -> CardSignature;
}

/// Signs agent cards before they are shown. `a2a-auth` has the one with a key.
pub trait CardSigner: fmt::Debug + Send + Sync + 'static {
    /// Adds a signature to a card that will not be changed any more.
    fn sign(&self, card: AgentCard) -> Result<AgentCard>;
}
