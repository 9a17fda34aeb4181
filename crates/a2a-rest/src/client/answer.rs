//! Reading an answer, or one event of a stream.

use std::borrow::Cow;

use a2a_core::{
    Error, ErrorKind, Result, json,
    v1::{SendMessageResponse, StreamResponse},
};
use a2a_http::error_body;
use http::{HeaderMap, StatusCode};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

/// Reads an answer.
///
/// # Errors
///
/// [`ErrorKind::InvalidAgentResponse`] for what is not one.
pub(super) fn read<R: DeserializeOwned>(body: &[u8]) -> Result<R> {
    json::from_slice(body).map_err(|error| {
        invalid(format!("the answer can't be read: {}", error.message())).with_source(error)
    })
}

/// Reads the answer of a send.
///
/// # Errors
///
/// As [`read`], and for an answer without content.
pub(super) fn read_send(body: &[u8]) -> Result<SendMessageResponse> {
    let response: SendMessageResponse = read(body)?;
    if response.payload.is_none() {
        return Err(no_content(body));
    }
    Ok(response)
}

/// Reads an event of a stream.
///
/// # Errors
///
/// As [`read`]; for an event without content, and the error that it has instead.
pub(super) fn read_event(data: &[u8]) -> Result<StreamResponse> {
    let event: StreamResponse = read(data)?;
    if event.payload.is_none() {
        return Err(no_content(data));
    }
    Ok(event)
}

/// Reads an answer that says nothing, in whatever form.
pub(super) fn read_nothing(_body: &[u8]) -> Result<()> {
    Ok(())
}

// Some servers put an error under status 200, or into an event without a type.
#[cold]
fn no_content(body: &[u8]) -> Error {
    #[derive(Deserialize)]
    struct Failed {
        #[serde(rename = "error")]
        _error: IgnoredAny,
    }
    match serde_json::from_slice::<Failed>(body) {
        Ok(_) => error_body::read(StatusCode::OK, &HeaderMap::new(), body),
        Err(_) => invalid("the answer has no content"),
    }
}

fn invalid(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_content_is_an_error_of_some_kind() {
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
