//! The report of `a2a conformance`.

use std::collections::BTreeSet;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Report {
    unreachable: Vec<String>,
    results: Vec<Check>,
}

#[derive(Debug, Deserialize)]
struct Check {
    id: String,
    result: String,
}

/// The requirements with a failed check. Every interface must have been checked.
pub(super) fn failed(text: &str) -> Result<BTreeSet<String>, String> {
    let report: Report = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let Some(reason) = report.unreachable.first() {
        return Err(format!("an interface is unreachable: {reason}"));
    }
    let failed = report.results.into_iter().filter(|check| check.result == "fail");
    Ok(failed.map(|check| check.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_requirements_are_read_once() {
        let report = r#"{"unreachable": [], "results": [
            {"id": "R-052", "result": "fail"}, {"id": "R-052", "result": "fail"},
            {"id": "R-053", "result": "pass"}, {"id": "R-054", "result": "not_measured"}
        ]}"#;
        assert_eq!(failed(report).unwrap(), BTreeSet::from(["R-052".to_owned()]));
        assert!(failed(r#"{"unreachable": ["GRPC 1.0"], "results": []}"#).is_err());
    }
}
