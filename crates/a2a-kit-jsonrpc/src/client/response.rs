//! Reads responses and stream events (JSON-RPC 2.0 §5, spec §9.4).

use a2a_core::{
    Error, Result, json,
    v1::{SendMessageResponse, StreamResponse},
};
use a2a_kit_http::{client::without_content, error_body};
use http::StatusCode;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, value::RawValue};

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Value>,
    /// Of a notification.
    #[serde(default)]
    method: Option<IgnoredAny>,
}

/// Reads a member that may be `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}

impl<'a> Response<'a> {
    /// Reads a response without its result.
    fn read(text: &'a str) -> Result<Self> {
        let response: Self = serde_json::from_str(text).map_err(|error| {
            let message = match text.trim() {
                "" => "the response is empty".to_owned(),
                text => format!("the response is not a JSON-RPC response: {}", json::quote(text)),
            };
            Error::invalid_response(message).with_source(error)
        })?;
        match response.error {
            Some(error) => Err(error_body::read_object(StatusCode::OK, error)),
            None => Ok(response),
        }
    }

    /// The result, which is that of request `id`; `None` if it is absent or `null`.
    fn result(&self, id: u64) -> Result<Option<&'a str>> {
        // Errors may lack the id, if the agent could not read the request. Results must have it.
        if self.id.map(RawValue::get) != Some(&*id.to_string()) {
            let id = self.id.map_or("none", RawValue::get);
            let shown = json::quote(id);
            return Err(Error::invalid_response(format!(
                "the response has the id of another request: {shown}"
            )));
        }
        Ok(self.result.map(RawValue::get).filter(|result| *result != "null"))
    }
}

/// Reads the result of request `id`.
///
/// # Errors
///
/// The error of the response, in any format; [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse) for a malformed
/// response, or one to another request.
pub(super) fn read<R: DeserializeOwned>(id: u64, body: &[u8]) -> Result<R> {
    let text = json::response_text(body);
    let result = Response::read(&text)?.result(id)?.ok_or_else(|| without_result(&text))?;
    json::response_from_str(result)
}

/// Reads the result of a send.
///
/// # Errors
///
/// As [`read`], and if the result is neither a task nor a message.
pub(super) fn read_send(id: u64, body: &[u8]) -> Result<SendMessageResponse> {
    let text = json::response_text(body);
    let result = Response::read(&text)?.result(id)?.ok_or_else(|| without_result(&text))?;
    let response: SendMessageResponse = json::response_from_str(result)?;
    match response.payload {
        Some(_) => Ok(response),
        None => {
            without_content(result)?;
            let shown = json::quote(result);
            Err(Error::invalid_response(format!(
                "the response has neither a task nor a message: {shown}"
            )))
        }
    }
}

/// Reads an event of the response stream of request `id`. `None` for one that says nothing: a
/// result that is `null`, a notification, or an event of an unknown type.
///
/// # Errors
///
/// As [`read`], and if the event has no content.
pub(super) fn read_event(id: u64, data: &[u8]) -> Result<Option<StreamResponse>> {
    let text = json::response_text(data);
    let response = Response::read(&text)?;
    match response.result.map(RawValue::get) {
        Some("null") => return Ok(None),
        None if response.method.is_some() => return Ok(None),
        _ => {}
    }
    let result = response.result(id)?.ok_or_else(|| without_result(&text))?;
    let event: StreamResponse = json::response_from_str(result)?;
    match event.payload {
        Some(_) => Ok(Some(event)),
        None => without_content(result),
    }
}

/// Reads the result of request `id`, which may be absent or `null`.
///
/// # Errors
///
/// As [`read`].
pub(super) fn read_optional<R: DeserializeOwned>(id: u64, body: &[u8]) -> Result<Option<R>> {
    let text = json::response_text(body);
    Response::read(&text)?.result(id)?.map(json::response_from_str).transpose()
}

#[cold]
fn without_result(text: &str) -> Error {
    let shown = json::quote(text);
    Error::invalid_response(format!("the response has neither a result nor an error: {shown}"))
}

#[cfg(test)]
mod tests {
    use a2a_core::{ErrorKind, v1::Task};

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
            assert!(read_optional::<IgnoredAny>(7, body.as_bytes()).is_ok(), "{body}");
        }
    }
}
