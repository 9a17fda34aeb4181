//! The ids of checks are those of the requirements of this project.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use a2a_kit_conformance::Conformance;
use a2a_kit_lint::Severity;

#[test]
fn every_check_names_a_requirement() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/development/requirements.md");
    let requirements = std::fs::read_to_string(path).unwrap();
    let checks = Conformance::builder().with_level(Severity::Info).checks();
    assert!(checks.len() > 100, "{}", checks.len());
    for rule in checks.iter().map(|check| check.rule) {
        let row = format!("| {} |", rule.id);
        assert!(requirements.contains(&row), "{} is no requirement", rule.id);
        assert!(!rule.title.ends_with('.'), "{}: {}", rule.id, rule.title);
    }
}
