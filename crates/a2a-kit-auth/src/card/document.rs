//! Parsing of received cards.

use std::fmt;

use a2a_core::ParseError;
use serde_json::{Map, Value};

use crate::unique_names::object;

/// Parses an object without duplicate names.
pub(super) fn read(json: &[u8]) -> Result<Map<String, Value>, ParseError> {
    object(json).map_err(not_a_card)
}

/// The error for a document that is not an agent card, or can't be signed.
pub(super) fn not_a_card(reason: impl fmt::Display) -> ParseError {
    ParseError::new(format!("not a valid agent card: {reason}"))
}
