//! Typed error details, in the JSON form of `google.protobuf.Any`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A typed detail of an error (`google.rpc`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "@type")]
#[non_exhaustive]
pub enum Detail {
    /// `google.rpc.ErrorInfo`: the reason, to match on.
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo {
        /// The error name in upper snake case, without "Error".
        #[serde(default)]
        reason: String,
        /// The domain of the reason; [`ERROR_DOMAIN`](crate::ERROR_DOMAIN) for the protocol.
        #[serde(default)]
        domain: String,
        /// Properties of this occurrence; keys are camelCase.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String>,
    },
    /// `google.rpc.BadRequest`: the invalid members of the request.
    #[serde(rename = "type.googleapis.com/google.rpc.BadRequest")]
    BadRequest {
        /// One entry per violation.
        #[serde(default, rename = "fieldViolations")]
        field_violations: Vec<Violation>,
    },
    /// A detail of another type. Never sent.
    #[serde(other)]
    Other,
}

/// A rule violation in a request, as in `google.rpc.BadRequest`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// JSON path of the member, for example `message.parts[1].url`.
    #[serde(default)]
    pub field: String,
    /// What is invalid, and what is expected.
    #[serde(default)]
    pub description: String,
}

impl Violation {
    /// Creates a violation of the member at `field`.
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self { field: field.into(), description: description.into() }
    }
}

impl Detail {
    /// Reads details from an array, an object or anything else that a peer sends. Untyped values
    /// are ignored.
    pub fn read_all(value: serde_json::Value) -> Vec<Self> {
        let items = match value {
            serde_json::Value::Array(items) => items,
            object @ serde_json::Value::Object(_) => vec![object],
            _ => return Vec::new(),
        };
        items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn typed_details_are_read_from_any_value() {
        let info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org", "metadata": {"taskId": "t"}});
        let typed = Detail::read_all(info.clone());
        assert_eq!(typed.len(), 1);
        assert_eq!(serde_json::to_value(&typed[0]).unwrap(), info);
        let mixed = json!([info, "text", {"no": "type"}, {"@type": "x/y", "a": 1}]);
        assert_eq!(Detail::read_all(mixed), [typed[0].clone(), Detail::Other]);
        for empty in [json!(null), json!("text"), json!(3)] {
            assert_eq!(Detail::read_all(empty), []);
        }
    }
}
