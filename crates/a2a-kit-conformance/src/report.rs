//! Reports of runs, and their formats.

mod text;

use std::time::Duration;

use a2a_kit_client::Transport;
use a2a_kit_lint::{CheckResult, Outcome, Rule, Severity, Summary, escape_markdown};
use serde_json::{Map, Value, json};

use crate::{
    check::{Check, Judge},
    evidence::Evidence,
    interfaces::version_name,
    prompts::Prompts,
};

/// The command that makes reports.
const TOOL: &str = "a2a conformance";

/// The report of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The reference of the card.
    pub target: String,
    /// The name of the agent.
    pub agent: String,
    /// The lowest level of requirements that was checked, as the severity of their violation.
    pub level: Severity,
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

/// A check, without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckInfo {
    /// The requirement.
    pub rule: &'static Rule,
    /// What it applies to: `card`, or bindings and revisions.
    pub scope: String,
}

impl Report {
    pub(crate) fn new(target: &str, card: &Value, level: Severity) -> Self {
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
        Summary::of(&self.results)
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let prompts: Map<_, _> = self
            .prompts
            .texts()
            .filter_map(|(behavior, text)| Some((behavior.to_owned(), text?.into())))
            .collect();
        json!({
            "tool": { "name": TOOL, "version": env!("CARGO_PKG_VERSION") },
            "target": self.target,
            "agent": self.agent,
            "level": self.level.keyword(),
            "conformant": self.is_conformant(),
            "verdict": self.verdict(),
            "prompts": prompts,
            "durationMs": u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            "summary": self.summary(),
            "unreachable": self.unreachable,
            "unusedKnown": self.unused_known,
            "results": self.results.iter().map(json_of).collect::<Vec<_>>(),
        })
    }

    /// The report as SARIF 2.1.0: a result for each violation.
    pub fn to_sarif(&self) -> Value {
        a2a_kit_lint::sarif(TOOL, &self.target, &self.results)
    }

    /// The report as JUnit XML: a suite for each interface.
    pub fn to_junit(&self) -> String {
        a2a_kit_lint::junit(TOOL, &self.results, Severity::Info, self.duration)
    }

    /// The report as Markdown.
    pub fn to_markdown(&self) -> String {
        let Summary { pass, fail, skip, not_measured, known, .. } = self.summary();
        let mut intro = format!(
            "# A2A conformance of {}\n\n`{}` is **{}** at level {}: {pass} passed, {fail} failed, \
             {skip} skipped, {not_measured} not measured, {known} known.\n",
            escape_markdown(&self.agent),
            self.target.replace('`', "'"),
            self.verdict(),
            self.level.keyword(),
        );
        for why in &self.unreachable {
            intro.push_str(&format!("\n**Unreachable**: {}\n", escape_markdown(why)));
        }
        a2a_kit_lint::markdown(&intro, &self.results)
    }
}

fn json_of(result: &CheckResult) -> Value {
    let mut value = json!({
        "id": result.rule.id,
        "level": result.rule.level(),
        "section": result.rule.section,
        "title": result.rule.title,
        "result": result.outcome.name(),
    });
    if let Some(url) = &result.url {
        value["interface"] = json!({ "name": result.place, "url": url });
    }
    if let Some(reason) = result.outcome.reason() {
        value["reason"] = json!(reason);
    }
    if let Outcome::Fail(findings) = &result.outcome {
        value["findings"] = json!(findings);
    }
    value
}

/// The result of a check of one interface.
pub(crate) fn result(
    check: &'static Check,
    evidence: &Evidence,
    secrets: &[String],
) -> CheckResult {
    let name = format!("{} {}", evidence.binding, version_name(evidence.version));
    CheckResult::new(&check.rule, name, check.outcome(evidence, secrets))
        .with_url(evidence.url.as_str())
}

impl From<&'static Check> for CheckInfo {
    fn from(check: &'static Check) -> Self {
        let scope = match check.judge {
            Judge::Card(_) => "card".to_owned(),
            Judge::Together(_) => "all bindings, 1.0".to_owned(),
            _ => {
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
        Self { rule: &check.rule, scope }
    }
}
