//! The number of responses, as a table.

use std::{collections::BTreeMap, fmt};

use a2a_core::Operation;

use super::Dialect;

/// The number of correct responses by operation and dialect.
#[derive(Debug, Default)]
pub(super) struct Table {
    store: String,
    cells: BTreeMap<(&'static str, Dialect), usize>,
}

impl Table {
    pub(super) fn new(store: impl Into<String>) -> Self {
        Self { store: store.into(), cells: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, operation: Operation, dialect: Dialect) {
        *self.cells.entry((operation.name(), dialect)).or_default() += 1;
    }

    pub(super) fn total(&self) -> usize {
        self.cells.values().sum()
    }
}

/// The expected response to another owner.
fn expected(operation: Operation) -> &'static str {
    match operation {
        Operation::ListTasks => "empty",
        Operation::GetExtendedAgentCard => "the same",
        _ => "not found",
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nisolation with {}: responses to other owners", self.store)?;
        write!(f, "{:<34}", "")?;
        for dialect in Dialect::ALL {
            write!(f, " {:>15}", dialect.name())?;
        }
        writeln!(f)?;
        for operation in Operation::ALL {
            write!(f, "{:<34}", operation.name())?;
            for dialect in Dialect::ALL {
                let cell = match self.cells.get(&(operation.name(), dialect)) {
                    Some(count) => format!("{} {count}", expected(operation)),
                    None => "-".to_owned(),
                };
                write!(f, " {cell:>15}")?;
            }
            writeln!(f)?;
        }
        let cells = self.cells.len();
        writeln!(
            f,
            "{}: {} responses in {cells} cells, all as for unknown tasks",
            self.store,
            self.total()
        )
    }
}
