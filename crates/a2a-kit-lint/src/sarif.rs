//! Reports in SARIF 2.1.0 (OASIS), as code scanning services read them.

use serde_json::{Value, json};

use crate::{CheckResult, Finding, Rule, Severity};

/// Writes a log of one run: a result for each finding.
///
/// `tool` is the command, `target` the URI of what was checked.
pub fn sarif(tool: &str, target: &str, results: &[CheckResult]) -> Value {
    let mut rules: Vec<&Rule> = Vec::new();
    let mut found = Vec::new();
    for result in results {
        let known = rules.iter().position(|rule| rule.id == result.rule.id);
        let index = known.unwrap_or_else(|| {
            rules.push(result.rule);
            rules.len() - 1
        });
        let findings = result.findings().iter();
        found.extend(findings.map(|finding| entry(finding, index, result, target)));
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": tool,
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_iter().map(descriptor).collect::<Vec<_>>(),
            } },
            "results": found,
            "columnKind": "unicodeCodePoints",
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    let help = match rule.help {
        "" => format!("A2A specification, section {}", rule.section),
        help => help.to_owned(),
    };
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "help": { "text": help },
        "defaultConfiguration": { "level": level(rule.severity) },
    })
}

fn entry(finding: &Finding, index: usize, result: &CheckResult, target: &str) -> Value {
    let uri = result.url.as_deref().unwrap_or(target);
    let mut text = match &result.url {
        Some(_) => format!("{}: {}", result.place, finding.message),
        None => finding.message.clone(),
    };
    if !finding.fix.is_empty() {
        text.push_str(&format!(". Fix: {}", finding.fix));
    }
    let mut location = json!({ "physicalLocation": { "artifactLocation": { "uri": uri } } });
    if let (Some(line), Some(column)) = (finding.line, finding.column) {
        location["physicalLocation"]["region"] =
            json!({ "startLine": line, "startColumn": column });
    }
    if let Some(pointer) = &finding.pointer {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": pointer, "kind": "member" }]);
    }
    let mut entry = json!({
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [location],
    });
    if let Some(exchange) = &finding.exchange {
        entry["properties"] = json!(exchange);
    }
    entry
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}
