//! Errors with plain members, as revisions before 1.0 have them.

use a2a_core::Error;
use serde_json::{Map, Value, json};

/// The members that describe an error: the metadata of its `ErrorInfo`, and the members of the
/// request that broke rules.
pub(crate) fn members(error: &Error) -> Map<String, Value> {
    let mut members = Map::new();
    for (key, text) in error.metadata() {
        let value = match key.as_str() {
            "supportedVersions" => text.split(',').map(str::trim).collect(),
            _ => Value::from(text.as_str()),
        };
        members.insert(key.clone(), value);
    }
    if !error.violations().is_empty() {
        let errors = error.violations().iter();
        let errors =
            errors.map(|broken| json!({"field": broken.field, "message": broken.description}));
        members.insert("errors".into(), errors.collect());
    }
    members
}

/// The `data` of an error of JSON-RPC: [`members`] and the reason.
pub(crate) fn data(error: &Error) -> Value {
    let mut members = members(error);
    members.insert("reason".into(), error.kind().codes().reason.into());
    Value::Object(members)
}
