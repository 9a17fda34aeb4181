//! Parsing of received cards.

use serde_json::{Map, Value};

use crate::unique_names::object;

/// The document is not an agent card, or can't be signed.
#[derive(thiserror::Error)]
#[error("not a valid agent card: {0}")]
pub struct NotACard(#[from] pub(super) serde_json::Error);

a2a_core::debug_as_chain!(NotACard);

/// Parses an object without duplicate names.
pub(super) fn read(json: &[u8]) -> Result<Map<String, Value>, NotACard> {
    Ok(object(json)?)
}
