//! Content types of the HTTP bindings, and their negotiation.

use a2a_core::{Error, ErrorKind, Result};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, ORIGIN},
};

/// `application/json`.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// `application/a2a+json`, the A2A media type (spec §11.2).
pub const A2A_JSON: HeaderValue = HeaderValue::from_static("application/a2a+json");
/// `text/event-stream`.
pub const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Rejects a request whose body is compressed or not JSON. Accepts `application/json` and
/// `application/a2a+json`, with parameters, and a missing type unless the request has an `Origin`:
/// without a JSON type, browsers send cross-origin requests without a CORS preflight.
///
/// # Errors
///
/// [`UnsupportedMediaType`](ErrorKind::UnsupportedMediaType).
pub fn require_json(headers: &HeaderMap) -> Result<()> {
    require(headers, &[])
}

/// Like [`require_json`], for JSON-RPC: accepts the types of JSON-RPC over HTTP as well, which are
/// `application/json-rpc` and `application/jsonrequest`.
///
/// # Errors
///
/// [`UnsupportedMediaType`](ErrorKind::UnsupportedMediaType).
pub fn require_jsonrpc(headers: &HeaderMap) -> Result<()> {
    require(headers, &["application/json-rpc", "application/jsonrequest"])
}

fn require(headers: &HeaderMap, others: &[&str]) -> Result<()> {
    if let Some(coding) = coding(headers) {
        return Err(Error::new(
            ErrorKind::UnsupportedMediaType,
            format!("unsupported content encoding {coding}: send the body uncompressed"),
        ));
    }
    let text = match headers.get(CONTENT_TYPE) {
        Some(value) if *value == JSON => return Ok(()),
        Some(value) => value.to_str().unwrap_or("?"),
        None if headers.contains_key(ORIGIN) => "",
        None => return Ok(()),
    };
    let essence = essence(text);
    let is_json =
        is_a2a_type(essence) || others.iter().any(|other| essence.eq_ignore_ascii_case(other));
    if is_json && charset(text).is_none_or(is_utf8) {
        return Ok(());
    }
    let shown: String = text.chars().take(80).collect();
    Err(Error::new(
        ErrorKind::UnsupportedMediaType,
        format!(
            "unsupported content type {shown:?}: \
             send application/json or application/a2a+json in UTF-8"
        ),
    ))
}

/// Returns the content coding of a body, in which it cannot be read: none is ever requested.
pub fn coding(headers: &HeaderMap) -> Option<String> {
    let coding = headers.get_all(CONTENT_ENCODING).iter().find(|value| !is_identity(value))?;
    Some(format!("{:?}", coding.to_str().unwrap_or("?").chars().take(80).collect::<String>()))
}

/// Rejects a response in a coding that was not requested (RFC 9110 §12.5.3).
///
/// # Errors
///
/// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse) with the name of the coding.
pub fn require_identity(headers: &HeaderMap) -> Result<()> {
    match coding(headers) {
        None => Ok(()),
        Some(coding) => Err(Error::new(
            ErrorKind::InvalidAgentResponse,
            format!("the response has the content coding {coding}, which was not requested"),
        )),
    }
}

/// The content type of a response in quotes, if it is neither JSON nor an event stream.
pub(crate) fn unexpected_type(headers: &HeaderMap) -> Option<String> {
    if is_json(headers) || is_event_stream(headers) {
        return None;
    }
    let text = headers.get(CONTENT_TYPE)?.to_str().unwrap_or("?");
    Some(text.chars().take(80).collect())
}

/// Compressed bodies are rejected: a few bytes could expand to any size.
fn is_identity(coding: &HeaderValue) -> bool {
    coding.to_str().is_ok_and(|coding| {
        coding
            .split(',')
            .all(|name| matches!(name.trim().to_ascii_lowercase().as_str(), "" | "identity"))
    })
}

/// Returns whether the content type is JSON: `application/json`, or any `+json` type.
pub fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|essence| {
        essence.eq_ignore_ascii_case("application/json")
            || essence.to_ascii_lowercase().ends_with("+json")
    })
}

