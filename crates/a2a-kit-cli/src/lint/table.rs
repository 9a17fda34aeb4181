//! The table of the rules.

use a2a_kit_auth::card::Verification;

use super::{
    Findings, Rule, Subject, caching, capability, grpc, instruction, interface, invisible, legacy,
    link, live, member, mode, oauth, prose, schema, security, signature, skill, version,
};

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

/// Runs all rules that need nothing but the document.
pub(crate) fn check(subject: &Subject<'_>, verification: &Verification, findings: &mut Findings) {
    schema::check(subject, findings);
    member::check(subject, findings);
    interface::check(subject, findings);
    version::check(subject, findings);
    grpc::check(subject, findings);
    security::check(subject, findings);
    oauth::check(subject, findings);
    mode::check(subject, findings);
    skill::check(subject, findings);
    capability::check(subject, findings);
    legacy::check(subject, findings);
    signature::check(verification, findings);
    link::check(subject, findings);
    prose::check(subject, findings);
    invisible::check(subject, findings);
    instruction::check(subject, findings);
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
