//! The code map in docs/development/architecture.md leads to every source file, and to nothing else.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Result, workspace};

const MAP: &str = "docs/development/architecture.md";

/// Every source file that no row of its crate's table covers, and every row of a missing file.
pub(super) fn faults() -> Result<Vec<String>> {
    let rows = rows(&workspace::read(&workspace::root().join(MAP))?);
    let mut files = BTreeMap::<String, BTreeSet<String>>::new();
    for path in workspace::files(&workspace::root().join("crates"))? {
        let name = workspace::relative(&path);
        let Some((package, file)) =
            name.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
        else {
            continue;
        };
        if file.ends_with(".rs") {
            files.entry(package.to_owned()).or_default().insert(file.to_owned());
        }
    }
    Ok(compare(&rows, &files))
}

/// The paths in the tables of the code map, by crate.
fn rows(map: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut rows = BTreeMap::<String, BTreeSet<String>>::new();
    let mut packages = Vec::new();
    for line in map.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            let names = heading.trim_start_matches('#').split(',').map(str::trim);
            packages = names.filter(|name| name.starts_with("a2a")).map(str::to_owned).collect();
        }
        let Some((paths, _)) = line.strip_prefix("| ").and_then(|row| row.split_once(" |")) else {
            continue;
        };
        let paths: Vec<_> = paths.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        for package in &packages {
            rows.entry(package.clone()).or_default().extend(paths.iter().cloned());
        }
    }
    rows
}

fn compare(
    rows_of: &BTreeMap<String, BTreeSet<String>>,
    files_of: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<String> {
    let nothing = BTreeSet::new();
    let mut faults = Vec::new();
    for (package, files) in files_of {
        let rows = rows_of.get(package).unwrap_or(&nothing);
        let uncovered = files.iter().filter(|file| !is_covered(file, rows));
        faults
            .extend(uncovered.map(|file| format!("{MAP}: no row for crates/{package}/src/{file}")));
        // A section about several crates may have rows for some of them.
        let elsewhere = |row: &String| {
            rows_of.iter().any(|(other, rows)| {
                rows.contains(row) && files_of.get(other).is_some_and(|files| exists(row, files))
            })
        };
        let gone = rows.iter().filter(|row| !row.starts_with("build") && !elsewhere(row));
        faults.extend(gone.map(|row| format!("{MAP}: {package} has no {row}")));
    }
    faults
}

/// Returns whether a row names the file, or a folder that it is in. Roots of crates and of
/// folders need none.
fn is_covered(file: &str, rows: &BTreeSet<String>) -> bool {
    let is_root = matches!(file, "lib.rs" | "main.rs");
    let of_folder = file.strip_suffix(".rs").map(|folder| format!("{folder}/"));
    is_root
        || rows.contains(file)
        || rows.iter().any(|row| row.ends_with('/') && file.starts_with(row.as_str()))
        || of_folder.is_some_and(|folder| rows.contains(&folder))
}

fn exists(row: &str, files: &BTreeSet<String>) -> bool {
    files.iter().any(|file| file == row || row.ends_with('/') && file.starts_with(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(map: &str, files: &[&str]) -> Vec<String> {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        compare(&rows(map), &BTreeMap::from([("a2a-x".to_owned(), files)]))
    }

    #[test]
    fn files_are_covered_by_their_row_or_that_of_their_folder() {
        let map = "### a2a-x\n\n| File | Contents |\n|---|---|\n| `one.rs`, `two/` | both |\n";
        assert_eq!(found(map, &["lib.rs", "one.rs", "two.rs", "two/deep/three.rs"]), [""; 0]);
    }

    #[test]
    fn files_without_a_row_and_rows_without_a_file_are_faults() {
        let map = "### a2a-x\n| `gone.rs` | x |\n### a2a-y\n| `one.rs` | other crate |\n";
        let expected = [
            format!("{MAP}: no row for crates/a2a-x/src/one.rs"),
            format!("{MAP}: a2a-x has no gone.rs"),
        ];
        assert_eq!(found(map, &["one.rs"]), expected);
    }
}
