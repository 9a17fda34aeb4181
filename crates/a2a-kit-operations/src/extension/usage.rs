//! Usage of language models, in the metadata of tasks.

use a2a_core::{
    v1::AgentExtension,
    well_known::{Struct, Value},
};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Extension;

/// Declares that tasks report what their models used, to callers that activate it.
///
/// The report is a member of the metadata of the terminal status update, and hence of the task,
/// under [`URI`](Self::URI). The executor writes it: it knows the numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageExtension;

/// What the models of a task used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UsageReport {
    /// The tokens read, those from a cache included.
    pub input_tokens: u64,
    /// Of these, read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Of these, written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The tokens written, reasoning included.
    pub output_tokens: u64,
    /// Of these, reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// The calls of models that were completed.
    pub model_calls: u64,
    /// The calls of tools that returned.
    pub tool_calls: u64,
    /// Whether more was used than is reported: a call was cut or canceled, or its provider reported
    /// nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

impl UsageExtension {
    /// The URI of the extension, and the metadata key.
    pub const URI: &str = "urn:x-a2a:usage:1";

    /// Reads the report from the metadata of a task or a status update; `None` if it is missing or
    /// malformed.
    pub fn read(metadata: Option<&Struct>) -> Option<UsageReport> {
        let report = serde_json::to_value(metadata?.get(Self::URI)?).ok()?;
        serde_json::from_value(report).ok()
    }

    /// Writes the report into the metadata of a status update.
    pub fn write(metadata: &mut Option<Struct>, report: &UsageReport) {
        if let Ok(report) = serde_json::to_value(report) {
            metadata.get_or_insert_default().insert(Self::URI, Value::from(report));
        }
    }
}

#[async_trait]
impl Extension for UsageExtension {
    fn declaration(&self) -> AgentExtension {
        AgentExtension::new(Self::URI, "Reports the tokens that a task used")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_is_read_as_written_and_leaves_out_what_is_unknown() {
        let report = UsageReport {
            input_tokens: 12,
            cached_input_tokens: Some(8),
            output_tokens: 3,
            model_calls: 1,
            ..UsageReport::default()
        };
        let mut metadata = None;
        UsageExtension::write(&mut metadata, &report);
        let json = serde_json::to_string(&metadata).unwrap();
        let expected = r#"{"urn:x-a2a:usage:1":{"cachedInputTokens":8,"inputTokens":12,"modelCalls":1,"outputTokens":3,"toolCalls":0}}"#;
        assert_eq!(json, expected);
        assert_eq!(UsageExtension::read(metadata.as_ref()), Some(report));
        assert_eq!(UsageExtension::read(None), None);
    }
}
