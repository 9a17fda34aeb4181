//! Formats of the reports of `a2a card lint` and `a2a conformance`.

use clap::ValueEnum;
use serde_json::Value;

use crate::{
    failure::Failure,
    output::{Output, escaped_json},
};

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    Text,
    Json,
    Junit,
    Sarif,
    Markdown,
    Yaml,
}

impl ReportFormat {
    /// The format that a flag names, else that of `--output`.
    pub(super) fn or_of(flag: Option<Self>, output: Output) -> Self {
        flag.unwrap_or(if output.is_json() { Self::Json } else { Self::Text })
    }
}

/// Writes JSON on several lines.
pub(super) fn pretty(value: &Value) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    let text =
        text.map_err(|error| Failure::internal(format!("failed to encode the report: {error}")))?;
    Ok(escaped_json(&text).into_owned() + "\n")
}

/// Writes JSON as YAML.
pub(super) fn yaml(value: &Value) -> String {
    // Its strings are those of JSON.
    escaped_json(&a2a_kit_lint::yaml(value)).into_owned()
}
