//! The checked-in figures.

use std::fmt;

use serde::Deserialize;

/// The path of the table, from the root of the workspace.
pub(super) const TABLE: &str = "xtask/weight.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Lines of Rust that each crate may have.
    pub(super) lines: Vec<Lines>,
    #[serde(rename = "tree")]
    pub(super) trees: Vec<Tree>,
    #[serde(rename = "profile")]
    pub(super) profiles: Vec<Profile>,
}

/// The lines of Rust of a crate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lines {
    pub(super) name: String,
    pub(super) production: usize,
    pub(super) tests: usize,
    /// Files of production of 50 lines or fewer.
    pub(super) small_files: usize,
}

/// The normal dependencies of a package with some features, itself included.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tree {
    pub(super) name: String,
    pub(super) package: String,
    /// The features, instead of the default ones if given.
    pub(super) features: Option<Vec<String>>,
    pub(super) crates: usize,
    /// The goal: fewer crates than this.
    pub(super) below: Option<usize>,
}

/// The program `a2a` built with a profile. A figure of 0 has not been measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    pub(super) name: String,
    /// User and system time of a clean build, in seconds.
    pub(super) cpu_seconds: u64,
    /// How much of it there may be, and how much there should be.
    pub(super) limit_seconds: Option<u64>,
    pub(super) goal_seconds: Option<u64>,
    /// Size of the executable, in kB.
    pub(super) size_kb: u64,
    /// Time until `a2a serve` listens, in ms; the best of ten.
    pub(super) start_ms: f64,
    /// Resident set of `a2a serve` then, in kB.
    pub(super) resident_kb: u64,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Written by `cargo xtask weight --bless`; CI compares the counts of lines and crates."
        )?;
        writeln!(f, "\nlines = [")?;
        for Lines { name, production, tests, small_files } in &self.lines {
            write!(f, "    {{ name = {name:?}, production = {production}, tests = {tests}, ")?;
            writeln!(f, "small_files = {small_files} }},")?;
        }
        writeln!(f, "]")?;
        for Tree { name, package, features, crates, below } in &self.trees {
            writeln!(f, "\n[[tree]]\nname = {name:?}\npackage = {package:?}")?;
            if let Some(features) = features {
                writeln!(f, "features = {features:?}")?;
            }
            writeln!(f, "crates = {crates}")?;
            if let Some(below) = below {
                writeln!(f, "below = {below}")?;
            }
        }
        for profile in &self.profiles {
            writeln!(f, "\n[[profile]]\nname = {:?}", profile.name)?;
            writeln!(f, "cpu_seconds = {}", profile.cpu_seconds)?;
            for (key, seconds) in
                [("limit_seconds", profile.limit_seconds), ("goal_seconds", profile.goal_seconds)]
            {
                if let Some(seconds) = seconds {
                    writeln!(f, "{key} = {seconds}")?;
                }
            }
            writeln!(f, "size_kb = {}\nstart_ms = {:?}", profile.size_kb, profile.start_ms)?;
            writeln!(f, "resident_kb = {}", profile.resident_kb)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_read_as_written() {
        let text = crate::workspace::read(&crate::workspace::root().join(TABLE)).unwrap();
        let table: Table = toml::from_str(&text).unwrap();
        assert_eq!(table.to_string(), text);
    }
}
