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
    key::{KEYS, SECTIONS},
    secret::{self, Found},
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
        let mut reader = Reader { path, text: &text, lines: Vec::new(), problems: Vec::new() };
        let root = DeTable::parse(&text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            failure(&[reader.problem(at, String::new(), error.message().to_owned())])
        })?;
        reader.root(root.get_ref());
        let Reader { lines, problems, .. } = reader;
        Ok(Self { path: path.to_owned(), lines, problems })
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
        holds_one && secret::is_open(&self.path)
    }
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    lines: Vec<Line>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn root(&mut self, root: &DeTable<'_>) {
        for (name, value) in root {
            let is_section = SECTIONS.iter().any(|section| section.name == name.get_ref());
            match value.get_ref() {
                DeValue::Table(table) if is_section => self.section(name.get_ref(), table),
                _ if is_section => {
                    let path = name.get_ref().clone().into_owned();
                    self.wrong(name, path.clone(), format!("expected the table [{path}]"));
                }
                _ => self.unknown(name, name.get_ref()),
            }
        }
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let path = format!("{section}.{}", name.get_ref());
            let known = KEYS.iter().filter(|key| key.section == section);
            let mut is_known = false;
            for key in known {
                let whence = if key.name == name.get_ref() {
                    Whence::Here
                } else if is_file_of(name.get_ref(), key) {
                    Whence::File
                } else {
                    continue;
                };
                is_known = true;
                match whence.read(key, value.get_ref()) {
                    Ok(found) => self.line(name, key, found),
                    Err(message) => self.wrong(value, path.clone(), message),
                }
            }
            if !is_known {
                self.unknown(name, &path);
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

/// Where a value is.
enum Whence {
    Here,
    /// In a file that is named here.
    File,
}

impl Whence {
    fn read(&self, key: &Key, value: &DeValue<'_>) -> Result<Found, String> {
        match self {
            Self::Here => {
                let texts = key.form.of_toml(value)?;
                match texts.as_slice() {
                    [text] if key.form.is_secret() => secret::found(key.name, text),
                    _ => Ok(Found { texts, reference: None }),
                }
            }
            Self::File => {
                let path = value.as_str().ok_or("expected the path of a file, in quotes")?;
                secret::of_file(key.name, path)
            }
        }
    }
}

/// Returns whether a name is that of a key with `_file` behind it.
fn is_file_of(name: &str, key: &Key) -> bool {
    key.form.is_secret() && name.strip_suffix(secret::FILE_SUFFIX) == Some(key.name)
}
