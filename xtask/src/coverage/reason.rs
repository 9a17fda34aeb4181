//! Why a requirement has no test: a table that is written by hand.

use std::collections::BTreeMap;

use super::{cells, requirement::is_id};
use crate::Result;

/// The kinds of reasons. A new one is added here, so that none is made up in passing.
const CLASSES: [&str; 14] = [
    // Work that is planned and not there yet.
    "later: older revisions",
    "later: security",
    "later: push delivery",
    "later: durable stores",
    "later: observability",
    "later: extensions",
    // Somebody else's duty, which our code can only make possible.
    "agent duty",
    "author duty",
    "operator duty",
    "upstream",
    // Nothing that a test in this repository could show.
    "not testable in process",
    // The text of the draft or of a page, which the release replaced.
    "replaced in 1.0",
    // Allowed, and not done.
    "not taken up",
    // The rule binds those who write about or build the project.
    "project rule",
];

/// Why there is no test.
#[derive(Debug)]
pub(super) struct Reason {
    pub(super) class: &'static str,
    pub(super) text: String,
}

/// Reads the rows `| ids | class | reason |`; ids are single ones or ranges (`R-399..R-413`)
/// with commas between them.
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
            .ok_or_else(|| format!("{ids}: there is no class of reasons {class:?}"))?;
        if text.is_empty() {
            return Err(format!("{ids}: the reason is empty").into());
        }
        for id in expand(ids)? {
            let reason = Reason { class, text: text.clone() };
            if reasons.insert(id.clone(), reason).is_some() {
                return Err(format!("there are two reasons for {id}").into());
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
    fn mistakes_in_the_table_are_named() {
        for (row, says) in [
            ("| R-001 | because | x |", "no class"),
            ("| R-001 | upstream | |", "empty"),
            ("| R-1 | upstream | x |", "neither"),
            ("| R-003..R-001 | upstream | x |", "range"),
            ("| R-001, R-001 | upstream | x |", "two reasons"),
        ] {
            let error = parse(row).unwrap_err().to_string();
            assert!(error.contains(says), "{row}: {error}");
        }
    }
}
