//! The settings file of a server: TOML, in tables.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use serde::Serialize;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Key,
    key::{KEYS, SECTIONS, Section},
    secret::{self, Found},
    table::{Row, TABLES, Table},
};
use crate::failure::Failure;

/// Something in the file that can't be used.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    file: String,
    line: usize,
    key: String,
    message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, key, message } = self;
        if key.is_empty() {
            write!(f, "{file}:{line}: {message}")
        } else {
            write!(f, "{file}:{line}: {key}: {message}")
        }
    }
}

/// Everything that can't be used, in one failure.
pub(super) fn failure(problems: &[Problem]) -> Failure {
    let said: Vec<_> = problems.iter().map(Problem::to_string).collect();
    Failure::usage(said.join("; "))
        .with_hint("`a2a serve --print-settings` shows every key with its value")
        .with_details(serde_json::json!({ "problems": problems }))
}

/// A setting that the file gives.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) key: &'static Key,
    pub(super) found: Found,
    pub(super) number: usize,
}

/// A settings file, read.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) lines: Vec<Line>,
    pub(super) rows: Vec<Row>,
    pub(super) problems: Vec<Problem>,
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A usage failure for a file that can't be read or is no TOML. What is wrong with a key is
    /// among the problems.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("--settings {} can't be read: {error}", path.display()))
        })?;
        let (lines, rows, problems) = (Vec::new(), Vec::new(), Vec::new());
        let mut reader = Reader { path, text: &text, lines, rows, problems };
        let root = DeTable::parse(&text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            failure(&[reader.problem(at, String::new(), error.message().to_owned())])
        })?;
        reader.root(root.get_ref());
        let Reader { lines, mut rows, problems, .. } = reader;
        rows.sort_by_key(|row| row.line);
        Ok(Self { path: path.to_owned(), lines, rows, problems })
    }

    /// What is wrong with a line that was read.
    pub(super) fn problem(&self, line: &Line, message: String) -> Problem {
        Problem {
            file: self.path.display().to_string(),
            line: line.number,
            key: line.key.path(),
            message,
        }
    }

    /// Returns whether a secret stands in the file itself, and others than its owner may read it.
    pub(super) fn shows_secrets(&self) -> bool {
        let holds_one = self.lines.iter().any(|line| {
            line.found.reference.is_none() && !line.key.form.may_show(&line.found.texts)
        });
        let holds_one = holds_one || self.rows.iter().any(Row::holds_a_secret);
        holds_one && secret::is_open(&self.path)
    }
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    lines: Vec<Line>,
    rows: Vec<Row>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn root(&mut self, root: &DeTable<'_>) {
        for (name, value) in root {
            let section = SECTIONS.iter().find(|section| section.name == name.get_ref());
            match (section, value.get_ref()) {
                (Some(section), DeValue::Table(values)) => self.section(section.name, values),
                (Some(Section { name: section, .. }), _) => {
                    let said = format!("expected the table [{section}]");
                    self.wrong(name, (*section).to_owned(), said);
                }
                (None, _) => self.unknown(name, name.get_ref()),
            }
        }
    }

    fn section(&mut self, section: &'static str, values: &DeTable<'_>) {
        for (name, value) in values {
            let path = format!("{section}.{}", name.get_ref());
            if let Some(table) = TABLES.iter().find(|table| table.path() == path) {
                self.rows(table, name, value);
                continue;
            }
            let known = KEYS.iter().filter(|key| key.section == section).find_map(|key| {
                let is_file_of = key.form.is_secret()
                    && name.get_ref().strip_suffix(secret::FILE_SUFFIX) == Some(key.name);
                (is_file_of || key.name == name.get_ref()).then_some((key, is_file_of))
            });
            let Some((key, is_in_file)) = known else {
                self.unknown(name, &path);
                continue;
            };
            match secret::read(key.name, key.form, is_in_file, value.get_ref()) {
                Ok(found) => self.line(name, key, found),
                Err(message) => self.wrong(value, path, message),
            }
        }
    }

    /// Reads a table that may stand there many times, and one that stands there once.
    fn rows(
        &mut self,
        table: &'static Table,
        name: &Spanned<impl Sized>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let many = match value.get_ref() {
            DeValue::Table(_) => std::slice::from_ref(value),
            DeValue::Array(many) => &many[..],
            _ => &[],
        };
        let rows = many.iter().map(|row| match row.get_ref() {
            DeValue::Table(values) => Some((row.span().start, values)),
            _ => None,
        });
        let Some(rows) = rows.collect::<Option<Vec<_>>>().filter(|rows| !rows.is_empty()) else {
            let path = table.path();
            return self.wrong(name, path.clone(), format!("expected tables: [[{path}]]"));
        };
        for (at, values) in rows {
            match Row::read(table, values, (at, self.number(at)), self.path.to_owned()) {
                Ok(row) => self.rows.push(row),
                Err(faults) => {
                    for (at, key, message) in faults {
                        let problem = self.problem(at, key, message);
                        self.problems.push(problem);
                    }
                }
            }
        }
    }

    fn line(&mut self, name: &Spanned<impl Sized>, key: &'static Key, found: Found) {
        let number = self.number(name.span().start);
        if let Some(other) = self.lines.iter().find(|line| line.key.path() == key.path()) {
            let message = format!("is given on line {} already", other.number);
            let problem = self.problem(name.span().start, key.path(), message);
            self.problems.push(problem);
        }
        self.lines.push(Line { key, found, number });
    }

    fn unknown(&mut self, name: &Spanned<impl Sized>, path: &str) {
        let message = match super::suggestion::of(path) {
            Some(meant) => format!("no such key: did you mean {meant}?"),
            None => "no such key".to_owned(),
        };
        self.wrong(name, path.to_owned(), message);
    }

    fn wrong(&mut self, place: &Spanned<impl Sized>, key: String, message: String) {
        let problem = self.problem(place.span().start, key, message);
        self.problems.push(problem);
    }

    fn problem(&self, at: usize, key: String, message: String) -> Problem {
        Problem { file: self.path.display().to_string(), line: self.number(at), key, message }
    }

    /// The number of the line that a byte is on.
    fn number(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }
}
