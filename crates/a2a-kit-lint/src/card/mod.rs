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
mod legacy;
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

pub use invisible::is_invisible;
pub use schema::malformed;

use crate::{CheckResult, Finding, Findings, Outcome, Rule, Subject};

/// The rules, by group.
const GROUPS: &[&[&Rule]] = &[
    schema::RULES,
    member::RULES,
    interface::RULES,
    version::RULES,
    security::RULES,
    oauth::RULES,
    mode::RULES,
    skill::RULES,
    capability::RULES,
    legacy::RULES,
    prose::RULES,
    invisible::RULES,
    instruction::RULES,
    network::RULES,
];

/// Every rule for cards, by group.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|group| group.iter().copied())
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
    schema::check(subject, &mut findings);
    member::check(subject, &mut findings);
    interface::check(subject, &mut findings);
    version::check(subject, &mut findings);
    security::check(subject, &mut findings);
    oauth::check(subject, &mut findings);
    mode::check(subject, &mut findings);
    skill::check(subject, &mut findings);
    capability::check(subject, &mut findings);
    legacy::check(subject, &mut findings);
    prose::check(subject, &mut findings);
    invisible::check(subject, &mut findings);
    instruction::check(subject, &mut findings);
    if subject.card.signatures.is_empty() {
        findings.add(&network::UNSIGNED, "/signatures", "the card is not signed");
    }
    findings
}
