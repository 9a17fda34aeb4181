//! Conversions between JSON values and typed values.

use a2a_core::{Error, ErrorKind, Result};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Reads the parameters of a request.
///
/// # Errors
///
/// [`InvalidParams`](ErrorKind::InvalidParams) with the path of the invalid member.
pub(crate) fn read_params<T: DeserializeOwned>(params: &Value) -> Result<T> {
    if !params.is_object() {
        return Err(Error::invalid_params("", "must be an object"));
    }
    // The path is only determined after an error: that requires serialization.
    T::deserialize(params).or_else(|error| {
        let text = serde_json::to_vec(params).map_err(Error::internal)?;
        match a2a_core::json::from_slice::<T>(&text) {
            Ok(read) => Ok(read),
            Err(explained) => Err(explained.with_source(error)),
        }
    })
}

/// Reads a response.
///
/// # Errors
///
/// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse).
pub(crate) fn read_result<T: DeserializeOwned>(response: &Value) -> Result<T> {
    read_params(response).map_err(|error| {
        let message = format!("failed to read the response: {}", error.message());
        Error::new(ErrorKind::InvalidAgentResponse, message).with_source(error)
    })
}

/// Writes a value. Infallible: the types of all revisions have string keys and finite numbers.
pub(crate) fn write<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Returns `None` for the empty string, which means unset in 1.0.
pub(crate) fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
