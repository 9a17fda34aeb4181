//! Reads the answers of agents as they are sent in the field.

use std::{borrow::Cow, collections::BTreeMap};

use a2a_core::{Error, ErrorKind, Result, json, v1::StreamResponse};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, response::Parts};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::with_url;
use crate::{content_type, error_body, response_error::with_response, sse};

/// Reads a unary response as [`read_answer_with`] does, with errors in the formats of
/// [`error_body::read`].
///
/// # Errors
///
/// As [`read_answer_with`].
pub fn read_answer<T>(
    response: Response<Bytes>,
    read: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<(HeaderMap, T)> {
    read_answer_with(response, read, error_body::read)
}

/// Reads the body of a unary response: with `read`, or with `read_error` if its status is not a
/// success. If the body is an event stream, reads its last event. Returns the headers with it.
///
/// # Errors
///
/// The error of the agent; [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse) for a coding
/// that was not requested; those of `read`. All have the URL of the response, and its content type
/// if it is an unexpected one.
pub fn read_answer_with<T>(
    response: Response<Bytes>,
    read: impl FnOnce(&[u8]) -> Result<T>,
    read_error: impl FnOnce(StatusCode, &HeaderMap, &[u8]) -> Error,
) -> Result<(HeaderMap, T)> {
    let (head, body) = response.into_parts();
    if !head.status.is_success() {
        return Err(with_url(read_error(head.status, &head.headers, &body), &head));
    }
    content_type::require_identity(&head.headers)?;
    let json = if content_type::is_event_stream(&head.headers) || is_event_text(&body) {
        Cow::Owned(last_event(&body)?)
    } else {
        Cow::Borrowed(&*body)
    };
    let read = read(&json).map_err(|error| with_head(error, &head, &body))?;
    Ok((head.headers, read))
}

/// Returns whether a body is the text of an event stream, whatever its type says. No JSON begins
/// like one.
pub(super) fn is_event_text(body: &[u8]) -> bool {
    const FIELDS: [&[u8]; 5] = [b":", b"data:", b"event:", b"id:", b"retry:"];
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    FIELDS.iter().any(|field| body.starts_with(field))
}

/// Returns the data of the last event that is not a keep-alive; empty if there is none.
fn last_event(body: &[u8]) -> Result<Vec<u8>> {
    let mut decoder = sse::Decoder::with_limit(body.len());
    decoder.push(body)?;
    decoder.finish();
    let mut last = Vec::new();
    while let Some(event) = decoder.pop() {
        if !is_keep_alive(&event.data) && !is_named(&event) {
            last = event.data.into();
        }
    }
    Ok(last)
}

/// Returns whether the data of an event says nothing: it is empty, `null`, or the end mark of a
/// widespread model API.
pub(super) fn is_keep_alive(data: &[u8]) -> bool {
    matches!(data.trim_ascii(), b"" | b"null" | b"[DONE]")
}

/// Returns whether an event is for other listeners than those of messages (WHATWG HTML §9.2.6).
pub(super) fn is_named(event: &sse::ServerSentEvent) -> bool {
    !matches!(event.event.as_deref(), None | Some("" | "message"))
}

/// Adds what the head of a response says about an error: challenge, retry delay, URL and status, and
/// an unexpected content type. Of a web page, also its title.
pub(super) fn with_head(error: Error, head: &Parts, body: &[u8]) -> Error {
    let error = error_body::read_headers(error, &head.headers);
    if error.kind() != ErrorKind::InvalidAgentResponse || is_error(body) {
        return error;
    }
    let Some(content_type) = content_type::unexpected_type(&head.headers) else {
        return with_response(error, head, true);
    };
    let text = json::response_text(body);
    let page = match error_body::heading(&text) {
        "" => String::new(),
        title => format!(", page titled {}", json::quote(title)),
    };
    let message = format!("{} (content type {content_type}{page})", error.message());
    with_response(error.with_message(message), head, false)
}

/// Returns whether a body is an error of the agent, and not one of reading it.
fn is_error(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Failed {
        error: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Failed>(body).is_ok_and(|failed| failed.error.is_some())
}

/// Decides about an event, or the response of a send, in which no known member of the union is set:
/// `None` if it has others, of a later version, and an event is to be skipped.
///
/// # Errors
///
/// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse) if it has none, or those of an older
/// version.
pub fn without_content(event: &str) -> Result<Option<StreamResponse>> {
    let invalid = |message| Err(Error::new(ErrorKind::InvalidAgentResponse, message));
    let members: BTreeMap<Cow<'_, str>, Option<&RawValue>> =
        serde_json::from_str(event).unwrap_or_default();
    let has = |name| members.get(name).is_some_and(Option::is_some);
    if members.values().all(Option::is_none) {
        return invalid(format!("the response has no content: {}", json::quote(event)));
    }
    if has("kind") || has("status") && (has("id") || has("taskId")) {
        let shown = json::quote(event);
        return invalid(format!("the response has the format of an older version: {shown}"));
    }
    tracing::debug!(event = json::quote(event), "event of an unknown type skipped");
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_streams_are_recognized_by_their_text() {
        for text in ["data: {}", "data:{}", ":\n", "\u{feff}\n id: 1", "event:x", "retry: 1"] {
            assert!(is_event_text(text.as_bytes()), "{text:?}");
        }
        for text in ["", "{\"data:\": 1}", "\"data:\"", "<html>", "data", "database: x"] {
            assert!(!is_event_text(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn unary_answer_in_an_event_stream_is_its_last_event() {
        let body = b": hi\n\ndata: 1\n\nevent: ping\ndata: 9\n\ndata: 2\n\ndata: [DONE]\n\n";
        let read = |json: &[u8]| Ok(json.to_vec());
        let response = Response::new(Bytes::from_static(body));
        assert_eq!(read_answer(response, read).unwrap().1, b"2");
    }

    #[test]
    fn only_events_with_members_of_later_versions_are_skipped() {
        assert!(matches!(without_content(r#"{"reasoning":{}}"#), Ok(None)));
        for event in ["{}", r#"{"task":null}"#, r#"{"kind":"task"}"#, r#"{"id":"t","status":{}}"#] {
            let error = without_content(event).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{event}");
        }
    }
}
