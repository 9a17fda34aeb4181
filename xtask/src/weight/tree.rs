//! Counts the crates of a dependency tree.

use std::collections::BTreeSet;

use super::table::Tree;
use crate::{Result, workspace};

/// Returns the number of packages on this platform; two versions of one count twice.
pub(super) fn count(tree: &Tree) -> Result<usize> {
    let mut command = workspace::cargo();
    command.args(["tree", "--locked", "--edges", "normal", "--prefix", "none"]);
    command.args(["--package", &tree.package]);
    if let Some(features) = &tree.features {
        command.args(["--no-default-features", "--features", &features.join(",")]);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(unique(&String::from_utf8(output.stdout)?))
}

/// Lines repeat with `(*)` behind them.
fn unique(tree: &str) -> usize {
    tree.lines().map(|line| line.trim_end_matches(" (*)")).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_crates_count_once_and_versions_separately() {
        assert_eq!(unique("a v1.0.0\nb v1.0.0\nb v1.0.0 (*)\nb v2.0.0\n"), 3);
    }
}
