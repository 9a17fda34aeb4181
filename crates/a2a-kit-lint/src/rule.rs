//! Rules and their severities.

use std::fmt;

use serde::{Serialize, Serializer};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rule {
    /// The stable name, in kebab case.
    pub id: &'static str,
    /// How serious a finding is.
    pub severity: Severity,
    /// What the rule reports.
    #[serde(rename = "reports")]
    pub what: &'static str,
    /// How to fix a card that breaks the rule.
    pub fix: &'static str,
    /// Whether `--fix` can do it.
    #[serde(rename = "fixable")]
    pub is_fixable: bool,
    /// Whether it is checked with `--live` only.
    #[serde(rename = "live")]
    pub is_live: bool,
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Clients reject the card, or can't use a part of it.
    Error,
    /// Some clients fail, or the agent or its callers are exposed.
    Warning,
    /// Advice.
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
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Rule {
    /// Creates a rule for errors.
    pub const fn error(id: &'static str, what: &'static str, fix: &'static str) -> Self {
        Self::new(id, Severity::Error, what, fix)
    }

    /// Creates a rule for warnings.
    pub const fn warning(id: &'static str, what: &'static str, fix: &'static str) -> Self {
        Self::new(id, Severity::Warning, what, fix)
    }

    /// Creates a rule for advice.
    pub const fn info(id: &'static str, what: &'static str, fix: &'static str) -> Self {
        Self::new(id, Severity::Info, what, fix)
    }

    const fn new(
        id: &'static str,
        severity: Severity,
        what: &'static str,
        fix: &'static str,
    ) -> Self {
        Self { id, severity, what, fix, is_fixable: false, is_live: false }
    }

    /// Marks a rule that `--fix` can fix.
    #[must_use]
    pub const fn fixable(self) -> Self {
        Self { is_fixable: true, ..self }
    }

    /// Marks a rule that needs `--live`.
    #[must_use]
    pub const fn live(self) -> Self {
        Self { is_live: true, ..self }
    }
}
