//! Reads responses and stream events.

use a2a_core::{
    Error, Result, json,
    v1::{SendMessageResponse, StreamResponse},
};
use a2a_kit_http::{client::without_content, error_body};
use http::{HeaderMap, StatusCode};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

/// Reads a response.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse) if it is malformed.
pub(super) fn read<R: DeserializeOwned>(body: &[u8]) -> Result<R> {
    json::response_from_slice(body)
}

/// Reads the response of a send.
///
/// # Errors
///
/// As [`read`], and if the response has no content.
pub(super) fn read_send(body: &[u8]) -> Result<SendMessageResponse> {
    let response: SendMessageResponse = read(body)?;
    if response.payload.is_none() {
        if !has_error(body) {
            without_content(&json::response_text(body))?;
        }
        return Err(no_content(body));
    }
    Ok(response)
}

/// Reads an event of a stream; `None` for one of an unknown type.
///
/// # Errors
///
/// As [`read`], if the event has no content, and the error that it contains instead.
pub(super) fn read_event(data: &[u8]) -> Result<Option<StreamResponse>> {
    let text = json::response_text(data);
    let event: StreamResponse = json::response_from_str(&text)?;
    match event.payload {
        Some(_) => Ok(Some(event)),
        None if has_error(data) => Err(no_content(data)),
        None => without_content(&text),
    }
}

// Some servers send an error with status 200, or as an event without a type.
#[cold]
fn no_content(body: &[u8]) -> Error {
    if has_error(body) {
        error_body::read(StatusCode::OK, &HeaderMap::new(), body)
    } else {
        let shown = json::quote(&json::response_text(body));
        Error::invalid_response(format!("the response has no content: {shown}"))
    }
}

fn has_error(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Failed {
        #[serde(rename = "error")]
        _error: IgnoredAny,
    }
    serde_json::from_str::<Failed>(&json::response_text(body)).is_ok()
}

#[cfg(test)]
mod tests {
    use a2a_core::ErrorKind;

    use super::*;

    #[test]
    fn event_without_content_is_an_error() {
        assert!(read_event(br#"{"message":{"messageId":"m"}}"#).is_ok());
        use ErrorKind::{Internal, InvalidAgentResponse, TaskNotFound};
        for (data, kind) in [
            ("{}", InvalidAgentResponse),
            ("[]", InvalidAgentResponse),
            ("", InvalidAgentResponse),
            (r#"{"task":{"id":[]}}"#, InvalidAgentResponse),
            (r#"{"task":null}"#, InvalidAgentResponse),
            (r#"{"error":"it broke"}"#, Internal),
            (
                r#"{"error":{"code":404,"status":"NOT_FOUND","message":"no","details":[
                    {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND",
                    "domain":"a2a-protocol.org"}]}}"#,
                TaskNotFound,
            ),
        ] {
            assert_eq!(read_event(data.as_bytes()).unwrap_err().kind(), kind, "{data}");
            assert_eq!(read_send(data.as_bytes()).unwrap_err().kind(), kind, "{data}");
        }
    }
}
