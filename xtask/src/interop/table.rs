//! A matrix as text: a table, followed by the reasons.

use std::fmt;

use super::{
    BINDINGS,
    matrix::{Column, Matrix, Outcome},
};

/// Printed length of a detail, in characters; the report has all of it.
const DETAIL: usize = 400;

/// Maximum width of a table, in characters.
const WIDTH: usize = 120;

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

/// The columns of one peer in one role, with the result of each row.
type Group = [(Column, Vec<Outcome>)];

impl Matrix {
    /// Writes as many columns side by side as fit, and the others below.
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let mut blocks: Vec<Vec<&Group>> = Vec::new();
        let mut left = 0;
        for group in self.groups() {
            let wanted = width(group) + " | ".len();
            match blocks.last_mut() {
                Some(block) if wanted <= left => block.push(group),
                _ => {
                    left = WIDTH.saturating_sub(name);
                    blocks.push(vec![group]);
                }
            }
            left = left.saturating_sub(wanted);
        }
        blocks.iter().try_for_each(|block| self.block(f, name, block))
    }

    fn block(&self, f: &mut fmt::Formatter<'_>, name: usize, groups: &[&Group]) -> fmt::Result {
        let mut line = |first: &str, cells: &dyn Fn(&Group) -> String| {
            write!(f, "{first:name$}")?;
            for group in groups {
                write!(f, " | {:1$}", cells(group), width(group))?;
            }
            writeln!(f)
        };
        line("", &title)?;
        line("", &heads)?;
        for (row, (operation, _)) in self.rows.iter().enumerate() {
            line(operation, &|group| marks(group, row))?;
        }
        writeln!(f)
    }

    fn groups(&self) -> impl Iterator<Item = &Group> {
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

/// The title of a group.
fn title(group: &Group) -> String {
    let Column { peer, role, .. } = group[0].0;
    match role {
        "client" => format!("{peer} calls us"),
        "upstream" => format!("we call {peer} through a proxy"),
        "verifier" => format!("{peer} verifies our cards"),
        "signer" => format!("we verify {peer}'s"),
        "checker" => format!("{peer} checks us"),
        "proxy" => format!("{peer} calls it through a proxy"),
        "proxied-client" => format!("{peer} calls us through a proxy"),
        "nginx-client" => format!("{peer} calls us through nginx"),
        "proxied-server" => format!("a proxy calls {peer}"),
        _ => format!("we call {peer}"),
    }
}

/// The bindings of a group, separated by spaces.
fn heads(group: &Group) -> String {
    group.iter().map(|(column, _)| head(column)).collect::<Vec<_>>().join(" ")
}

/// The results of a row in a group, each mark below its binding.
fn marks(group: &Group, row: usize) -> String {
    let mark = |(column, outcomes): &(Column, Vec<Outcome>)| {
        format!("{:^1$}", outcomes[row].mark(), head(column).len())
    };
    group.iter().map(mark).collect::<Vec<_>>().join(" ")
}

fn width(group: &Group) -> usize {
    title(group).len().max(heads(group).len())
}

/// The title of a column.
fn head(column: &Column) -> &'static str {
    let [rpc, rest, grpc] = BINDINGS;
    match column.binding {
        binding if binding == rpc => "jsonrpc",
        binding if binding == rest => "rest",
        binding if binding == grpc => "grpc",
        algorithm => algorithm,
    }
}

/// The beginning of a text, on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(DETAIL).collect()
}
