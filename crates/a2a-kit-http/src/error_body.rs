//! Errors in HTTP responses: writes the headers that both bindings send, and decodes the error
//! formats of peers.

use std::time::{Duration, SystemTime};

use a2a_core::{Detail, Error, ErrorKind, json};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde_json::Value;

use crate::{content_type, response_error::ResponseError};

/// Maximum length of an error message taken from a peer, in characters.
const MAX_TEXT: usize = 512;

/// Adds the headers of an error: `WWW-Authenticate` and `Retry-After` (RFC 9110 §11.6.1,
/// §10.2.3).
pub fn write_headers(error: &Error, headers: &mut HeaderMap) {
    let challenge = match error.kind() {
        // HTTP requires a challenge in a 401.
        ErrorKind::Unauthenticated => Some(error.challenge().unwrap_or("Bearer")),
        _ => error.challenge(),
    };
    if let Some(challenge) = challenge.and_then(|text| HeaderValue::from_str(text).ok()) {
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    let delay = match error.kind() {
        ErrorKind::ResourceExhausted | ErrorKind::Unavailable => {
            Some(error.retry_after().unwrap_or(Duration::from_secs(1)))
        }
        _ => error.retry_after(),
    };
    if let Some(delay) = delay {
        let seconds = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
        headers.insert(RETRY_AFTER, seconds.into());
    }
}

/// Decodes an error response in any format: the error object of either binding, a problem
/// document, or plain text. One without such an object has a
/// `client::ResponseError` as its source.
pub fn read(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    let foreign = |error: Error| {
        let is_named = error.message().starts_with(&message(status, ""));
        error.with_source(ResponseError::new(status, headers, is_named))
    };
    let of_status = |text| foreign(Error::new(ErrorKind::from_http(status.as_u16()), text));
    if let Some(coding) = content_type::coding(headers) {
        let text = format!("{}, in the content coding {coding}", message(status, ""));
        return read_headers(of_status(text), headers);
    }
    let text = json::response_text(body);
    let error = match serde_json::from_str::<Value>(&text) {
        Ok(mut document) => match document.get_mut("error").map(Value::take) {
            Some(error @ Value::Object(_)) => read_object(status, error),
            Some(error) => foreign(read_object(status, error)),
            None => foreign(read_document(status, document)),
        },
        Err(_) => {
            let text = text.trim();
            let text = if text.starts_with('<') { heading(text) } else { text };
            of_status(message(status, text))
        }
    };
    read_headers(error, headers)
}

/// Decodes an error response as [`read`] does; `None` if it has no text.
pub fn said(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Option<Error> {
    Some(read(status, headers, body)).filter(|error| error.message() != message(status, ""))
}

/// Decodes a document that is not an error of the protocol: with its text, or else the whole.
fn read_document(status: StatusCode, document: Value) -> Error {
    let is_empty = match &document {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_empty || !text_of(&document).is_empty() {
        return read_object(status, document);
    }
    let whole = document.to_string();
    let error = read_object(status, document);
    let text = format!("{}: {whole}", error.message());
    error.with_message(message(status, &text))
}

/// The text of an error object, a problem document (RFC 9457) or a string; empty if there is none.
fn text_of(error: &Value) -> &str {
    match error {
        Value::String(text) => text.as_str(),
        Value::Object(members) => ["message", "detail", "title"]
            .into_iter()
            .find_map(|name| members.get(name)?.as_str())
            .unwrap_or_default(),
        _ => "",
    }
}

/// Decodes the value of an `error` member: an object of either binding, or plain text.
pub fn read_object(status: StatusCode, mut error: Value) -> Error {
    let code = error.get("code").and_then(Value::as_i64);
    let is_known = |code| ErrorKind::ALL.iter().any(|kind| i64::from(kind.codes().jsonrpc) == code);
    let text = match (text_of(&error), code) {
        ("", Some(code @ ..0)) => format!("error {code} without a message"),
        // A code of the agent's own says nothing to this client, but may to its user.
        (text, Some(code))
            if !text.is_empty() && !is_known(code) && !(100..600).contains(&code) =>
        {
            format!("{} (code {code})", message(status, text))
        }
        (text, _) => message(status, text),
    };
    let kind = kind(status, &error);
    let details =
        ["details", "data"].into_iter().find_map(|name| error.get_mut(name).map(Value::take));
    let shown = details.as_ref().map(|details| truncated(&details.to_string()).to_owned());
    let typed = details.map(Detail::read_all).unwrap_or_default();
    let has_types = !typed.is_empty();
    let error = Error::from_wire(kind, text, typed);
    match shown.filter(|shown| !has_types && !["null", "{}", "[]", "\"\""].contains(&&**shown)) {
        Some(shown) => error.with_source(ErrorData(shown)),
        None => error,
    }
}

/// What an agent says about an error beside its message, in a format of its own: the source of the
/// [`Error`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ErrorData(String);

/// Adds the challenge and the retry delay from the headers of an error response.
pub fn read_headers(mut error: Error, headers: &HeaderMap) -> Error {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if let Some(challenge) = text(WWW_AUTHENTICATE) {
        error = error.with_challenge(challenge.to_owned());
    }
    if let Some(delay) = text(RETRY_AFTER).and_then(retry_delay) {
        error = error.with_retry_after(delay);
    }
    error
}

/// Reads a `Retry-After`: a number of seconds, or a date (RFC 9110 §10.2.3), for which the delay is
/// that from now on.
pub fn retry_delay(value: &str) -> Option<Duration> {
    retry_delay_at(value, SystemTime::now())
}

pub(crate) fn retry_delay_at(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

// JSON-RPC codes are negative, HTTP statuses have three digits: one decoder handles both, also
// when a gateway responds in the format of the other binding.
fn kind(status: StatusCode, error: &Value) -> ErrorKind {
    let code = error.get("code").and_then(Value::as_i64);
    match code.map(i32::try_from) {
        Some(Ok(code @ ..0)) => ErrorKind::from_jsonrpc(code, status.as_u16()),
        Some(Ok(code @ 400..600)) => {
            ErrorKind::from_http(u16::try_from(code).unwrap_or(status.as_u16()))
        }
        _ => ErrorKind::from_http(status.as_u16()),
    }
}

/// Returns the title or heading of an HTML page, as proxies send with errors; empty if there is none.
pub(crate) fn heading(page: &str) -> &str {
    let element = |start: &str| Some(page.split_once(start)?.1.split_once("</")?.0.trim());
    element("<title>").or_else(|| element("<h1>")).unwrap_or_default()
}

fn message(status: StatusCode, text: &str) -> String {
    if text.is_empty() {
        return format!("agent responded with HTTP status {}", status.as_u16());
    }
    truncated(text).to_owned()
}

fn truncated(text: &str) -> &str {
    let end = text.char_indices().map(|(index, _)| index).nth(MAX_TEXT);
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn read_text(status: u16, body: &str) -> Error {
        read(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes())
    }

    #[test]
    fn error_kind_comes_from_reason_then_code_then_status() {
        let info = |reason: &str| {
            format!(
                r#"[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"a2a-protocol.org"}}]"#
            )
        };
        let reason = info("TASK_NOT_CANCELABLE");
        for (status, body, kind, message) in [
            (
                409,
                format!(r#"{{"error":{{"code":409,"message":"no","details":{reason}}}}}"#),
                ErrorKind::TaskNotCancelable,
                "no",
            ),
            (
                200,
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32001,"message":"no","data":{reason}}}}}"#
                ),
                ErrorKind::TaskNotCancelable,
                "no",
            ),
            (
                200,
                r#"{"id":null,"error":{"code":-32001,"message":"no"}}"#.to_owned(),
                ErrorKind::TaskNotFound,
                "no",
            ),
            (
                400,
                r#"{"error":{"code":-32009,"message":"no","data":{"a":1}}}"#.to_owned(),
                ErrorKind::VersionNotSupported,
                "no",
            ),
            (
                200,
                r#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#.to_owned(),
                ErrorKind::Unavailable,
                "agent responded with HTTP status 200",
            ),
            (500, r#"{"error":"it broke"}"#.to_owned(), ErrorKind::Internal, "it broke"),
            (
                429,
                r#"{"type":"about:blank","title":"Slow down"}"#.to_owned(),
                ErrorKind::ResourceExhausted,
                "Slow down",
            ),
            (
                502,
                "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n".to_owned(),
                ErrorKind::Unavailable,
                "502 Bad Gateway",
            ),
            (502, "<h1>Bad gateway</h1>".to_owned(), ErrorKind::Unavailable, "Bad gateway"),
            (
                502,
                "<html>\r\n</html>".to_owned(),
                ErrorKind::Unavailable,
                "agent responded with HTTP status 502",
            ),
            (503, " down for repairs\n".to_owned(), ErrorKind::Unavailable, "down for repairs"),
            (
                401,
                String::new(),
                ErrorKind::Unauthenticated,
                "agent responded with HTTP status 401",
            ),
            (
                404,
                "[]".to_owned(),
                ErrorKind::MethodNotFound,
                "agent responded with HTTP status 404",
            ),
        ] {
            let error = read_text(status, &body);
            assert_eq!((error.kind(), error.message()), (kind, message), "{status} {body}");
        }
    }

    #[test]
    fn untyped_details_and_the_status_of_a_foreign_error_are_sources() {
        for (status, body, expected) in [
            (
                200,
                r#"{"error":{"code":-32602,"message":"no","data":[{"loc":["id"]}]}}"#,
                r#"[{"loc":["id"]}]"#,
            ),
            (200, r#"{"error":{"code":-32602,"message":"no","data":{}}}"#, ""),
            (404, r#"{"error":{"code":404,"message":"no"}}"#, ""),
            (404, r#"{"detail":"Not Found"}"#, "HTTP status 404"),
            (500, r#"{"error":"it broke"}"#, "HTTP status 500"),
            (502, "<title>Bad Gateway</title>", "HTTP status 502"),
        ] {
            let source = read_text(status, body).source().map(ToString::to_string);
            assert_eq!(source.unwrap_or_default(), expected, "{body}");
        }
    }

    #[test]
    fn challenge_and_retry_delay_round_trip_in_headers() {
        let sent = Error::new(ErrorKind::Unauthenticated, "no credentials")
            .with_challenge(r#"Bearer realm="a2a""#)
            .with_retry_after(Duration::from_millis(1_200));
        let mut headers = HeaderMap::new();
        write_headers(&sent, &mut headers);
        let read = read(StatusCode::UNAUTHORIZED, &headers, b"");
        assert_eq!(read.challenge(), sent.challenge());
        assert_eq!(read.retry_after(), Some(Duration::from_secs(2)));
    }

    #[test]
    fn retry_delay_is_a_number_of_seconds_or_a_date() {
        let seconds = |value: &str| retry_delay(value).map(|delay| delay.as_secs());
        assert_eq!(seconds(" 7 "), Some(7));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
        assert!(seconds(&soon).is_some_and(|seconds| (90..=100).contains(&seconds)), "{soon}");
        assert_eq!(seconds("Tue, 14 Nov 2023 22:13:20 GMT"), Some(0));
        for invalid in ["", "soon", "-1", "1.5"] {
            assert_eq!(seconds(invalid), None, "{invalid:?}");
        }
    }

    #[test]
    fn long_text_is_truncated_at_a_character_boundary() {
        let error = read_text(500, &"ü".repeat(10_000));
        assert_eq!(error.message().chars().count(), MAX_TEXT);
    }
}
