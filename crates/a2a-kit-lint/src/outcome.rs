//! Results of rules.

use serde::Serialize;

use crate::{Finding, Rule};

/// The result of a rule at one place.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckResult {
    /// The rule.
    pub rule: &'static Rule,
    /// What was judged: `card`, `agent`, or the name of an interface.
    pub place: String,
    /// The URL of the interface.
    pub url: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
}

impl CheckResult {
    /// Creates the result of a rule for `place`.
    pub fn new(rule: &'static Rule, place: impl Into<String>, outcome: Outcome) -> Self {
        Self { rule, place: place.into(), url: None, outcome }
    }

    /// Sets the URL of the interface.
    #[must_use]
    pub fn with_url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// The findings; none unless the rule is broken.
    pub fn findings(&self) -> &[Finding] {
        match &self.outcome {
            Outcome::Fail(findings) => findings,
            _ => &[],
        }
    }
}

/// The outcome of a rule at one place.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The rule was checked, and holds.
    Pass,
    /// The rule is broken.
    Fail(Vec<Finding>),
    /// The rule does not apply, and why.
    Skip(String),
    /// The rule could not be checked, and why.
    NotMeasured(String),
    /// The rule is broken or could not be checked, which is known and accepted, and why.
    Known(String),
}

impl Outcome {
    /// The name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "fail",
            Self::Skip(_) => "skip",
            Self::NotMeasured(_) => "not_measured",
            Self::Known(_) => "known",
        }
    }

    /// Why there is no result.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Skip(reason) | Self::NotMeasured(reason) | Self::Known(reason) => Some(reason),
            Self::Pass | Self::Fail(_) => None,
        }
    }
}

/// How many results have each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Rules that hold.
    pub pass: usize,
    /// Rules that are broken.
    pub fail: usize,
    /// Rules that do not apply.
    pub skip: usize,
    /// Rules that could not be checked.
    pub not_measured: usize,
    /// Rules that are known not to hold or not to be checked.
    pub known: usize,
}

impl Summary {
    /// Counts results.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a CheckResult>) -> Self {
        let mut summary = Self::default();
        for result in results {
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
