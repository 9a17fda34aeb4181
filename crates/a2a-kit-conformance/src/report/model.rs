//! A report.

use std::time::Duration;

use a2a_kit_client::Transport;
use serde_json::Value;

use crate::{
    check::{Check, Judge},
    evidence::Evidence,
    interfaces::version_name,
    level::Level,
    outcome::Outcome,
    prompts::Prompts,
};

/// The report of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The reference of the card.
    pub target: String,
    /// The name of the agent.
    pub agent: String,
    /// The lowest level of requirements that was checked.
    pub level: Level,
    /// The results, in the order of the checks.
    pub results: Vec<CheckResult>,
    /// Interfaces that can't be called at all, and why.
    pub unreachable: Vec<String>,
    /// What was sent to make the agent behave in a certain way.
    pub prompts: Prompts,
    /// Entries of the list of known results that nothing was found for.
    pub unused_known: Vec<String>,
    /// How long the run took.
    pub duration: Duration,
}

/// The result of a check.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckResult {
    /// The id of the requirement.
    pub id: &'static str,
    /// The level of the requirement.
    pub level: Level,
    /// The section of the specification.
    pub section: &'static str,
    /// The requirement in one sentence.
    pub title: &'static str,
    /// The interface: binding and revision, and its URL; `None` for the card and for all
    /// interfaces together.
    pub interface: Option<(String, String)>,
    /// The outcome.
    pub outcome: Outcome,
}

/// A check, without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckInfo {
    /// The id of the requirement.
    pub id: &'static str,
    /// The level of the requirement.
    pub level: Level,
    /// The section of the specification.
    pub section: &'static str,
    /// The requirement in one sentence.
    pub title: &'static str,
    /// What it applies to: `card`, or bindings and revisions.
    pub scope: String,
}

/// How many results have each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Requirements that hold.
    pub pass: usize,
    /// Requirements that are violated.
    pub fail: usize,
    /// Requirements that do not apply to the agent.
    pub skip: usize,
    /// Requirements that could not be tried.
    pub not_measured: usize,
    /// Requirements that are known not to hold or not to be measured.
    pub known: usize,
}

impl Report {
    pub(crate) fn new(target: &str, card: &Value, level: Level) -> Self {
        Self {
            target: target.to_owned(),
            agent: card.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            level,
            results: Vec::new(),
            unreachable: Vec::new(),
            prompts: Prompts::default(),
            unused_known: Vec::new(),
            duration: Duration::ZERO,
        }
    }

    /// The results of violated requirements.
    pub fn failures(&self) -> impl Iterator<Item = &CheckResult> {
        self.results.iter().filter(|result| matches!(result.outcome, Outcome::Fail(_)))
    }

    /// Returns whether the agent conforms, as far as it was measured.
    pub fn is_conformant(&self) -> bool {
        self.failures().next().is_none() && self.unreachable.is_empty()
    }

    /// The verdict in words: whether the agent conforms, and whether all of it was measured.
    pub fn verdict(&self) -> &'static str {
        match (self.is_conformant(), self.summary().not_measured) {
            (false, _) => "not conformant",
            (true, 0) => "conformant",
            (true, _) => "conformant as far as measured",
        }
    }

    /// How many results have each outcome.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for result in &self.results {
            *match result.outcome {
                Outcome::Pass => &mut summary.pass,
                Outcome::Fail(_) => &mut summary.fail,
                Outcome::Skip(_) => &mut summary.skip,
                Outcome::NotMeasured(_) => &mut summary.not_measured,
                Outcome::Known(_) => &mut summary.known,
            } += 1;
        }
        summary
    }
}

impl CheckResult {
    pub(crate) fn new(check: &Check, evidence: Option<&Evidence>, outcome: Outcome) -> Self {
        let interface = evidence.map(|evidence| {
            let name = format!("{} {}", evidence.binding, version_name(evidence.version));
            (name, evidence.url.clone())
        });
        Self {
            id: check.id,
            level: check.level,
            section: check.section,
            title: check.title,
            interface,
            outcome,
        }
    }

    /// The interface, or what else was judged.
    pub fn place(&self) -> &str {
        self.interface.as_ref().map_or("agent", |(name, _)| name)
    }
}

impl From<&Check> for CheckInfo {
    fn from(check: &Check) -> Self {
        let scope = match check.judge {
            Judge::Card(_) => "card".to_owned(),
            Judge::Together(_) => "all bindings, 1.0".to_owned(),
            Judge::Interface(_) => {
                let bindings: Vec<_> = check.bindings.iter().map(|one| one.as_str()).collect();
                let bindings = match bindings.len() == Transport::ALL.len() {
                    true => "all bindings".to_owned(),
                    false => bindings.join(" and "),
                };
                let versions: Vec<_> =
                    check.versions.iter().map(|one| version_name(*one)).collect();
                format!("{bindings}, {}", versions.join(" "))
            }
        };
        Self { id: check.id, level: check.level, section: check.section, title: check.title, scope }
    }
}
