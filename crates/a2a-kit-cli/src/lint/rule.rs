//! Rules and their table.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{
    caching, capability, grpc, instruction, interface, invisible, legacy, link, live, member, mode,
    oauth, prose, schema, security, signature, skill, version,
};

/// A rule for agent cards.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Rule {
    /// The stable name, in kebab case.
    pub(crate) id: &'static str,
    pub(crate) severity: Severity,
    /// What the rule reports.
    #[serde(rename = "reports")]
    pub(crate) what: &'static str,
    /// How to fix a card that breaks the rule.
    pub(crate) fix: &'static str,
    /// Whether `--fix` can do it.
    #[serde(rename = "fixable")]
    pub(crate) is_fixable: bool,
    /// Whether it is checked with `--live` only.
    #[serde(rename = "live")]
    pub(crate) is_live: bool,
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Clients reject the card, or can't use a part of it.
    Error,
    /// Some clients fail, or the agent or its callers are exposed.
    Warning,
    /// Advice.
    Info,
}

impl Severity {
    pub(crate) const fn as_str(self) -> &'static str {
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
    pub(super) const fn error(id: &'static str, what: &'static str, fix: &'static str) -> Self {
        Self::new(id, Severity::Error, what, fix)
    }

    pub(super) const fn warning(id: &'static str, what: &'static str, fix: &'static str) -> Self {
        Self::new(id, Severity::Warning, what, fix)
    }

    pub(super) const fn info(id: &'static str, what: &'static str, fix: &'static str) -> Self {
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
    pub(super) const fn fixable(self) -> Self {
        Self { is_fixable: true, ..self }
    }

    /// Marks a rule that needs `--live`.
    pub(super) const fn live(self) -> Self {
        Self { is_live: true, ..self }
    }
}

/// The rules, by group.
const GROUPS: &[&[&Rule]] = &[
    schema::RULES,
    member::RULES,
    interface::RULES,
    version::RULES,
    grpc::RULES,
    security::RULES,
    oauth::RULES,
    mode::RULES,
    skill::RULES,
    capability::RULES,
    legacy::RULES,
    signature::RULES,
    link::RULES,
    prose::RULES,
    invisible::RULES,
    instruction::RULES,
    live::RULES,
    caching::RULES,
];

/// Every rule, by group.
pub(crate) fn rules() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|group| group.iter().copied())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_in_kebab_case() {
        let mut seen = BTreeSet::new();
        for rule in rules() {
            assert!(seen.insert(rule.id), "duplicate rule {}", rule.id);
            let is_kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(rule.id.chars().all(is_kebab), "{}", rule.id);
            for text in [rule.what, rule.fix] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", rule.id);
            }
        }
    }
}
