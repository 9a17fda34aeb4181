//! The files of a package.

use std::fs;

use super::published::Package;
use crate::{Result, workspace};

/// Files that every package holds.
const REQUIRED: [&str; 3] = ["Cargo.toml", "LICENSE", "README.md"];

/// Folders that no package holds: tests outside of `src` use crates that are not published.
const EXCLUDED: [&str; 2] = ["tests/", "benches/"];

/// The largest file so far is the JSON Schema.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The start of the names of crates that are not published.
const UNPUBLISHED: &str = "a2a_test";

/// Every missing, unwanted or large file, and those that use crates that are not published.
pub(super) fn faults(package: &Package) -> Result<Vec<String>> {
    let mut command = workspace::cargo();
    command.args(["package", "--list", "--allow-dirty", "--quiet", "-p", &package.name]);
    let list = workspace::output(&mut command)?;
    let files: Vec<&str> = list.lines().collect();
    let mut faults = Vec::new();
    for file in REQUIRED {
        if !files.contains(&file) {
            faults.push(format!("{}: {file} is not in the package", package.name));
        }
    }
    for file in files {
        if EXCLUDED.iter().any(|folder| file.starts_with(folder)) {
            faults.push(format!("{}: {file} does not belong in the package", package.name));
        }
        // Without a size are files that Cargo generates.
        let bytes = fs::metadata(package.folder().join(file)).map_or(0, |data| data.len());
        if bytes > MAX_FILE_BYTES {
            faults.push(format!("{}: {file} has {bytes} bytes", package.name));
        }
        if file.ends_with(".rs")
            && workspace::read(&package.folder().join(file))?.contains(UNPUBLISHED)
        {
            faults.push(format!("{}: {file} uses a crate that is not published", package.name));
        }
    }
    Ok(faults)
}
