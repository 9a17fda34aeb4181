//! What the tests observed: bindings, agents, error codes and defaults.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;

use crate::{Result, workspace};

/// A line of an evidence file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    test: String,
    agent: Option<String>,
    binding: Option<String>,
    code: Option<String>,
    exit: Option<i32>,
    default: Option<String>,
    shipped: Option<String>,
    overridden: Option<String>,
}

/// The evidence of all runs.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// By test.
    pub(super) tests: BTreeMap<String, Reach>,
    /// By code and exit status.
    pub(super) codes: BTreeMap<(String, i32), BTreeSet<String>>,
    /// By the name of the default.
    pub(super) defaults: BTreeMap<String, Observed>,
}

/// What a test called.
#[derive(Debug, Default)]
pub(super) struct Reach {
    pub(super) agents: BTreeSet<String>,
    pub(super) bindings: BTreeSet<String>,
}

/// A default of `DEFAULT_001`, as a test observed it.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) tests: BTreeSet<String>,
    pub(super) shipped: BTreeSet<String>,
    pub(super) overridden: BTreeSet<String>,
}

impl Evidence {
    /// Adds the lines of a file.
    pub(super) fn read(&mut self, file: &Path) -> Result {
        let name = workspace::relative(file);
        for (number, line) in workspace::read(file)?.lines().enumerate() {
            let line = serde_json::from_str(line)
                .map_err(|error| format!("{name}, line {}: {error}", number + 1))?;
            self.add(line);
        }
        Ok(())
    }

    fn add(&mut self, line: Line) {
        let reach = self.tests.entry(line.test.clone()).or_default();
        reach.agents.extend(line.agent);
        reach.bindings.extend(line.binding);
        if let (Some(code), Some(exit)) = (line.code, line.exit) {
            self.codes.entry((code, exit)).or_default().insert(line.test.clone());
        }
        if let Some(default) = line.default {
            let observed = self.defaults.entry(default).or_default();
            observed.tests.insert(line.test);
            observed.shipped.extend(line.shipped);
            observed.overridden.extend(line.overridden);
        }
    }

    /// Evidence of these lines.
    #[cfg(test)]
    pub(super) fn of(lines: &[serde_json::Value]) -> Self {
        let mut evidence = Self::default();
        for line in lines {
            evidence.add(serde_json::from_value(line.clone()).unwrap());
        }
        evidence
    }
}
