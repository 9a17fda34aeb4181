//! Sends that can be repeated.

use a2a_core::{AgentCard, v1::AgentExtension};

/// The URI of the extension by which a card says that sends under the same `Idempotency-Key` are
/// one: our clients then repeat those that may not have arrived. An engine declares it unless
/// [told otherwise](crate::engine::EngineBuilder::without_idempotency_key).
pub const IDEMPOTENCY_KEY: &str = "urn:x-a2a:idempotency-key:1";

/// Declares the extension in a card that does not do so itself. A card that is signed is served as
/// it was signed.
pub(crate) fn declare(card: AgentCard) -> AgentCard {
    let is_declared = card.extensions().iter().any(|extension| extension.uri == IDEMPOTENCY_KEY);
    if is_declared || !card.signatures.is_empty() {
        return card;
    }
    card.with_extension(AgentExtension::new(
        IDEMPOTENCY_KEY,
        "A send that is repeated with the same Idempotency-Key joins the first one",
    ))
}
