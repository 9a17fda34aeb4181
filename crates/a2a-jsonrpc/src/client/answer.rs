//! Reading the answer to a request, or one event of it (JSON-RPC 2.0 §5, spec §9.4).

use a2a_core::{Error, ErrorKind, Result, json, v1::StreamResponse};
use a2a_http::error_body;
use http::StatusCode;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

#[derive(Deserialize)]
struct Answer<'a> {
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
/// The error that the answer is, in any form; [`ErrorKind::InvalidAgentResponse`] for what is
/// no answer, or an answer to something else.
pub(super) fn read<R: DeserializeOwned>(id: u64, body: &[u8]) -> Result<R> {
    read_optional(id, body)?.ok_or_else(|| invalid("the answer has neither a result nor an error"))
}

/// Reads one event of the stream that answers request `id`.
///
/// # Errors
///
/// As [`read`], and for an event without content.
pub(super) fn read_event(id: u64, data: &[u8]) -> Result<StreamResponse> {
    let event: StreamResponse = read(id, data)?;
    if event.payload.is_none() {
        return Err(invalid("an event has no content"));
    }
    Ok(event)
}

/// Reads the result of request `id`, which may be absent or `null`.
///
/// # Errors
///
/// As [`read`].
pub(super) fn read_optional<R: DeserializeOwned>(id: u64, body: &[u8]) -> Result<Option<R>> {
    let answer: Answer<'_> = serde_json::from_slice(body)
        .map_err(|error| invalid("the answer is not one of JSON-RPC").with_source(error))?;
    if let Some(error) = answer.error {
        return Err(error_body::read_object(StatusCode::OK, error));
    }
    // The id of an error may be missing: the agent could not read ours. A result has it.
    if answer.id.map(RawValue::get) != Some(&*id.to_string()) {
        return Err(invalid("the answer has the id of another request"));
    }
    let Some(result) = answer.result else { return Ok(None) };
    json::from_slice(result.get().as_bytes()).map(Some).map_err(|error| {
        invalid(format!("the result can't be read: {}", error.message())).with_source(error)
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
    fn a_result_is_read_and_anything_else_is_an_error() {
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
    fn an_empty_result_may_be_missing() {
        for body in [r#"{"id":7}"#, r#"{"id":7,"result":null}"#, r#"{"id":7,"result":{}}"#] {
            assert!(read_optional::<serde::de::IgnoredAny>(7, body.as_bytes()).is_ok(), "{body}");
        }
    }
}
