//! What was recorded of the agent card.

use a2a_core::Violation;
use serde_json::Value;

use crate::exchange::Exchange;

/// What was recorded of the agent card.
#[derive(Clone, Debug)]
pub(crate) struct CardEvidence {
    /// The fetch; of a file, the document alone.
    pub(crate) fetch: Exchange,
    /// Whether the card was read from a file.
    pub(crate) is_file: bool,
    /// Whether the card is at the path of revisions before 0.3 only.
    pub(crate) is_at_legacy_path: bool,
    /// A second fetch with `If-None-Match`, if the first had an `ETag`.
    pub(crate) conditional: Option<Exchange>,
    /// The document; null if it is no JSON.
    pub(crate) document: Value,
    /// Violations of the schema.
    pub(crate) violations: Vec<Violation>,
    /// A request of 1.0 to the URL of a card without an interface of 1.0.
    pub(crate) probe: Option<Exchange>,
}

impl CardEvidence {
    /// Returns whether the card has the members of 1.0.
    pub(crate) fn is_current(&self) -> bool {
        self.document.get("supportedInterfaces").is_some()
    }

    /// The entries of `supportedInterfaces`.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = &Value> {
        self.document.get("supportedInterfaces").and_then(Value::as_array).into_iter().flatten()
    }
}
