//! From JSON values to typed ones and back.

use a2a_core::{Error, ErrorKind, Result};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Reads a part of a request.
///
/// # Errors
///
/// [`InvalidParams`](ErrorKind::InvalidParams) with the path of the member that is wrong.
pub(crate) fn read_params<T: DeserializeOwned>(params: &Value) -> Result<T> {
    if !params.is_object() {
        return Err(Error::invalid_params("", "must be an object"));
    }
    // The path is looked for only where something is known to be wrong: it costs a text.
    T::deserialize(params).or_else(|error| {
        let text = serde_json::to_vec(params).map_err(Error::internal)?;
        match a2a_core::json::from_slice::<T>(&text) {
            Ok(read) => Ok(read),
            Err(explained) => Err(explained.with_source(error)),
        }
    })
}

/// Reads a part of an answer.
///
/// # Errors
///
/// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse).
pub(crate) fn read_answer<T: DeserializeOwned>(answer: &Value) -> Result<T> {
    read_params(answer).map_err(|error| {
        let message = format!("the answer can't be read: {}", error.message());
        Error::new(ErrorKind::InvalidAgentResponse, message).with_source(error)
    })
}

/// Writes what has a JSON form whatever its content: the types of the revisions have only text
/// for keys, and numbers that are finite.
pub(crate) fn write<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Returns `None` for the empty text, which 1.0 has for a member that is not there.
pub(crate) fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
