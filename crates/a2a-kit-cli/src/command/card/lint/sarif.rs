//! Reports in SARIF 2.1.0 (OASIS), as code scanning services read them.

use std::path::Path;

use a2a_kit_lint::{Finding, Rule, Severity, rules};
use serde_json::{Value, json};

/// The log of one run.
pub(super) fn log(reference: &str, findings: &[Finding]) -> Value {
    let ids: Vec<&str> = rules().map(|rule| rule.id).collect();
    let uri = artifact_uri(reference);
    let results: Vec<_> = findings.iter().map(|finding| result(finding, &ids, &uri)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "a2a card lint",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules().map(descriptor).collect::<Vec<_>>(),
            }},
            "results": results,
            "columnKind": "unicodeCodePoints",
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.what},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

fn result(finding: &Finding, ids: &[&str], uri: &str) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri}});
    if let (Some(line), Some(column)) = (finding.line, finding.column) {
        physical["region"] = json!({"startLine": line, "startColumn": column});
    }
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": ids.iter().position(|id| *id == finding.rule.id),
        "level": level(finding.severity),
        "message": {"text": format!("{}. Fix: {}", finding.message, finding.fix)},
        "locations": [{
            "physicalLocation": physical,
            "logicalLocations": [{"fullyQualifiedName": finding.pointer, "kind": "member"}],
        }],
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// The URI of the card; relative for a relative path, so that services find the file.
fn artifact_uri(reference: &str) -> String {
    if reference.contains("://") || !Path::new(reference).is_file() {
        return reference.to_owned();
    }
    let path = reference.strip_prefix("./").unwrap_or(reference).replace('\\', "/");
    path.replace('%', "%25").replace(' ', "%20")
}
