//! Settings files: one `A2ACLI_NAME=value` a line, as in the `.env` files of other tools.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    path::Path,
};

use super::variables::PREFIX;
use crate::failure::Failure;

/// Maximum size of a settings file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The variables of a file that are settings of this tool, each with its line.
///
/// A line is `NAME=value`, with or without `export ` before it. A `#` at the start of a line, or
/// after a space, begins a comment. A value may be in one pair of single or double quotes, in which
/// `#` and spaces are kept. There are no escapes, and no variables are expanded. Lines of other
/// tools are ignored; of several lines for one name, the last one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EnvFile(BTreeMap<String, (usize, String)>);

impl EnvFile {
    /// Reads a file.
    /// Errors: a usage failure that names the file, and the line if it is malformed.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        Self::read_open(fs::File::open(path), path)
    }

    /// Reads a file that was opened.
    pub(super) fn read_open(file: io::Result<fs::File>, path: &Path) -> Result<Self, Failure> {
        let text = file.and_then(text).map_err(|error| {
            Failure::usage(format!("failed to read {}: {error}", path.display()))
        })?;
        Self::parse(&text).map_err(|(line, problem)| {
            Failure::usage(format!("{}:{line}: {problem}", path.display()))
        })
    }

    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut variables = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let line = match line.strip_prefix("export") {
                Some(rest) if rest.starts_with([' ', '\t']) => rest.trim_start(),
                _ => line,
            };
            if !line.starts_with(PREFIX) {
                continue;
            }
            let problem = |problem: String| (index + 1, problem);
            let name = line.split(['=', ' ', '\t']).next().unwrap_or(line);
            let (_, value) = line
                .split_once('=')
                .filter(|(before, _)| before.trim_end() == name)
                .ok_or_else(|| problem(format!("expected {name}=value")))?;
            let value = unquoted(value.trim())
                .ok_or_else(|| problem(format!("{name}: missing closing quote")))?;
            variables.insert(name.to_owned(), (index + 1, value.to_owned()));
        }
        Ok(Self(variables))
    }

    /// Returns whether the file has no settings of this tool.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The line and the value of a variable. An empty value counts as unset.
    pub(super) fn get(&self, name: &str) -> Option<(usize, &str)> {
        let (line, value) = self.0.get(name)?;
        Some((*line, value.as_str())).filter(|(_, value)| !value.is_empty())
    }
}

fn text(file: fs::File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) {
        return Err(io::Error::other(format!("larger than {MAX_BYTES} bytes")));
    }
    // Values of other tools may be in any encoding.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value without quotes and comment; `None` if the closing quote is missing.
fn unquoted(value: &str) -> Option<&str> {
    let Some(quote) = value.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
        let comment = value.match_indices('#').find(|(at, _)| {
            let before = &value[..*at];
            before.is_empty() || before.ends_with([' ', '\t'])
        });
        return Some(comment.map_or(value, |(at, _)| value[..at].trim_end()));
    };
    let content = &value[quote.len_utf8()..];
    // Only a comment follows the closing quote, so that JSON can be in quotes.
    content.match_indices(quote).find_map(|(at, _)| {
        let rest = content[at + quote.len_utf8()..].trim_start();
        (rest.is_empty() || rest.starts_with('#')).then(|| &content[..at])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(line: &str) -> Option<String> {
        let file = EnvFile::parse(line).unwrap();
        file.get("A2ACLI_BEARER").map(|(_, value)| value.to_owned())
    }

    #[test]
    fn value_is_read_without_quotes_comment_and_export() {
        for (line, expected) in [
            ("A2ACLI_BEARER=t0ken", "t0ken"),
            ("  export A2ACLI_BEARER = t0ken  ", "t0ken"),
            ("\u{feff}A2ACLI_BEARER=t0ken\r\n", "t0ken"),
            ("A2ACLI_BEARER=t0ken # of Ann", "t0ken"),
            ("A2ACLI_BEARER=t0#ken", "t0#ken"),
            ("A2ACLI_BEARER=\"t0 # ken\" # of Ann", "t0 # ken"),
            ("A2ACLI_BEARER='t0\"ken'", "t0\"ken"),
            (r#"A2ACLI_BEARER='{"a": "b"}'"#, r#"{"a": "b"}"#),
            (r#"A2ACLI_BEARER="{"a":"b"}""#, r#"{"a":"b"}"#),
            (r"A2ACLI_BEARER=$HOME\n${X}", r"$HOME\n${X}"),
            ("A2ACLI_BEARER=a=b", "a=b"),
            ("A2ACLI_BEARER=one\nA2ACLI_BEARER=two", "two"),
        ] {
            assert_eq!(value(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn lines_of_other_tools_are_ignored() {
        for line in [
            "",
            "# A2ACLI_BEARER=t0ken",
            "DATABASE_URL='unclosed",
            "exportA2ACLI_BEARER=t0ken",
            "A2ACLI_BEARER_2=x",
            "A2ACLI_BEARER=",
            "A2ACLI_BEARER= # later",
            "not a variable",
        ] {
            assert_eq!(value(line), None, "{line}");
        }
    }

    #[test]
    fn malformed_line_is_named() {
        for (text, line, named) in [
            ("X=1\nA2ACLI_BEARER", 2, "expected A2ACLI_BEARER=value"),
            ("A2ACLI_BEARER t0ken=1", 1, "expected A2ACLI_BEARER=value"),
            ("\n\nA2ACLI_BEARER=\"t0ken", 3, "A2ACLI_BEARER: missing closing quote"),
            ("A2ACLI_BEARER='a' b", 1, "A2ACLI_BEARER: missing closing quote"),
        ] {
            assert_eq!(EnvFile::parse(text), Err((line, named.to_owned())), "{text}");
        }
    }

    #[test]
    fn file_that_is_too_large_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".env");
        fs::write(&path, "#".repeat((1 << 20) + 1)).unwrap();
        let failure = EnvFile::read(&path).unwrap_err();
        assert!(failure.message().contains("larger than 1048576 bytes"), "{failure}");
    }
}
