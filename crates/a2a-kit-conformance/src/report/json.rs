//! The report as JSON.

use serde_json::{Value, json};

use super::model::{CheckResult, Report};
use crate::outcome::Outcome;

impl Report {
    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        write(self)
    }
}

fn write(report: &Report) -> Value {
    let texts = report.prompts.texts();
    let prompts: serde_json::Map<_, _> =
        texts.filter_map(|(behavior, text)| Some((behavior.to_owned(), text?.into()))).collect();
    json!({
        "tool": { "name": "a2a conformance", "version": env!("CARGO_PKG_VERSION") },
        "target": report.target,
        "agent": report.agent,
        "level": report.level,
        "conformant": report.is_conformant(),
        "verdict": report.verdict(),
        "prompts": prompts,
        "durationMs": u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
        "summary": report.summary(),
        "unreachable": report.unreachable,
        "unusedKnown": report.unused_known,
        "results": report.results.iter().map(result).collect::<Vec<_>>(),
    })
}

fn result(result: &CheckResult) -> Value {
    let mut value = json!({
        "id": result.id,
        "level": result.level,
        "section": result.section,
        "title": result.title,
        "result": result.outcome.name(),
    });
    if let Some((name, url)) = &result.interface {
        value["interface"] = json!({ "name": name, "url": url });
    }
    if let Some(reason) = result.outcome.reason() {
        value["reason"] = json!(reason);
    }
    if let Outcome::Fail(findings) = &result.outcome {
        value["findings"] = json!(findings);
    }
    value
}
