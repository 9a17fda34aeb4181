//! The schema: what `a2a card get --validate` checks, and JSON that parsers read differently.

use std::collections::HashSet;

use a2a_core::Error;
use jsonc_parser::ast::Value as Node;

use crate::{
    Findings, Rule, Subject,
    pointer::{escape, of_field},
    source::Source,
    strings::quote,
};

rules! {
    pub(crate) error MALFORMED = "malformed-card":
        "the document is not JSON, or a member has the wrong type",
        "correct the JSON at the place that the message names";
    error VIOLATION = "schema-violation":
        "a REQUIRED member is missing or empty, or a value is unknown",
        "add the member as the specification defines it (section 8.5)";
    error PROVIDER = "provider-without-url":
        "the provider has no organization or no URL",
        "add provider.organization and provider.url, or remove the provider";
    error DUPLICATE = "duplicate-member":
        "an object has two members of the same name; parsers keep the first, the last or neither",
        "remove one of them";
}

/// Returns the findings for a document that is not a card.
pub fn malformed(error: &Error) -> Findings {
    let mut findings = Findings::default();
    if error.violations().is_empty() {
        findings.add(&MALFORMED, "", error.message());
    }
    for violation in error.violations() {
        let pointer = of_field(&violation.field, &serde_json::Value::Null);
        findings.add(&MALFORMED, pointer, violation.description.as_str());
    }
    findings
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for violation in &subject.violations {
        let pointer = of_field(&violation.field, &subject.json);
        let rule = if violation.field.starts_with("provider.") { &PROVIDER } else { &VIOLATION };
        let what = if violation.field.is_empty() { "the card" } else { &violation.field };
        findings.add(rule, pointer, format!("{what} {}", violation.description));
    }
    if let Some(source) = subject.text().and_then(Source::parse) {
        duplicates(source.root(), &mut String::new(), findings);
    }
}

/// The recursion is bounded by the depth that the parser accepts.
fn duplicates(node: &Node<'_>, pointer: &mut String, findings: &mut Findings) {
    let length = pointer.len();
    match node {
        Node::Object(object) => {
            let mut seen = HashSet::new();
            for property in &object.properties {
                let name = property.name.as_str();
                pointer.push('/');
                pointer.push_str(&escape(name));
                if seen.insert(name) {
                    duplicates(&property.value, pointer, findings);
                } else {
                    let message = format!("duplicate member {}", quote(name));
                    findings.add(&DUPLICATE, pointer.clone(), message);
                }
                pointer.truncate(length);
            }
        }
        Node::Array(list) => {
            for (index, element) in list.elements.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                duplicates(element, pointer, findings);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}
