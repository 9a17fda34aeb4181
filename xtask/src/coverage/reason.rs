//! Reasons for requirements without a test: a table that is maintained by hand.

use std::collections::BTreeMap;

use super::{cells, requirement::is_id};
use crate::Result;

/// The classes of reasons. The list is closed, so that new ones are deliberate.
const CLASSES: [&str; 14] = [
    // Planned work.
    "later: older revisions",
    "later: security",
    "later: push delivery",
    "later: durable stores",
    "later: observability",
    "later: extensions",
    // The duty of others, which our code can only enable.
    "agent duty",
    "author duty",
    "operator duty",
    "upstream",
    // Not observable by a test in this repository.
    "not testable in process",
    // Text of the draft or of a page, replaced by the release.
    "replaced in 1.0",
    // Optional, and not implemented.
    "not taken up",
    // A rule for authors of documentation or of the build.
    "project rule",
];

/// The reason for a missing test.
#[derive(Debug)]
pub(super) struct Reason {
    pub(super) class: &'static str,
    pub(super) text: String,
}

/// Parses the rows `| ids | class | reason |`; ids are a comma-separated list of ids and ranges
/// (`R-399..R-413`).
pub(super) fn parse(markdown: &str) -> Result<BTreeMap<String, Reason>> {
    let mut reasons = BTreeMap::new();
    for line in markdown.lines() {
        let Some(row) = cells(line) else { continue };
        let [ids, class, text] = row.as_slice() else { continue };
        if !ids.starts_with("R-") {
            continue;
        }
        let class = CLASSES
            .into_iter()
            .find(|known| known == class)
            .ok_or_else(|| format!("{ids}: unknown class {class:?}"))?;
        if text.is_empty() {
            return Err(format!("{ids}: the reason is empty").into());
        }
        for id in expand(ids)? {
            let reason = Reason { class, text: text.clone() };
            if reasons.insert(id.clone(), reason).is_some() {
                return Err(format!("{id} has two reasons").into());
            }
        }
    }
    Ok(reasons)
}

/// Each id of a list with ranges.
fn expand(ids: &str) -> Result<Vec<String>> {
    let mut expanded = Vec::new();
    for piece in ids.split(',').map(str::trim) {
        let (first, last) = piece.split_once("..").unwrap_or((piece, piece));
        if !is_id(first) || !is_id(last) {
            return Err(format!("{piece:?} is neither an id nor a range of ids").into());
        }
        let numbers = first[2..].parse::<u16>()?..=last[2..].parse::<u16>()?;
        if numbers.is_empty() {
            return Err(format!("the range {piece} is empty").into());
        }
        expanded.extend(numbers.map(|number| format!("R-{number:03}")));
    }
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_may_name_ranges() {
        let reasons = parse("| R-007..R-009, R-011 | upstream | theirs |").unwrap();
        let ids: Vec<_> = reasons.keys().map(String::as_str).collect();
        assert_eq!(ids, ["R-007", "R-008", "R-009", "R-011"]);
    }

    #[test]
    fn errors_in_the_table_name_the_row() {
        for (row, expected) in [
            ("| R-001 | because | x |", "unknown class"),
            ("| R-001 | upstream | |", "empty"),
            ("| R-1 | upstream | x |", "neither"),
            ("| R-003..R-001 | upstream | x |", "range"),
            ("| R-001, R-001 | upstream | x |", "two reasons"),
        ] {
            let error = parse(row).unwrap_err().to_string();
            assert!(error.contains(expected), "{row}: {error}");
        }
    }
}
