//! Findings of a run.

use serde::Serialize;

use super::rule::{Rule, Severity};

/// Maximum number of findings of a run; later ones are counted as omitted.
const MAX_FINDINGS: usize = 1_000;

/// One place where a card breaks a rule.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    #[serde(rename = "id", serialize_with = "id")]
    pub(crate) rule: &'static Rule,
    pub(crate) severity: Severity,
    /// JSON pointer (RFC 6901) of the member, which is absent from the card if it is missing.
    pub(crate) pointer: String,
    /// Line in the card as received, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// Column in the line, in characters from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    pub(crate) message: String,
    pub(crate) fix: &'static str,
    /// The edit that `--fix` makes.
    #[serde(skip)]
    pub(crate) edit: Option<Edit>,
}

/// A change of the card at the pointer of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Remove the member of an object or the element of an array.
    Remove,
    /// Replace a text.
    Replace(String),
    /// Rename a member of an object.
    Rename(&'static str),
}

/// The findings of a run, at most [`MAX_FINDINGS`].
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    omitted: usize,
}

impl Findings {
    pub(super) fn add(
        &mut self,
        rule: &'static Rule,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.push(rule, pointer.into(), message.into(), None);
    }

    /// Adds a finding that `--fix` can fix.
    pub(super) fn add_with_edit(
        &mut self,
        rule: &'static Rule,
        pointer: impl Into<String>,
        message: impl Into<String>,
        edit: Edit,
    ) {
        self.push(rule, pointer.into(), message.into(), Some(edit));
    }

    fn push(&mut self, rule: &'static Rule, pointer: String, message: String, edit: Option<Edit>) {
        if self.list.len() >= MAX_FINDINGS {
            self.omitted += 1;
            return;
        }
        self.list.push(Finding {
            rule,
            severity: rule.severity,
            pointer,
            line: None,
            column: None,
            message,
            fix: rule.fix,
            edit,
        });
    }

    pub(crate) fn list(&self) -> &[Finding] {
        &self.list
    }

    /// Adds the findings of another list.
    pub(crate) fn append(&mut self, mut other: Self) {
        let free = MAX_FINDINGS - self.list.len();
        self.omitted += other.omitted + other.list.len().saturating_sub(free);
        other.list.truncate(free);
        self.list.append(&mut other.list);
    }

    /// The findings, errors first, each severity in the order of the rules.
    pub(crate) fn into_sorted(mut self) -> (Vec<Finding>, usize) {
        self.list.sort_by_key(|finding| finding.severity);
        (self.list, self.omitted)
    }
}

fn id<S: serde::Serializer>(rule: &&'static Rule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.id)
}

#[cfg(test)]
mod tests {
    use super::{super::schema::MALFORMED, *};

    #[test]
    fn findings_beyond_the_limit_are_counted() {
        let mut findings = Findings::default();
        for _ in 0..MAX_FINDINGS + 3 {
            findings.add(&MALFORMED, "", "x");
        }
        let (list, omitted) = findings.into_sorted();
        assert_eq!((list.len(), omitted), (MAX_FINDINGS, 3));
    }
}
