//! A matrix as people read it: a table, and below it the reasons.

use std::fmt;

use super::{
    BINDINGS,
    matrix::{Column, Matrix, Outcome},
};

/// As much of a detail as is printed, in characters; the report has all of it.
const DETAIL: usize = 400;

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.columns.is_empty() {
            self.table(f)?;
        }
        for (Column { peer, role, binding }, operation, outcome) in self.outcomes() {
            let place = format!("{peer} {role}, {binding}, {operation}");
            match outcome {
                Outcome::Absent | Outcome::Works => {}
                Outcome::Explained(reason) => writeln!(f, "– {place}: {reason}")?,
                Outcome::Fails(detail) => writeln!(f, "✗ {place}: {}", line(detail))?,
            }
        }
        for (peer, reason) in &self.skipped {
            writeln!(f, "SKIPPED {peer}: {reason}")?;
        }
        let count = |mark| self.outcomes().filter(|(.., outcome)| outcome.mark() == mark).count();
        writeln!(f, "{} work, {} explained, {} fail", count("✓"), count("–"), self.failures())
    }
}

impl Matrix {
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        write!(f, "{:name$}", "")?;
        for group in self.groups() {
            let Column { peer, role, .. } = group[0].0;
            let title = match role {
                "client" => format!("{peer} calls us"),
                _ => format!("we call {peer}"),
            };
            // What is below it: the bindings, with a blank between two.
            let width: usize = group.iter().map(|(column, _)| head(column).len() + 1).sum();
            write!(f, " | {title:0$}", width - 1)?;
        }
        write!(f, "\n{:name$}", "")?;
        for group in self.groups() {
            write!(f, " |")?;
            for (column, _) in group {
                write!(f, " {}", head(column))?;
            }
        }
        writeln!(f)?;
        for (row, (operation, _)) in self.rows.iter().enumerate() {
            write!(f, "{operation:name$}")?;
            for group in self.groups() {
                write!(f, " |")?;
                for (column, outcomes) in group {
                    write!(f, " {:^1$}", outcomes[row].mark(), head(column).len())?;
                }
            }
            writeln!(f)?;
        }
        writeln!(f)
    }

    /// The columns, those of one peer in one role together.
    fn groups(&self) -> impl Iterator<Item = &[(Column, Vec<Outcome>)]> {
        self.columns.chunk_by(|(one, _), (next, _)| one.peer == next.peer && one.role == next.role)
    }
}

impl Outcome {
    fn mark(&self) -> &'static str {
        match self {
            Self::Absent => "",
            Self::Works => "✓",
            Self::Explained(_) => "–",
            Self::Fails(_) => "✗",
        }
    }
}

/// What stands above a column.
fn head(column: &Column) -> &'static str {
    let [rpc, rest, _] = BINDINGS;
    match column.binding {
        binding if binding == rpc => "jsonrpc",
        binding if binding == rest => "rest",
        _ => "grpc",
    }
}

/// The beginning of a text, on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(DETAIL).collect()
}
