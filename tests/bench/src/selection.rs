//! The rows that a run measures.

use std::collections::BTreeSet;

use clap::ValueEnum as _;

use crate::{
    Result,
    rows::{Part, ROWS, Row},
};

/// Rows by the names of parts, and by ids or their first words; all rows without any.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    words: Vec<String>,
}

impl Selection {
    /// # Errors
    ///
    /// A word selects no row.
    pub(crate) fn parse(words: Vec<String>) -> Result<Self> {
        match words.iter().find(|word| !ROWS.iter().any(|row| selects(word, row))) {
            None => Ok(Self { words }),
            Some(word) => {
                let parts = Part::value_variants().iter().map(|part| name(*part));
                let parts = parts.collect::<Vec<_>>().join(", ");
                let ids = ROWS.iter().map(|row| row.id).collect::<Vec<_>>().join(", ");
                Err(format!("--only {word}: expected a part ({parts}) or a row ({ids})"))
            }
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.words.is_empty()
    }

    pub(crate) fn has(&self, row: &Row) -> bool {
        self.is_whole() || self.words.iter().any(|word| selects(word, row))
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &'static Row> {
        ROWS.iter().filter(|row| self.has(row))
    }

    /// Whether any row of a part is wanted.
    pub(crate) fn has_part(&self, part: Part) -> bool {
        self.rows().any(|row| row.part() == part)
    }

    /// The measurements of the rows.
    pub(crate) fn cases(&self) -> BTreeSet<&'static str> {
        self.rows().map(|row| row.case).collect()
    }
}

fn selects(word: &str, row: &Row) -> bool {
    let is_start = |rest: &str| rest.is_empty() || rest.starts_with('.');
    name(row.part()) == word || row.id.strip_prefix(word).is_some_and(is_start)
}

fn name(part: Part) -> String {
    part.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(words: &[&str]) -> Vec<&'static str> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Selection::parse(words).unwrap().rows().map(|row| row.id).collect()
    }

    #[test]
    fn rows_are_selected_by_part_by_id_and_by_the_first_words_of_an_id() {
        assert_eq!(ids(&[]).len(), ROWS.len());
        assert_eq!(ids(&["start"]), ["start", "memory.start"]);
        assert_eq!(ids(&["send.grpc.64", "burst"]), ["send.grpc.64", "burst"]);
        assert_eq!(ids(&["send.grpc"]), ["send.grpc.16", "send.grpc.64"]);
        assert_eq!(ids(&["latency"]), ["latency"]);
    }

    #[test]
    fn single_row_measures_only_its_case() {
        let selection = Selection::parse(vec!["minimum.stream.jsonrpc".into()]).unwrap();
        assert_eq!(selection.cases().into_iter().collect::<Vec<_>>(), ["stream.jsonrpc"]);
        assert!(selection.has_part(Part::Throughput) && !selection.has_part(Part::Tasks));
    }

    #[test]
    fn unknown_row_is_an_error_with_the_known_ones() {
        let error = Selection::parse(vec!["send.ws".into()]).unwrap_err();
        assert!(error.starts_with("--only send.ws: expected a part (throughput, "), "{error}");
        assert!(error.contains("send.jsonrpc.16"), "{error}");
    }
}
