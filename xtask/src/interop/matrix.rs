//! The matrix: operations down, SDK, role and binding across.

use std::{collections::BTreeMap, fmt, path::Path};

use serde_json::{Value, json};

use crate::{Result, workspace};

use super::{
    BINDINGS, Role, Sdk,
    process::{Line, Lines},
};

/// Every operation, in the order of the rows. A driver that leaves one out has failed at it.
const OPERATIONS: [&str; 31] = [
    "card",
    "extended-card",
    "send",
    "send-message",
    "send-parts",
    "send-immediately",
    "send-history-length",
    "multi-turn",
    "failed-task",
    "extensions",
    "stream",
    "stream-message",
    "stream-input",
    "subscribe",
    "get",
    "list-pages",
    "list-filters",
    "list-since",
    "cancel",
    "push-configs",
    "push-delivery",
    "push-with-message",
    "error-unknown-task",
    "error-cancel-terminal",
    "error-subscribe-terminal",
    "error-send-terminal",
    "error-context",
    "error-page-size",
    "error-empty-message",
    "error-push-config",
    "error-version",
];

/// One column of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) sdk: Sdk,
    pub(super) role: Role,
    pub(super) binding: &'static str,
}

/// What came of one operation in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Works,
    /// It does not, and the table of deviations says why.
    Explained(String),
    Fails(String),
}

/// What is known of an SDK: an operation that can't work, and why.
struct Deviation {
    sdk: String,
    role: String,
    binding: String,
    operation: String,
    reason: String,
}

pub(super) struct Matrix {
    operations: Vec<&'static str>,
    deviations: Vec<Deviation>,
    columns: Vec<(Column, Vec<Outcome>)>,
    skipped: Vec<(Sdk, String)>,
}

impl Matrix {
    /// Creates an empty matrix of the rows in `only`, or of all.
    pub(super) fn new(sources: &Path, only: &[String]) -> Result<Self> {
        if let Some(unknown) = only.iter().find(|name| !OPERATIONS.contains(&name.as_str())) {
            return Err(
                format!("no operation {unknown}; there are {}", OPERATIONS.join(", ")).into()
            );
        }
        let wanted = |name: &&str| only.is_empty() || only.iter().any(|one| one == name);
        Ok(Self {
            operations: OPERATIONS.into_iter().filter(wanted).collect(),
            deviations: deviations(&sources.join("deviations.json"))?,
            columns: Vec::new(),
            skipped: Vec::new(),
        })
    }

    /// Notes that an SDK was not run at all.
    pub(super) fn skip(&mut self, sdk: Sdk, reason: String) {
        self.skipped.push((sdk, reason));
    }

    /// Adds a column from the lines of its driver.
    pub(super) fn add(&mut self, column: Column, lines: Lines) {
        let (lines, missing) = match lines {
            Ok(lines) => (lines, "the driver does not know it".to_owned()),
            Err(reason) => (Vec::new(), reason),
        };
        let mut lines: BTreeMap<_, _> =
            lines.into_iter().map(|line| (line.operation.clone(), line)).collect();
        let outcomes = self
            .operations
            .iter()
            .map(|operation| match lines.remove(*operation) {
                Some(line) => self.judge(column, &line),
                None => Outcome::Fails(missing.clone()),
            })
            .collect();
        self.columns.push((column, outcomes));
    }

    fn judge(&self, column: Column, line: &Line) -> Outcome {
        let explained = self.deviations.iter().find(|known| known.covers(column, &line.operation));
        match (line.ok, explained) {
            (true, None) => Outcome::Works,
            (false, Some(known)) => Outcome::Explained(known.reason.clone()),
            (false, None) => Outcome::Fails(line.detail.clone()),
            (true, Some(_)) => Outcome::Fails("works, though deviations.json says not".to_owned()),
        }
    }

    pub(super) fn failures(&self) -> usize {
        self.outcomes().filter(|(_, _, outcome)| matches!(outcome, Outcome::Fails(_))).count()
    }

    fn outcomes(&self) -> impl Iterator<Item = (Column, &'static str, &Outcome)> {
        self.columns.iter().flat_map(|(column, outcomes)| {
            let rows = self.operations.iter().zip(outcomes);
            rows.map(|(operation, outcome)| (*column, *operation, outcome))
        })
    }

