//! Rules and their severities.

use std::fmt;

use serde::Serialize;

/// A rule: advice on cards, or a requirement of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rule {
    /// The stable name: in kebab case, or the id of a requirement.
    pub id: &'static str,
    /// How serious a finding is.
    pub severity: Severity,
    /// What the rule reports, or the requirement in one sentence.
    #[serde(rename = "reports")]
    pub title: &'static str,
    /// How to fix what the rule reports; empty for a requirement.
    #[serde(rename = "fix")]
    pub help: &'static str,
    /// The section of the specification of a requirement; empty for other rules.
    #[serde(skip)]
    pub section: &'static str,
    /// Whether a finding may have an edit that fixes it.
    #[serde(rename = "fixable")]
    pub is_fixable: bool,
    /// Whether the rule is checked with a running agent only.
    #[serde(rename = "live")]
    pub is_live: bool,
}

impl Rule {
    /// Creates a rule for errors.
    pub const fn error(id: &'static str, title: &'static str, help: &'static str) -> Self {
        Self::new(id, Severity::Error, title, help)
    }

    /// Creates a rule for warnings.
    pub const fn warning(id: &'static str, title: &'static str, help: &'static str) -> Self {
        Self::new(id, Severity::Warning, title, help)
    }

    /// Creates a rule for advice.
    pub const fn info(id: &'static str, title: &'static str, help: &'static str) -> Self {
        Self::new(id, Severity::Info, title, help)
    }

    /// Creates a rule for a requirement of a section of the specification.
    pub const fn requirement(
        id: &'static str,
        severity: Severity,
        section: &'static str,
        title: &'static str,
    ) -> Self {
        Self { section, ..Self::new(id, severity, title, "") }
    }

    const fn new(
        id: &'static str,
        severity: Severity,
        title: &'static str,
        help: &'static str,
    ) -> Self {
        Self { id, severity, title, help, section: "", is_fixable: false, is_live: false }
    }

    /// Marks a rule whose findings can be fixed by an edit.
    #[must_use]
    pub const fn fixable(self) -> Self {
        Self { is_fixable: true, ..self }
    }

    /// Marks a rule that needs a running agent.
    #[must_use]
    pub const fn live(self) -> Self {
        Self { is_live: true, ..self }
    }

    /// The name of the severity in reports; of a requirement, its level: `must`, `should` or `may`.
    pub const fn level(&self) -> &'static str {
        if self.section.is_empty() { self.severity.as_str() } else { self.severity.keyword() }
    }

    /// The page of the guide with its anchor.
    pub const fn page(&self) -> &'static str {
        if self.section.is_empty() { "card-lint.md#rules" } else { "conformance.md#checks" }
    }
}

/// How serious a finding is, most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Clients reject the card, or can't use a part of it; a requirement with MUST is violated.
    Error,
    /// Some clients fail, or the agent or its callers are exposed; a requirement with SHOULD is
    /// violated.
    Warning,
    /// Advice, or what the specification leaves open (MAY).
    Info,
}

impl Severity {
    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }

    /// The keyword of RFC 2119 whose requirements have this severity, in lower case.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Error => "must",
            Self::Warning => "should",
            Self::Info => "may",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
