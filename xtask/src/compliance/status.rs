//! The status of each requirement, and the counts per tier.

use std::{collections::BTreeSet, fmt};

use super::{
    error_code::ERROR_CODES,
    evidence::Evidence,
    requirement::{REQUIREMENTS, Requirement, Tier},
    run::{Outcome, Run},
};

/// The six defaults of `DEFAULT_001`.
pub(super) const DEFAULTS: [&str; 6] = [
    "transport_order",
    "wait",
    "text_output",
    "concise_output",
    "highest_version",
    "tls_verification",
];

/// The status of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    /// Every test passed, with each agent.
    Pass,
    /// Some tests passed.
    Partial,
    /// No test passed.
    Fail,
    /// No test ran.
    NotMeasured,
}

impl Status {
    pub(super) const ALL: [Self; 4] = [Self::Pass, Self::Partial, Self::Fail, Self::NotMeasured];

    pub(super) fn is_pass(self) -> bool {
        self == Self::Pass
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Partial => "partial",
            Self::Fail => "fail",
            Self::NotMeasured => "not_measured",
        })
    }
}

/// A requirement with its status and evidence.
#[derive(Debug)]
pub(super) struct Assessed {
    pub(super) row: &'static Requirement,
    pub(super) status: Status,
    /// Why it is not a pass.
    pub(super) note: Option<String>,
    pub(super) tests: BTreeSet<String>,
    pub(super) agents: BTreeSet<String>,
    pub(super) bindings: BTreeSet<String>,
}

/// All requirements, and what is wrong with tests and evidence.
#[derive(Debug)]
pub(super) struct Assessment<'a> {
    pub(super) requirements: Vec<Assessed>,
    pub(super) mistakes: Vec<String>,
    pub(super) evidence: &'a Evidence,
}

impl<'a> Assessment<'a> {
    pub(super) fn of(runs: &[Run], evidence: &'a Evidence) -> Self {
        let requirements: Vec<_> =
            REQUIREMENTS.iter().map(|row| assess(row, runs, evidence)).collect();
        let mut mistakes = Vec::new();
        let tests: BTreeSet<_> = runs.iter().flat_map(|run| run.tests.keys()).collect();
        for test in &tests {
            if !REQUIREMENTS.iter().any(|row| row.has(test)) {
                mistakes.push(format!("{test}: its name begins with no known id"));
            }
        }
        for requirement in requirements.iter().filter(|one| one.tests.is_empty()) {
            mistakes.push(format!("{} has no test", requirement.row.id));
        }
        for test in evidence.tests.keys().filter(|test| !tests.contains(test)) {
            mistakes.push(format!("evidence of an unknown test: {test:?}"));
        }
        mistakes.extend(wrong_codes(evidence));
        Self { requirements, mistakes, evidence }
    }

    /// How many requirements of a tier have a status.
    pub(super) fn count(&self, tier: Tier, status: Status) -> usize {
        let of_tier = self.requirements.iter().filter(|one| one.row.tier == tier);
        of_tier.filter(|one| one.status == status).count()
    }

    /// The passes per tier, in one line.
    pub(super) fn summary(&self) -> String {
        let of_tier = |tier: Tier| {
            let total = REQUIREMENTS.iter().filter(|row| row.tier == tier).count();
            format!("tier {tier}: {}/{total}", self.count(tier, Status::Pass))
        };
        Tier::ALL.map(of_tier).join(", ")
    }

    /// Returns whether every requirement passed, and nothing is wrong with the tests.
    pub(super) fn is_complete(&self) -> bool {
        self.mistakes.is_empty() && self.requirements.iter().all(|one| one.status.is_pass())
    }
}

/// Codes that the specification does not have, that have another exit status there, or that no test
/// produced.
fn wrong_codes(evidence: &Evidence) -> Vec<String> {
    let mut wrong = Vec::new();
    for ((code, exit), tests) in &evidence.codes {
        match ERROR_CODES.iter().find(|(known, _)| known == code) {
            Some((_, expected)) if expected == exit => {}
            Some((_, expected)) => wrong.push(format!(
                "{code} has exit status {exit} instead of {expected}, in {}",
                joined(tests)
            )),
            None => wrong.push(format!("unknown error code {code}, in {}", joined(tests))),
        }
    }
    for (code, exit) in ERROR_CODES {
        if !evidence.codes.contains_key(&(code.to_owned(), exit)) {
            wrong.push(format!("no test produced {code}"));
        }
    }
    wrong
}

fn assess(row: &'static Requirement, runs: &[Run], evidence: &Evidence) -> Assessed {
    let (mut passed, mut notes) = (0, Vec::new());
    let mut tests = BTreeSet::new();
    for run in runs {
        for (test, outcome) in run.tests.iter().filter(|(test, _)| row.has(test)) {
            tests.insert(test.clone());
            match outcome {
                Outcome::Passed => passed += 1,
                Outcome::Failed => notes.push(format!("{test} failed with {}", run.agent)),
                Outcome::Ignored => notes.push(format!("{test} did not run with {}", run.agent)),
            }
        }
    }
    if row.id == "DEFAULT_001" {
        let missing = DEFAULTS.iter().filter(|name| !is_observed(evidence, name));
        notes.extend(missing.map(|name| format!("{name} was not observed and overridden")));
    }
    let status = match (passed, notes.is_empty()) {
        _ if tests.is_empty() => Status::NotMeasured,
        (0, _) => Status::Fail,
        (_, true) => Status::Pass,
        (_, false) => Status::Partial,
    };
    if tests.is_empty() {
        notes.push("no test ran".to_owned());
    }
    let reached = || tests.iter().filter_map(|test| evidence.tests.get(test));
    let agents = reached().flat_map(|reach| reach.agents.clone()).collect();
    let bindings = reached().flat_map(|reach| reach.bindings.clone()).collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Assessed { row, status, note, tests, agents, bindings }
}

