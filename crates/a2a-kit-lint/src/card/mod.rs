//! The rules for agent cards, one file for each group: its [`Rule`]s, and a function that adds
//! [`Findings`] for a [`Subject`].

/// Declares rules: their severity, `fixable` or `live`, name, id, what they report and how to fix it.
/// `RULES` has all of them.
macro_rules! rules {
    ($($vis:vis $severity:ident $(($mark:ident))? $name:ident = $id:literal:
        $title:literal, $help:literal;)*) => {
        $(
            #[doc = $title]
            $vis const $name: Rule = Rule::$severity($id, $title, $help)$(.$mark())?;
        )*
        pub(super) const RULES: &[&Rule] = &[$(&$name),*];
    };
}

mod capability;
mod instruction;
mod interface;
mod invisible;
mod member;
mod mode;
pub mod network;
mod oauth;
mod prose;
mod schema;
mod security;
mod skill;
#[cfg(test)]
mod tests;
mod version;

pub use a2a_core::escape::is_invisible;
pub use schema::malformed;

use crate::{CheckResult, Finding, Findings, Outcome, Rule, Subject};

/// Adds the findings of a group.
type Check = fn(&Subject<'_>, &mut Findings);

/// The groups of rules.
const GROUPS: &[(&[&Rule], Check)] = &[
    (schema::RULES, schema::check),
    (member::RULES, member::check),
    (interface::RULES, interface::check),
    (version::RULES, version::check),
    (security::RULES, security::check),
    (oauth::RULES, oauth::check),
    (mode::RULES, mode::check),
    (skill::RULES, skill::check),
    (capability::RULES, capability::check),
    (prose::RULES, prose::check),
    (invisible::RULES, invisible::check),
    (instruction::RULES, instruction::check),
    (network::RULES, network::check),
];

/// Every rule for cards, by group.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|(rules, _)| rules.iter().copied())
}

/// Returns the results of all rules for cards, most serious first. Rules that need a running agent
/// are skipped unless `is_live`.
pub fn results(findings: &[Finding], is_live: bool) -> Vec<CheckResult> {
    let is_card = findings.iter().all(|finding| finding.rule != &schema::MALFORMED);
    let mut results: Vec<_> = rules()
        .map(|rule| {
            let found = findings.iter().filter(|finding| finding.rule == rule);
            let found: Vec<_> = found.cloned().collect();
            let outcome = if !found.is_empty() {
                Outcome::Fail(found)
            } else if !is_card {
                Outcome::NotMeasured("the document is not a card".to_owned())
            } else if rule.is_live && !is_live {
                Outcome::Skip("it needs a running agent".to_owned())
            } else {
                Outcome::Pass
            };
            CheckResult::new(rule, "card", outcome)
        })
        .collect();
    results.sort_by_key(|result| result.rule.severity);
    results
}

/// Runs all rules that need nothing but the document.
pub fn check(subject: &Subject<'_>) -> Findings {
    let mut findings = Findings::default();
    for (_, check) in GROUPS {
        check(subject, &mut findings);
    }
    findings
}
