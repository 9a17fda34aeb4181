//! The report: one table per section of the matrix, and the counts.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
};

use super::{
    Coverage, Standing,
    requirement::{Level, Requirement},
};

const INTRODUCTION: &str = "\
# Coverage of the specification

Which requirement of [requirements.md](requirements.md) has which test. Made by `cargo xtask
coverage` from tags above the tests (`// covers: R-018`) and from the table of reasons in
[spec-coverage-reasons.md](spec-coverage-reasons.md); edit those, not this file.

A requirement that binds people or other software, such as operators or the authors of a custom
binding, is theirs to meet and is listed without a test unless there is one.

";

/// How many requirements of a group stand how.
#[derive(Default)]
struct Counts<'a> {
    tested: usize,
    explained: BTreeMap<&'a str, usize>,
    open: usize,
}

impl<'a> Counts<'a> {
    fn of(coverage: &'a Coverage, is_counted: impl Fn(Level) -> bool) -> Self {
        let mut counts = Self::default();
        let ours =
            coverage.requirements.iter().filter(|row| row.is_ours() && is_counted(row.level));
        for row in ours {
            match coverage.standing(row) {
                Standing::Tested(_) => counts.tested += 1,
                Standing::Explained(reason) => {
                    *counts.explained.entry(reason.class).or_default() += 1;
                }
                Standing::NotOurs | Standing::Open => counts.open += 1,
            }
        }
        counts
    }
}

/// `214 MUST: 150 with a test, 64 with a reason (later: security 30, …), 0 open`.
fn line(name: &str, counts: &Counts<'_>) -> String {
    let explained: usize = counts.explained.values().sum();
    let classes: Vec<_> =
        counts.explained.iter().map(|(class, count)| format!("{class} {count}")).collect();
    let classes =
        if classes.is_empty() { String::new() } else { format!(" ({})", classes.join(", ")) };
    format!(
        "{} {name}: {} with a test, {explained} with a reason{classes}, {} open",
        counts.tested + explained + counts.open,
        counts.tested,
        counts.open,
    )
}

/// The counts of what binds servers, clients, bindings, cards and agents.
pub(super) fn summary(coverage: &Coverage) -> [String; 3] {
    [
        line("MUST", &Counts::of(coverage, Level::is_must)),
        line("SHOULD", &Counts::of(coverage, Level::is_should)),
        line("MAY", &Counts::of(coverage, |level| level == Level::May)),
    ]
}

/// The whole report.
pub(super) fn markdown(coverage: &Coverage) -> String {
    let mut text = INTRODUCTION.to_owned();
    for line in summary(coverage) {
        let _ = writeln!(text, "- {line}");
    }
    let mut section = "";
    for row in &coverage.requirements {
        if row.section != section {
            section = &row.section;
            let _ = write!(
                text,
                "\n## {section}\n\n| Id | Level | Who | Requirement | Tests, or why there is none |\n\
                 |---|---|---|---|---|\n"
            );
        }
        let columns: [&dyn Display; 5] =
            [&row.id, &row.level, &row.who, &row.text, &standing(coverage, row)];
        for column in columns {
            let _ = write!(text, "| {} ", column.to_string().replace('|', "\\|"));
        }
        text.push_str("|\n");
    }
    text
}

fn standing(coverage: &Coverage, row: &Requirement) -> String {
    match coverage.standing(row) {
        Standing::Tested(tests) => {
            let tests: Vec<_> = tests.iter().map(|test| format!("`{test}`")).collect();
            tests.join("<br>")
        }
        Standing::Explained(reason) => format!("*{}*: {}", reason.class, reason.text),
        Standing::NotOurs => "theirs to meet".to_owned(),
        Standing::Open => "**open**".to_owned(),
    }
}
