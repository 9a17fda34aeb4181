//! The report as SARIF 2.1.0.

use serde_json::{Value, json};

use super::model::{CheckResult, Report};
use crate::{level::Level, outcome::Outcome};

impl Report {
    /// The report as SARIF 2.1.0: a result for each violation.
    pub fn to_sarif(&self) -> Value {
        write(self)
    }
}

fn write(report: &Report) -> Value {
    let mut rules: Vec<Value> = Vec::new();
    let mut results = Vec::new();
    for result in report.failures() {
        if !rules.iter().any(|rule| rule["id"] == result.id) {
            rules.push(json!({
                "id": result.id,
                "shortDescription": { "text": result.title },
                "help": { "text": format!("A2A specification, section {}", result.section) },
                "defaultConfiguration": { "level": level(result) },
            }));
        }
        let Outcome::Fail(findings) = &result.outcome else { continue };
        for finding in findings {
            let uri = result.interface.as_ref().map_or(&report.target, |(_, url)| url);
            let mut one = json!({
                "ruleId": result.id,
                "level": level(result),
                "message": { "text": format!("{}: {}", result.place(), finding.message) },
                "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri } } }],
            });
            if let Some(exchange) = &finding.exchange {
                one["properties"] =
                    json!({ "request": exchange.request, "response": exchange.response });
            }
            results.push(one);
        }
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "a2a conformance",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    })
}

fn level(result: &CheckResult) -> &'static str {
    match result.level {
        Level::Must => "error",
        Level::Should => "warning",
        Level::May => "note",
    }
}
