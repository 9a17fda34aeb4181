//! Reading JSON, with the path of an invalid member.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, error::Category};
use serde_path_to_error::Error as Tracked;

use crate::{Error, ErrorKind, Violation};

// Generic functions are compiled once per type and crate, so what does not depend on the type is in
// functions of its own.

/// Reads a value from JSON.
///
/// # Errors
///
/// [`ErrorKind::ParseError`] for malformed JSON, text that is not UTF-8, or more than 128 levels of
/// nesting; [`ErrorKind::InvalidParams`] with the path of the invalid member.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    // UTF-8 is validated once for the whole text; `serde_json::from_slice` validates each string.
    from_text(str::from_utf8(json).map_err(|error| parse_error(&error))?)
}

/// Reads a value from the text of JSON.
pub(super) fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| {
        if let Some(error) = malformed(text, &error) {
            return error;
        }
        // Tracking the path more than doubles the parsing time, so it is only done after an error.
        let mut deserializer = serde_json::Deserializer::from_str(text);
        match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
            Ok(_) => parse_error(&error),
            Err(tracked) => invalid(tracked),
        }
    })
}

/// Reads a value from JSON that has been parsed.
///
/// # Errors
///
/// [`ErrorKind::InvalidParams`] with the path of the invalid member.
pub fn from_value<T: DeserializeOwned>(json: &Value) -> Result<T, Error> {
    T::deserialize(json).map_err(|error| match serde_path_to_error::deserialize::<_, T>(json) {
        Ok(_) => parse_error(&error),
        Err(tracked) => invalid(tracked),
    })
}

#[cold]
fn parse_error(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::ParseError, format!("invalid JSON payload: {error}"))
}

/// The error for malformed JSON. An invalid member may precede what is malformed.
#[cold]
fn malformed(text: &str, error: &serde_json::Error) -> Option<Error> {
    if matches!(error.classify(), Category::Syntax | Category::Eof | Category::Io) {
        return Some(parse_error(error));
    }
    serde_json::from_str::<IgnoredAny>(text).err().map(|error| parse_error(&error))
}

/// The error for an invalid member.
#[cold]
fn invalid(tracked: Tracked<serde_json::Error>) -> Error {
    let path = match tracked.path().to_string() {
        root if root == "." => String::new(),
        path => path,
    };
    // The path replaces line and column, which would refer to a part of the text.
    let text = tracked.into_inner().to_string();
    let description = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
    let missing = description.strip_prefix("missing field `");
    let violation = match missing.and_then(|rest| rest.strip_suffix('`')) {
        Some(name) if path.is_empty() => Violation::new(name, "is required"),
        Some(name) => Violation::new(format!("{path}.{name}"), "is required"),
        None => Violation::new(path, description),
    };
    Error::from_violations(vec![violation])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_utf8_is_a_parse_error_in_ignored_members_too() {
        for json in [&b"\xff"[..], b"{\"id\":\"\xff\"}", b"{\"unknown\":\"\xff\"}"] {
            let error = from_slice::<IgnoredAny>(json).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ParseError);
            assert!(error.message().starts_with("invalid JSON payload: invalid utf-8"), "{error}");
        }
        assert!(from_slice::<IgnoredAny>(b"{\"unknown\":\"\xc3\xbf\"}").is_ok());
    }
}
