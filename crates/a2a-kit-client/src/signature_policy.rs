//! Verification of agent card signatures.

use std::sync::Arc;

use a2a_kit_operations::{CardSignature, CardVerifier};

use crate::{DiscoveryError, Document};

/// How a client verifies the signatures of agent cards (spec §8.4.3). `a2a-kit-auth` has a verifier
/// with a trust store.
///
/// If a signature is valid, the client uses the signed content and ignores the rest of the card.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum SignaturePolicy {
    /// Signatures are not verified.
    #[default]
    Off,
    /// Signatures are verified, and the result is only reported in [`Document::signature`].
    Report(Arc<dyn CardVerifier>),
    /// A signed card must have a valid signature; an unsigned card is accepted.
    ///
    /// An attacker who can modify a card in transit can also remove its signatures, so this detects
    /// mistakes, not attacks.
    WhenPresent(Arc<dyn CardVerifier>),
    /// A card must have a valid signature.
    Required(Arc<dyn CardVerifier>),
}

impl SignaturePolicy {
    /// Verifies a document and records the result, or rejects it as the policy requires.
    pub(crate) async fn apply(&self, document: Document) -> Result<Document, DiscoveryError> {
        let (Self::Report(verifier) | Self::WhenPresent(verifier) | Self::Required(verifier)) =
            self
        else {
            return Ok(document);
        };
        let signature = verifier.verify(&document.json).await;
        let is_accepted = match (self, &signature) {
            (Self::Off | Self::Report(_), _) | (_, CardSignature::Verified { .. }) => true,
            (Self::WhenPresent(_), CardSignature::Absent) => true,
            (Self::WhenPresent(_) | Self::Required(_), _) => false,
        };
        if is_accepted {
            document.with_signature(signature)
        } else {
            Err(DiscoveryError::Signature(signature))
        }
    }
}
