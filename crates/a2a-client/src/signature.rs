//! What is asked of the signatures of agent cards.

use std::sync::Arc;

use a2a_operations::{CardSignature, CardVerifier};

use crate::{DiscoveryError, Document};

/// What a client asks of the signatures of the cards that it reads (spec §8.4.3). A verifier with
/// a store of trusted keys is in `a2a-auth`.
///
/// Where a signature is good, the client goes by what it is over and by nothing else of the card.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum SignaturePolicy {
    /// Nobody looks at them.
    #[default]
    Off,
    /// They are checked, and what came of it is only told, in [`Document::signature`].
    Report(Arc<dyn CardVerifier>),
    /// A card that is signed has to have a good signature; one that is not is taken.
    ///
    /// Whoever can change a card on its way can also take its signatures away, so this finds
    /// mistakes and not attacks.
    WhenPresent(Arc<dyn CardVerifier>),
    /// A card has to have a good signature.
    Required(Arc<dyn CardVerifier>),
}

impl SignaturePolicy {
    /// Returns a document with what is known of its signatures, if the policy takes it.
    pub(crate) async fn apply(&self, document: Document) -> Result<Document, DiscoveryError> {
        let (Self::Report(verifier) | Self::WhenPresent(verifier) | Self::Required(verifier)) =
            self
        else {
            return Ok(document);
        };
        let signature = verifier.verify(&document.json).await;
        let is_taken = match (self, &signature) {
            (Self::Off | Self::Report(_), _) | (_, CardSignature::Verified { .. }) => true,
            (Self::WhenPresent(_), CardSignature::Absent) => true,
            (Self::WhenPresent(_) | Self::Required(_), _) => false,
        };
        if is_taken {
            document.with_signature(signature)
        } else {
            Err(DiscoveryError::Signature(signature))
        }
    }
}
