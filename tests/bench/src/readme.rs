//! The figures in the README.

use std::{fs, path::Path};

use crate::{
    Result,
    rows::Row,
    server::{A2A, RELEASE, STARTED},
    state::{self, State},
};

/// The start of the list item with the figures.
const START: &str = "- **Measured.**";
/// Maximum length of a line.
const LINE: usize = 100;

/// The rows of the three bindings.
const ROWS: [&str; 3] = ["send.jsonrpc.64", "send.rest.64", "send.grpc.64"];
/// Servers, and what is said about them.
const SERVERS: [(&str, &str); 4] = [
    (A2A, "in memory without a log, with the build profile `dist`"),
    (RELEASE, "with `release`"),
    (STARTED, "as started, with SQLite, log and metrics"),
    ("a2a-lf", "for the official Rust SDK"),
];

/// Replaces the figures in a file, if the rows were measured.
pub(crate) fn update(path: &Path, state: &State) -> Result<()> {
    let Some(item) = item(state) else { return Ok(()) };
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let updated = replaced(&text, &item);
    state::write(path, &updated.ok_or_else(|| format!("{}: no {START}", path.display()))?)
}

/// The text with another list item in the place of the one with figures.
fn replaced(text: &str, item: &str) -> Option<String> {
    let start = text.find(START)?;
    let rest = &text[start..];
    let ends = ["\n- ", "\n\n"].into_iter().filter_map(|end| rest.find(end));
    let end = start + ends.min().unwrap_or(rest.trim_end().len());
    Some(format!("{}{item}{}", &text[..start], &text[end..]))
}

/// The list item, in lines; `None` without any figures.
fn item(state: &State) -> Option<String> {
    let parts = SERVERS.iter().filter_map(|(server, what)| {
        let ratio = |id: &&str| {
            let ratio = state.results.judged(Row::known(id)?, server)?;
            Some(format!("{ratio:.2}"))
        };
        let ratios: Option<Vec<_>> = ROWS.iter().map(ratio).collect();
        let [jsonrpc, rest, grpc] = ratios?.try_into().ok()?;
        Some(format!("{jsonrpc}, {rest} and {grpc} {what}"))
    });
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() {
        return None;
    }
    let text = format!(
        "{START} [Rate](docs/benchmarks.md) of `SendMessage` with 64 in flight, relative to a bare \
         axum or tonic handler, over JSON-RPC, HTTP+JSON and gRPC: {}.",
        parts.join("; ")
    );
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE => {
                *line += " ";
                *line += word;
            }
            // A list item continues with an indent.
            _ => lines.push(if lines.is_empty() { word.to_owned() } else { format!("  {word}") }),
        }
    }
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report::Results, server::FLOOR};

    #[test]
    fn figures_of_the_readme_are_replaced_in_five_lines_at_most() {
        let mut results = Results::default();
        for case in ROWS {
            for (server, rate) in [(FLOOR, 100.0), (A2A, 50.0), (RELEASE, 40.0), (STARTED, 15.0)] {
                results.figure(case, server, 1, rate);
            }
            results.figure(case, "a2a-lf", 1, 35.0);
        }
        let state = State::new(results, &[], &[]);
        let text = "# A2A\n\n- **One.** 1\n- **Measured.** old\n  figures\n- **Two.** 2\n";
        let item = item(&state).unwrap();
        let text = replaced(text, &item).unwrap();
        assert!(text.starts_with("# A2A\n\n- **One.** 1\n- **Measured.** [Rate]"), "{text}");
        assert!(text.ends_with("Rust SDK.\n- **Two.** 2\n"), "{text}");
        let text = text.replace("\n  ", " ");
        let figures = "0.50, 0.50 and 0.50 in memory without a log, with the build profile `dist`; \
                       0.40, 0.40 and 0.40 with `release`; 0.15, 0.15 and 0.15 as started, with \
                       SQLite, log and metrics; 0.35, 0.35 and 0.35 for the official";
        assert!(text.contains(figures), "{text}");
        assert!(item.lines().count() <= 4, "{item}");
        assert!(item.lines().all(|line| line.chars().count() <= LINE), "{item}");
    }

    #[test]
    fn server_without_figures_is_not_mentioned() {
        let mut results = Results::default();
        for case in ROWS {
            results.figure(case, A2A, 1, 50.0);
            results.figure(case, FLOOR, 1, 100.0);
        }
        assert!(item(&State::new(Results::default(), &[], &[])).is_none());
        let item = item(&State::new(results, &[], &[])).unwrap();
        assert!(item.contains("dist") && !item.contains("SQLite"), "{item}");
    }
}
