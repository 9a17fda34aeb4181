//! Reports the tests of each requirement, from tags in the tests.
//!
//! A tag is a comment line directly above a test: `// covers: R-018, R-019`. A requirement
//! without a test has a row in the table of reasons, or is open.

mod reason;
mod report;
mod requirement;
mod tag;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use self::{reason::Reason, requirement::Requirement};
use crate::{Result, workspace};

/// The arguments of `cargo xtask coverage`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if the report is out of date or a MUST is open
    #[arg(long)]
    check: bool,
    /// The table of requirements, from the root of the workspace
    #[arg(long, default_value = "docs/development/requirements.md")]
    requirements: PathBuf,
    /// The table of reasons for requirements without a test
    #[arg(long, default_value = "docs/development/spec-coverage-reasons.md")]
    reasons: PathBuf,
    /// The report to write
    #[arg(long, default_value = "docs/development/spec-coverage.md")]
    report: PathBuf,
}

/// All requirements with their tests and reasons.
struct Coverage {
    requirements: Vec<Requirement>,
    tests: BTreeMap<String, BTreeSet<String>>,
    reasons: BTreeMap<String, Reason>,
}

/// The status of a requirement.
enum Standing<'a> {
    /// It has these tests.
    Tested(&'a BTreeSet<String>),
    /// It has no test, for this reason.
    Explained(&'a Reason),
    /// It applies to others than this project's servers, clients, bindings and cards.
    NotOurs,
    /// It has neither a test nor a reason.
    Open,
}

impl Coverage {
    fn standing(&self, requirement: &Requirement) -> Standing<'_> {
        if let Some(tests) = self.tests.get(&requirement.id) {
            Standing::Tested(tests)
        } else if let Some(reason) = self.reasons.get(&requirement.id) {
            Standing::Explained(reason)
        } else if requirement.is_ours() {
            Standing::Open
        } else {
            Standing::NotOurs
        }
    }

    /// Tags and reasons with unknown ids, and reasons for requirements that have a test.
    fn mistakes(&self) -> Vec<String> {
        let known: BTreeSet<_> = self.requirements.iter().map(|row| row.id.as_str()).collect();
        let mut mistakes = Vec::new();
        for (id, tests) in &self.tests {
            if !known.contains(id.as_str()) {
                let tests: Vec<_> = tests.iter().map(String::as_str).collect();
                mistakes.push(format!("{} covers {id}, which does not exist", tests.join(", ")));
            } else if self.reasons.contains_key(id) {
                mistakes.push(format!("{id} has a test: remove its reason"));
            }
        }
        for id in self.reasons.keys().filter(|id| !known.contains(id.as_str())) {
            mistakes.push(format!("there is a reason for {id}, which does not exist"));
        }
        mistakes
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let root = workspace::root();
    let found = tag::find(&root)?;
    let coverage = Coverage {
        requirements: requirement::parse(&workspace::read(&root.join(&args.requirements))?)?,
        tests: found.tests,
        reasons: reason::parse(&workspace::read(&root.join(&args.reasons))?)?,
    };
    let mut mistakes = found.mistakes;
    mistakes.extend(coverage.mistakes());
    for mistake in &mistakes {
        eprintln!("error: {mistake}");
    }

    let text = report::markdown(&coverage);
    let up_to_date = workspace::write_or_check(&root.join(&args.report), &text, args.check)?;
    let open: Vec<_> = coverage
        .requirements
        .iter()
        .filter(|row| row.level.is_must() && matches!(coverage.standing(row), Standing::Open))
        .collect();
    for row in &open {
        eprintln!("open: {} {} {}: {}", row.id, row.level, row.who, row.text);
    }
    for line in report::summary(&coverage) {
        println!("{line}");
    }
    if !mistakes.is_empty() {
        return Err(format!("{} errors in tags and reasons", mistakes.len()).into());
    }
    if args.check && !open.is_empty() {
        return Err(format!("{} MUSTs have neither a test nor a reason", open.len()).into());
    }
    if !up_to_date {
        return Err("run `cargo xtask coverage`".into());
    }
    Ok(())
}

/// The cells of a Markdown table row; `None` for any other line.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    // A bar in a cell is written `\|`; the placeholder occurs in no text.
    let cells = inner.replace("\\|", "\u{1}");
    Some(cells.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(tests: &[&str], reasons: &str) -> Coverage {
        let table = "\
            | Id | Source | Level | Who | Requirement | Check |\n\
            |---|---|---|---|---|---|\n\
            | R-001 | D1 | MUST | server | Do | x |\n\
            | R-002 | D1 | MUST | operator | Do | x |\n";
        let test = BTreeSet::from(["a::b".to_owned()]);
        Coverage {
            requirements: requirement::parse(table).unwrap(),
            tests: tests.iter().map(|id| ((*id).to_owned(), test.clone())).collect(),
            reasons: reason::parse(reasons).unwrap(),
        }
    }

    #[test]
    fn a_must_without_a_test_is_open_unless_it_applies_to_others() {
        let coverage = coverage(&[], "");
        assert!(matches!(coverage.standing(&coverage.requirements[0]), Standing::Open));
        assert!(matches!(coverage.standing(&coverage.requirements[1]), Standing::NotOurs));
    }

    #[test]
    fn a_reason_for_a_tested_requirement_is_an_error() {
        let coverage = coverage(&["R-001"], "| R-001 | later: security | with TLS |");
        assert_eq!(coverage.mistakes(), ["R-001 has a test: remove its reason"]);
    }

    #[test]
    fn unknown_ids_are_errors() {
        assert_eq!(
            coverage(&["R-999"], "").mistakes(),
            ["a::b covers R-999, which does not exist"]
        );
        assert_eq!(
            coverage(&[], "| R-998 | later: security | with TLS |").mistakes(),
            ["there is a reason for R-998, which does not exist"]
        );
    }

    #[test]
    fn a_cell_may_hold_an_escaped_bar() {
        assert_eq!(cells("| a | b \\| c |").unwrap(), ["a", "b | c"]);
        assert_eq!(cells("text"), None);
    }
}