/// Returns whether the content type is an event stream.
pub fn is_event_stream(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|essence| essence.eq_ignore_ascii_case("text/event-stream"))
}

/// Selects the type of an HTTP+JSON response: `application/a2a+json` if `Accept` lists it, is
/// missing or contains `*/*`, otherwise `application/json`.
pub fn response_type(headers: &HeaderMap) -> HeaderValue {
    let mut lines = headers.get_all(ACCEPT).iter().peekable();
    if lines.peek().is_none() {
        return A2A_JSON;
    }
    // Known clients decode error bodies only if the type starts with `application/json`, and send
    // that or `text/event-stream` here.
    let is_accepted = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .any(|range| matches!(essence(range), "application/a2a+json" | "*/*"));
    if is_accepted { A2A_JSON } else { JSON }
}

fn media_type(headers: &HeaderMap) -> Option<&str> {
    Some(essence(headers.get(CONTENT_TYPE)?.to_str().ok()?))
}

/// Returns the media type without its parameters.
fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

fn is_a2a_type(essence: &str) -> bool {
    essence.eq_ignore_ascii_case("application/json")
        || essence.eq_ignore_ascii_case("application/a2a+json")
}

fn charset(value: &str) -> Option<&str> {
    value.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })
}

fn is_utf8(charset: &str) -> bool {
    ["utf-8", "utf8", "us-ascii"].iter().any(|name| charset.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: http::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn only_json_and_missing_content_types_are_accepted() {
        assert!(require_json(&HeaderMap::new()).is_ok());
        for (value, ok) in [
            ("application/json", true),
            ("Application/A2A+JSON", true),
            ("application/json; charset=utf-8", true),
            ("application/json;charset=\"UTF-8\"; x=y", true),
            ("application/json; charset=utf-16", false),
            ("application/jsonp", false),
            ("text/plain", false),
            ("application/grpc", false),
            ("", false),
        ] {
            let result = require_json(&with(CONTENT_TYPE, value));
            assert_eq!(result.is_ok(), ok, "{value:?}");
        }
    }

    #[test]
    fn types_of_json_rpc_are_accepted_only_there() {
        for value in ["application/json-rpc", "application/jsonrequest; charset=utf-8"] {
            let headers = with(CONTENT_TYPE, value);
            assert!(
                require_jsonrpc(&headers).is_ok() && require_json(&headers).is_err(),
                "{value}"
            );
        }
        assert!(require_jsonrpc(&with(CONTENT_TYPE, "application/json")).is_ok());
        assert!(require_jsonrpc(&with(CONTENT_TYPE, "text/plain")).is_err());
    }

    #[test]
    fn request_with_origin_requires_a_content_type() {
        let mut headers = with(ORIGIN, "https://a.example");
        assert!(require_json(&headers).is_err());
        headers.insert(CONTENT_TYPE, JSON);
        assert!(require_json(&headers).is_ok());
    }

    #[test]
    fn response_is_a2a_json_unless_another_type_is_requested() {
        assert_eq!(response_type(&HeaderMap::new()), A2A_JSON);
        for (accept, expected) in [
            ("*/*", A2A_JSON),
            ("application/a2a+json", A2A_JSON),
            ("text/html, application/a2a+json;q=0.5", A2A_JSON),
            ("application/json", JSON),
            ("text/event-stream", JSON),
            ("application/json, text/event-stream", JSON),
        ] {
            assert_eq!(response_type(&with(ACCEPT, accept)), expected, "{accept}");
        }
    }

    #[test]
    fn json_suffix_types_are_json() {
        for (value, ok) in [
            ("application/problem+json; charset=utf-8", true),
            ("application/json", true),
            ("text/event-stream", false),
        ] {
            assert_eq!(is_json(&with(CONTENT_TYPE, value)), ok, "{value}");
        }
        assert!(is_event_stream(&with(CONTENT_TYPE, "text/event-stream; charset=utf-8")));
    }
}
