//! Reading JSON, with the path of an invalid member.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

use crate::{Error, ErrorKind, Violation};

/// Reads a value from JSON.
///
/// # Errors
///
/// [`ErrorKind::ParseError`] for malformed JSON or more than 128 levels of nesting;
/// [`ErrorKind::InvalidParams`] with the path of the invalid member.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    // UTF-8 is validated once for the whole text; `from_slice` would validate each string.
    let read = match str::from_utf8(json) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(json),
    };
    read.map_err(|error| explain::<T>(json, error))
}

// Tracking the path more than doubles the parsing time, so it is only done after an error.
#[cold]
fn explain<T: DeserializeOwned>(json: &[u8], error: serde_json::Error) -> Error {
    if matches!(error.classify(), Category::Syntax | Category::Eof | Category::Io) {
        return Error::new(ErrorKind::ParseError, format!("invalid JSON payload: {error}"));
    }
    // An invalid member may precede the malformed JSON.
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(json) {
        return Error::new(ErrorKind::ParseError, format!("invalid JSON payload: {error}"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Ok(_) => Error::new(ErrorKind::ParseError, format!("invalid JSON payload: {error}")),
        Err(tracked) => {
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
    }
}
