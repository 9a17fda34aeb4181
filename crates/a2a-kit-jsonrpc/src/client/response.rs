//! Reads responses and stream events (JSON-RPC 2.0 §5, spec §9.4).

use a2a_core::{Error, ErrorKind, Result, json, v1::StreamResponse};
use a2a_kit_http::error_body;
use http::StatusCode;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Value>,
}

/// Reads the result of request `id`.
///
/// # Errors
///
/// The error of the response, in any format; [`ErrorKind::InvalidAgentResponse`] for a malformed
/// response, or one to another request.
pub(super) fn read<R: DeserializeOwned>(id: u64, body: &[u8]) -> Result<R> {
    read_optional(id, body)?
        .ok_or_else(|| invalid("the response has neither a result nor an error"))
}

/// Reads an event of the response stream of request `id`.
///
/// # Errors
///
/// As [`read`], and if the event has no content.
pub(super) fn read_event(id: u64, data: &[u8]) -> Result<StreamResponse> {
    let event: StreamResponse = read(id, data)?;
    if event.payload.is_none() {
        return Err(invalid("the event has no content"));
    }
    Ok(event)
}

/// Reads the result of request `id`, which may be absent or `null`.
///
/// # Errors
///
/// As [`read`].
pub(super) fn read_optional<R: DeserializeOwned>(id: u64, body: &[u8]) -> Result<Option<R>> {
    let response: Response<'_> = serde_json::from_slice(body)
        .map_err(|error| invalid("the response is not a JSON-RPC response").with_source(error))?;
    if let Some(error) = response.error {
        return Err(error_body::read_object(StatusCode::OK, error));
    }
    // Errors may lack the id, if the agent could not read the request. Results must have it.
    if response.id.map(RawValue::get) != Some(&*id.to_string()) {
        return Err(invalid("the response has the id of another request"));
    }
    let Some(result) = response.result else { return Ok(None) };
    json::from_slice(result.get().as_bytes()).map(Some).map_err(|error| {
        invalid(format!("failed to read the result: {}", error.message())).with_source(error)
    })
}

pub(super) fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, message)
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::Task;

    use super::*;

    #[test]
    fn only_matching_results_are_read() {
        let read = |body: &str| read::<Task>(7, body.as_bytes());
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":7,"result":{"id":"t"}}"#).unwrap().id, "t");
        assert_eq!(read(r#"{"id":7,"result":{"id":"t"},"error":null}"#).unwrap().id, "t");
        use ErrorKind::{InvalidAgentResponse, TaskNotFound, VersionNotSupported};
        for (body, kind) in [
            (r#"{"jsonrpc":"2.0","id":8,"result":{"id":"t"}}"#, InvalidAgentResponse),
            (r#"{"jsonrpc":"2.0","id":"7","result":{"id":"t"}}"#, InvalidAgentResponse),
            (r#"{"jsonrpc":"2.0","id":null,"result":{"id":"t"}}"#, InvalidAgentResponse),
            (r#"{"jsonrpc":"2.0","result":{"id":"t"}}"#, InvalidAgentResponse),
            (r#"{"jsonrpc":"2.0","id":7,"result":null}"#, InvalidAgentResponse),
            (r#"{"jsonrpc":"2.0","id":7}"#, InvalidAgentResponse),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"id":[]}}"#, InvalidAgentResponse),
            ("<html>", InvalidAgentResponse),
            ("", InvalidAgentResponse),
            (r#"{"id":7,"error":{"code":-32001,"message":"no"}}"#, TaskNotFound),
            (r#"{"id":null,"error":{"code":-32009,"message":"no"}}"#, VersionNotSupported),
            (r#"{"id":7,"error":"no"}"#, ErrorKind::Internal),
        ] {
            assert_eq!(read(body).unwrap_err().kind(), kind, "{body}");
        }
    }

    #[test]
    fn empty_result_may_be_missing() {
        for body in [r#"{"id":7}"#, r#"{"id":7,"result":null}"#, r#"{"id":7,"result":{}}"#] {
            assert!(read_optional::<serde::de::IgnoredAny>(7, body.as_bytes()).is_ok(), "{body}");
        }
    }
}
