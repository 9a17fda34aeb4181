//! Findings of a run.

use serde::Serialize;

use crate::{Rule, Severity};

/// Maximum number of findings of a run; later ones are counted as omitted.
const MAX_FINDINGS: usize = 1_000;

/// One violation of a rule.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The rule.
    #[serde(rename = "id", serialize_with = "id")]
    pub rule: &'static Rule,
    /// How serious it is.
    pub severity: Severity,
    /// JSON pointer (RFC 6901) of the member, which is absent from the card if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Line in the card as received, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in the line, in characters from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub fix: &'static str,
    /// The exchange with the agent that proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Transcript>,
    /// The edit that fixes it, if there is one.
    #[serde(skip)]
    pub edit: Option<Edit>,
}

/// An exchange with an agent as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transcript {
    /// The request: method and URL, headers, body.
    pub request: String,
    /// The response: status, headers, body; or why there is none.
    pub response: String,
}

/// A change of the card at the pointer of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edit {
    /// Remove the member of an object or the element of an array.
    Remove,
    /// Replace a text.
    Replace(String),
    /// Rename a member of an object.
    Rename(&'static str),
}

impl Finding {
    /// Creates a finding.
    pub fn new(rule: &'static Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            pointer: None,
            line: None,
            column: None,
            message: message.into(),
            fix: rule.help,
            exchange: None,
            edit: None,
        }
    }

    /// The message, behind the pointer of the member if there is one.
    pub fn located(&self) -> String {
        match self.pointer.as_deref() {
            None | Some("") => self.message.clone(),
            Some(pointer) => format!("{pointer}: {}", self.message),
        }
    }
}

/// The findings on a card: at most 1,000, and the number of those beyond.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    omitted: usize,
}

impl Findings {
    /// Adds a finding at a member of the card.
    pub fn add(
        &mut self,
        rule: &'static Rule,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.add_with_edit(rule, pointer, message, None);
    }

    /// Adds a finding that an edit may fix.
    pub(crate) fn add_with_edit(
        &mut self,
        rule: &'static Rule,
        pointer: impl Into<String>,
        message: impl Into<String>,
        edit: impl Into<Option<Edit>>,
    ) {
        if self.list.len() >= MAX_FINDINGS {
            self.omitted += 1;
        } else {
            let (pointer, edit) = (Some(pointer.into()), edit.into());
            self.list.push(Finding { pointer, edit, ..Finding::new(rule, message) });
        }
    }

    /// The findings in the order in which they were added.
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// Adds the findings of another list.
    pub fn append(&mut self, mut other: Self) {
        let free = MAX_FINDINGS - self.list.len();
        self.omitted += other.omitted + other.list.len().saturating_sub(free);
        other.list.truncate(free);
        self.list.append(&mut other.list);
    }

    /// Returns the findings, errors first, each severity in the order in which they were added, and the
    /// number of omitted ones.
    pub fn into_sorted(mut self) -> (Vec<Finding>, usize) {
        self.list.sort_by_key(|finding| finding.severity);
        (self.list, self.omitted)
    }
}

fn id<S: serde::Serializer>(rule: &&'static Rule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::network::UNCHECKED;

    #[test]
    fn findings_beyond_the_limit_are_counted() {
        let mut findings = Findings::default();
        for _ in 0..MAX_FINDINGS + 3 {
            findings.add(&UNCHECKED, "", "x");
        }
        let (list, omitted) = findings.into_sorted();
        assert_eq!((list.len(), omitted), (MAX_FINDINGS, 3));
    }
}
