//! The typed detail objects of an error, in the JSON form of `google.protobuf.Any`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Violation;

/// One typed detail of an error (`google.rpc`), as it stands in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "@type")]
#[non_exhaustive]
pub enum Detail {
    /// `google.rpc.ErrorInfo`: the reason, to branch on.
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo {
        /// The name of the error in upper snake case, without the word "Error".
        #[serde(default)]
        reason: String,
        /// Who defines the reason; [`ERROR_DOMAIN`](super::ERROR_DOMAIN) for the protocol.
        #[serde(default)]
        domain: String,
        /// Facts about this occurrence; keys are camelCase.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String>,
    },
    /// `google.rpc.BadRequest`: the members of the request that break rules.
    #[serde(rename = "type.googleapis.com/google.rpc.BadRequest")]
    BadRequest {
        /// One entry a broken rule.
        #[serde(default, rename = "fieldViolations")]
        field_violations: Vec<Violation>,
    },
    /// A detail of a type this crate does not read. Never sent.
    #[serde(other)]
    Other,
}

impl Detail {
    /// Reads the details out of whatever a peer put there: an array, one object, or neither.
    /// What is not a typed object is passed over.
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
    fn details_of_any_shape_are_read_as_far_as_they_are_typed() {
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
