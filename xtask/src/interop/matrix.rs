//! A matrix: operations down; SDK, role and binding across.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Result, workspace};

use super::process::{Line, Lines};

/// One column of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// The SDK that we call, or that calls us.
    pub(super) peer: &'static str,
    /// Whether the peer is the `client` or the `server`.
    pub(super) role: &'static str,
    pub(super) binding: &'static str,
}

/// The result of one operation in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The binding does not have the operation.
    Absent,
    Works,
    /// It fails, as explained in `deviations.json`.
    Explained(String),
    Fails(String),
}

/// A known failure of an SDK, with its reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deviation {
    pub(super) sdk: String,
    role: String,
    binding: String,
    pub(super) operation: String,
    reason: String,
    /// The entry of `faults.toml`, if it is to be reported.
    pub(super) fault: Option<String>,
}

/// A row: an operation, and the bindings that have it.
pub(super) type Row = (&'static str, &'static [&'static str]);

pub(super) struct Matrix {
    pub(super) rows: Vec<Row>,
    deviations: Vec<Deviation>,
    pub(super) columns: Vec<(Column, Vec<Outcome>)>,
    pub(super) skipped: Vec<(&'static str, String)>,
}

impl Matrix {
    /// Creates an empty matrix of the rows in `only`, or of all.
    pub(super) fn new(rows: &[Row], sources: &Path, only: &[String]) -> Result<Self> {
        let wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
        Ok(Self {
            rows: rows.iter().copied().filter(|(name, _)| wanted(name)).collect(),
            deviations: deviations(&sources.join("deviations.json"))?,
            columns: Vec::new(),
            skipped: Vec::new(),
        })
    }

    /// Returns whether there is nothing to run.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns whether there is nothing to print.
    pub(super) fn is_unused(&self) -> bool {
        self.is_empty() || self.columns.is_empty() && self.skipped.is_empty()
    }

    /// Records that an SDK was skipped.
    pub(super) fn skip(&mut self, peer: &'static str, reason: String) {
        self.skipped.push((peer, reason));
    }

    /// Adds a column from the lines of its driver.
    pub(super) fn add(&mut self, column: Column, lines: Lines) {
        let (lines, missing) = match lines {
            Ok(lines) => (lines, "the driver omitted it".to_owned()),
            Err(reason) => (Vec::new(), reason),
        };
        let mut lines: BTreeMap<_, _> =
            lines.into_iter().map(|line| (line.operation.clone(), line)).collect();
        let outcomes = self
            .rows
            .iter()
            .map(|(operation, bindings)| match lines.remove(*operation) {
                Some(line) => self.judge(column, &line),
                None if !bindings.contains(&column.binding) => Outcome::Absent,
                None => Outcome::Fails(missing.clone()),
            })
            .collect();
        self.columns.push((column, outcomes));
    }

    fn judge(&self, column: Column, line: &Line) -> Outcome {
        let explained =
            |column| self.deviations.iter().find(|known| known.covers(column, &line.operation));
        // A proxy between the two may hide a deviation, so that its entry is not obsolete.
        let direct =
            column.role.split_once('-').and_then(|(_, role)| explained(Column { role, ..column }));
        match (line.ok, explained(column)) {
            (Some(true), None) => Outcome::Works,
            (Some(false), Some(known)) => Outcome::Explained(known.reason.clone()),
            (Some(false), None) => match direct {
                Some(known) => Outcome::Explained(known.reason.clone()),
                None => Outcome::Fails(line.detail.clone()),
            },
            (None, _) => Outcome::Explained(line.detail.clone()),
            (Some(true), Some(_)) => {
                Outcome::Fails("works, but deviations.json expects a failure".to_owned())
            }
        }
    }

    pub(super) fn failures(&self) -> usize {
        self.outcomes().filter(|(_, _, outcome)| matches!(outcome, Outcome::Fails(_))).count()
    }

    pub(super) fn outcomes(&self) -> impl Iterator<Item = (Column, &'static str, &Outcome)> {
        self.columns.iter().flat_map(|(column, outcomes)| {
            let rows = self.rows.iter().zip(outcomes);
            rows.map(|((operation, _), outcome)| (*column, *operation, outcome))
        })
    }

    /// The matrix as data.
    pub(super) fn to_json(&self) -> Value {
        let cells: Vec<_> = self
            .outcomes()
            .map(|(column, operation, outcome)| {
                let (outcome, detail) = match outcome {
                    Outcome::Absent => ("absent", ""),
                    Outcome::Works => ("works", ""),
                    Outcome::Explained(reason) => ("explained", reason.as_str()),
                    Outcome::Fails(detail) => ("fails", detail.as_str()),
                };
                json!({
                    "peer": column.peer, "role": column.role, "binding": column.binding,
                    "operation": operation, "outcome": outcome, "detail": detail,
                })
            })
            .collect();
        let skipped: Vec<_> = self
            .skipped
            .iter()
            .map(|(peer, reason)| json!({"peer": peer, "reason": reason}))
            .collect();
        json!({"cells": cells, "skipped": skipped})
    }
}

impl Deviation {
    fn covers(&self, column: Column, operation: &str) -> bool {
        let binding = self.binding == "*" || self.binding == column.binding;
        binding
            && self.sdk == column.peer
            && self.role == column.role
            && self.operation == operation
    }
}

/// Reads the known deviations.
pub(super) fn deviations(path: &Path) -> Result<Vec<Deviation>> {
    serde_json::from_str(&workspace::read(path)?)
        .map_err(|error| format!("{}: {error}", workspace::relative(path)).into())
}
