//! The README of a package: it names the dependency, every feature and the Rust version.

use super::published::Package;
use crate::{Result, workspace};

/// Every omission.
pub(super) fn faults(package: &Package) -> Result<Vec<String>> {
    let text = workspace::read(&package.folder().join("README.md"))?;
    Ok(omissions(package, &text)
        .into_iter()
        .map(|fault| format!("{}/README.md: {fault}", package.name))
        .collect())
}

fn omissions(package: &Package, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut version = package.version.split('.');
    let version = format!("{}.{}", version.next().unwrap_or("0"), version.next().unwrap_or("0"));
    for line in text.lines().filter(|line| line.starts_with("a2a-")) {
        let is_current = line.split_once(" = ").is_some_and(|(_, right)| {
            right == format!("\"{version}\"") || right.contains(&format!("version = \"{version}\""))
        });
        if !is_current {
            faults.push(format!("`{line}` does not name the version {version}"));
        }
    }
    for feature in package.features.keys().filter(|feature| *feature != "default") {
        if !text.contains(&format!("`{feature}`")) {
            faults.push(format!("the feature `{feature}` is missing"));
        }
    }
    if let Some(rust) = &package.rust_version
        && !text.contains(&format!("Requires Rust {rust} or newer"))
    {
        faults.push(format!("`Requires Rust {rust} or newer` is missing"));
    }
    faults
}