/// Returns whether a default was observed without a flag, and overridden.
pub(super) fn is_observed(evidence: &Evidence, default: &str) -> bool {
    let observed = evidence.defaults.get(default);
    observed.is_some_and(|one| !one.shipped.is_empty() && !one.overridden.is_empty())
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf};

    use serde_json::json;

    use super::*;

    fn run(agent: &str, tests: &[(&str, Outcome)]) -> Run {
        let tests: BTreeMap<_, _> =
            tests.iter().map(|(test, outcome)| ((*test).to_owned(), *outcome)).collect();
        Run { agent: agent.to_owned(), tests, evidence: PathBuf::new() }
    }

    /// A test for each requirement.
    fn complete() -> Run {
        let tests = REQUIREMENTS
            .iter()
            .map(|row| (format!("{}_works", row.id.to_ascii_lowercase()), Outcome::Passed));
        Run { agent: "ours".to_owned(), tests: tests.collect(), evidence: PathBuf::new() }
    }

    fn lines() -> Vec<serde_json::Value> {
        let test = "default_001_works";
        let codes =
            ERROR_CODES.map(|(code, exit)| json!({"test": test, "code": code, "exit": exit}));
        let defaults = DEFAULTS.map(
            |name| json!({"test": test, "default": name, "shipped": "x", "overridden": "--x"}),
        );
        codes.into_iter().chain(defaults).collect()
    }

    #[test]
    fn each_requirement_with_passed_tests_counts() {
        let evidence = Evidence::of(&lines());
        let runs = [complete()];
        let assessment = Assessment::of(&runs, &evidence);
        assert_eq!(assessment.summary(), "tier 1: 39/39, tier 2: 15/15, tier 3: 12/12");
        assert!(assessment.is_complete(), "{assessment:?}");
    }

    #[test]
    fn failed_ignored_and_missing_tests_are_no_passes() {
        let evidence = Evidence::of(&lines());
        let mut ours = complete();
        ours.tests.insert("send_001_works".to_owned(), Outcome::Failed);
        ours.tests.insert("send_002_also".to_owned(), Outcome::Failed);
        ours.tests.insert("tx_004_works".to_owned(), Outcome::Ignored);
        ours.tests.remove("tx_005_works");
        let foreign = run("other", &[("send_003_works", Outcome::Failed)]);
        let runs = [ours, foreign];
        let assessment = Assessment::of(&runs, &evidence);
        assert_eq!(assessment.summary(), "tier 1: 36/39, tier 2: 14/15, tier 3: 11/12");
        for (id, status) in [
            ("SEND_001", Status::Fail),
            ("SEND_002", Status::Partial),
            ("SEND_003", Status::Partial),
            ("TX_004", Status::Fail),
            ("TX_005", Status::NotMeasured),
        ] {
            let one = assessment.requirements.iter().find(|one| one.row.id == id).unwrap();
            assert_eq!(one.status, status, "{id}");
            assert!(one.note.is_some(), "{id}");
        }
        assert_eq!(assessment.mistakes, ["TX_005 has no test"]);
        assert!(!assessment.is_complete());
    }

    #[test]
    fn tests_without_a_known_id_and_wrong_codes_are_mistakes() {
        let mut lines = lines();
        lines.retain(|line| line["code"] != "A2ACLI_ERR_TIMEOUT");
        lines.push(json!({"test": "send_001_works", "code": "A2ACLI_ERR_USAGE", "exit": 1}));
        lines.push(json!({"test": "send_001_works", "code": "A2ACLI_ERR_NEW", "exit": 1}));
        lines.push(json!({"test": "main", "agent": "a2a serve", "exit": 0}));
        let evidence = Evidence::of(&lines);
        let mut ours = complete();
        ours.tests.insert("send_999_works".to_owned(), Outcome::Passed);
        let runs = [ours];
        let assessment = Assessment::of(&runs, &evidence);
        assert_eq!(
            assessment.mistakes,
            [
                "send_999_works: its name begins with no known id",
                "evidence of an unknown test: \"main\"",
                "unknown error code A2ACLI_ERR_NEW, in send_001_works",
                "A2ACLI_ERR_USAGE has exit status 1 instead of 2, in send_001_works",
                "no test produced A2ACLI_ERR_TIMEOUT",
            ]
        );
        assert_eq!(assessment.summary(), "tier 1: 39/39, tier 2: 15/15, tier 3: 12/12");
        assert!(!assessment.is_complete());
    }

    #[test]
    fn default_that_was_not_overridden_is_no_pass() {
        let mut lines = lines();
        lines.retain(|line| line["default"] != "wait");
        lines.push(json!({"test": "default_001_works", "default": "wait", "shipped": "x"}));
        let evidence = Evidence::of(&lines);
        let runs = [complete()];
        let assessment = Assessment::of(&runs, &evidence);
        assert_eq!(assessment.count(Tier::One, Status::Partial), 1);
        assert!(assessment.summary().starts_with("tier 1: 38/39, "));
    }
}
