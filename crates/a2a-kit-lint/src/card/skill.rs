//! Skills.

use std::collections::HashSet;

use crate::{Findings, Rule, Subject, strings::quote};

rules! {
    warning NONE = "no-skills":
        "the card lists no skill, so callers can't tell what the agent does",
        "describe at least one skill";
    error DUPLICATE = "duplicate-skill-id":
        "two skills have the same id",
        "give each skill its own id";
    warning DESCRIPTION = "skill-without-description":
        "a skill has no description, by which callers choose it",
        "describe what the skill does";
    warning TAGS = "skill-without-tags":
        "a skill has no tags, by which catalogs find it",
        "add keywords";
    info EXAMPLES = "skill-without-examples":
        "a skill has no examples, which show callers how to ask for it",
        "add sample prompts";
    warning SPACE = "skill-id-with-space":
        "the id of a skill has spaces or control characters",
        "write an identifier such as weather-forecast";
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let skills = &subject.card.skills;
    if skills.is_empty() {
        findings.add(&NONE, "/skills", "the card lists no skill");
    }
    let mut seen = HashSet::new();
    for (index, skill) in skills.iter().enumerate() {
        let name = quote(if skill.id.is_empty() { &skill.name } else { &skill.id });
        let pointer = |member: &str| format!("/skills/{index}/{member}");
        // A missing id is a violation of the schema.
        if !skill.id.is_empty() && !seen.insert(&skill.id) {
            findings.add(&DUPLICATE, pointer("id"), format!("duplicate skill id {name}"));
        }
        if skill.id.contains(|c: char| c.is_whitespace() || c.is_control()) {
            findings.add(&SPACE, pointer("id"), format!("skill id {name} has spaces"));
        }
        if skill.description.trim().is_empty() {
            let message = format!("skill {name} has no description");
            findings.add(&DESCRIPTION, pointer("description"), message);
        }
        if skill.tags.is_empty() {
            findings.add(&TAGS, pointer("tags"), format!("skill {name} has no tags"));
        }
        if skill.examples.is_empty() {
            findings.add(&EXAMPLES, pointer("examples"), format!("skill {name} has no examples"));
        }
    }
}
