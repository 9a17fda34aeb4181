//! The idempotency extension.

use a2a_core::{AgentCard, v1::AgentExtension};

/// The URI by which a card declares that sends with the same `Idempotency-Key` are executed once,
/// so that clients may retry them. An engine declares it [by
/// default](crate::EngineBuilder::without_idempotency_key).
pub const IDEMPOTENCY_KEY: &str = "urn:x-a2a:idempotency-key:1";

/// Declares the extension in a card that does not declare it itself. A signed card is not modified.
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