    /// The matrix as data.
    pub(super) fn to_json(&self) -> Value {
        let cells: Vec<_> = self
            .outcomes()
            .map(|(column, operation, outcome)| {
                let (outcome, detail) = match outcome {
                    Outcome::Works => ("works", ""),
                    Outcome::Explained(reason) => ("explained", reason.as_str()),
                    Outcome::Fails(detail) => ("fails", detail.as_str()),
                };
                json!({
                    "sdk": column.sdk.name(), "role": column.role.name(), "binding": column.binding,
                    "operation": operation, "outcome": outcome, "detail": detail,
                })
            })
            .collect();
        let skipped: Vec<_> = self
            .skipped
            .iter()
            .map(|(sdk, reason)| json!({"sdk": sdk.name(), "reason": reason}))
            .collect();
        json!({"cells": cells, "skipped": skipped})
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = OPERATIONS.iter().map(|name| name.len()).max().unwrap_or_default();
        write!(f, "{:name$}", "")?;
        for group in self.columns.chunks(BINDINGS.len()) {
            let (column, _) = &group[0];
            let sdk = column.sdk.name();
            let title = match column.role {
                Role::Client => format!("{sdk} calls us"),
                Role::Server => format!("we call {sdk}"),
            };
            write!(f, " | {title:17}")?;
        }
        write!(f, "\n{:name$}", "")?;
        for _ in self.columns.chunks(BINDINGS.len()) {
            write!(f, " | jsonrpc rest grpc")?;
        }
        writeln!(f)?;
        for (row, operation) in self.operations.iter().enumerate() {
            write!(f, "{operation:name$}")?;
            for (index, (_, outcomes)) in self.columns.iter().enumerate() {
                let mark = match &outcomes[row] {
                    Outcome::Works => "✓",
                    Outcome::Explained(_) => "–",
                    Outcome::Fails(_) => "✗",
                };
                match index % BINDINGS.len() {
                    0 => write!(f, " | {mark:^7}")?,
                    _ => write!(f, " {mark:^4}")?,
                }
            }
            writeln!(f)?;
        }
        writeln!(f)?;
        for (column, operation, outcome) in self.outcomes() {
            let Column { sdk, role, binding } = column;
            let place = format!("{} {}, {binding}, {operation}", sdk.name(), role.name());
            match outcome {
                Outcome::Works => {}
                Outcome::Explained(reason) => writeln!(f, "– {place}: {reason}")?,
                Outcome::Fails(detail) => writeln!(f, "✗ {place}: {detail}")?,
            }
        }
        for (sdk, reason) in &self.skipped {
            writeln!(f, "SKIPPED {}: {reason}", sdk.name())?;
        }
        let count = |wanted: fn(&Outcome) -> bool| {
            self.outcomes().filter(|(_, _, outcome)| wanted(outcome)).count()
        };
        writeln!(
            f,
            "{} work, {} explained, {} fail",
            count(|outcome| matches!(outcome, Outcome::Works)),
            count(|outcome| matches!(outcome, Outcome::Explained(_))),
            self.failures(),
        )
    }
}

impl Deviation {
    fn covers(&self, column: Column, operation: &str) -> bool {
        let binding = self.binding == "*" || self.binding == column.binding;
        binding
            && self.sdk == column.sdk.name()
            && self.role == column.role.name()
            && self.operation == operation
    }
}

fn deviations(path: &Path) -> Result<Vec<Deviation>> {
    let list: Vec<BTreeMap<String, String>> = serde_json::from_str(&workspace::read(path)?)
        .map_err(|error| format!("{}: {error}", workspace::relative(path)))?;
    let read = |mut entry: BTreeMap<String, String>| {
        let mut take = |key: &str| {
            entry
                .remove(key)
                .filter(|value| !value.is_empty())
                .ok_or_else(|| format!("{}: an entry without {key:?}", workspace::relative(path)))
        };
        Ok(Deviation {
            sdk: take("sdk")?,
            role: take("role")?,
            binding: take("binding")?,
            operation: take("operation")?,
            reason: take("reason")?,
        })
    };
    list.into_iter().map(read).collect()
}
