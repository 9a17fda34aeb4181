//! Errors of providers and connections as [`ModelError`], without their text.

use std::time::Duration;

use a2a_core::{Error, ErrorKind};
use a2a_kit_http::{
    client::{ByteStream, TransportError},
    error_body::retry_delay,
};
use a2a_kit_operations::BoxError;
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use serde_json::Value;

use crate::{ModelError, model::ModelErrorKind};

/// Maximum size of the body of an error, in bytes.
const MAX_ERROR_BODY: usize = 64 << 10;

/// Words with which providers say that a conversation is too long.
const TOO_LONG: [&str; 5] =
    ["context length", "context_length", "prompt is too long", "maximum context", "token count"];

/// Reads an error response. A body that is too large or incomplete counts as empty.
pub(super) async fn of_response(
    status: StatusCode,
    headers: &HeaderMap,
    body: ByteStream,
) -> ModelError {
    let body = body.read_all(MAX_ERROR_BODY).await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut error = of_body(Some(status.as_u16()), &body);
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let milliseconds = text("retry-after-ms").and_then(|value| value.trim().parse::<f64>().ok());
    error.retry_after = milliseconds
        .and_then(|value| Duration::try_from_secs_f64(value / 1000.0).ok())
        .or_else(|| retry_after(text(RETRY_AFTER.as_str())?))
        .or(error.retry_after);
    error.should_retry = match text("x-should-retry") {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => None,
    };
    error.request_id = request_id(headers);
    error
}

/// Reads a `Retry-After`: seconds, which some write with a fraction, or a date.
fn retry_after(value: &str) -> Option<Duration> {
    let seconds = value.trim().parse::<f64>().ok();
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        None => retry_delay(value),
        delay => delay,
    }
}

/// The provider's id of a request.
pub(super) fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = ["x-request-id", "request-id"].iter().find_map(|name| headers.get(*name))?;
    word(id.to_str().ok()?)
}

/// Reads an error in the body of a response, or in an event of a stream, which has no status.
pub(super) fn of_body(status: Option<u16>, body: &Value) -> ModelError {
    // Some servers put the error into an array.
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    let reason = detail(error, "reason");
    let code = reason.or_else(|| text("code")).or_else(|| text("type")).or_else(|| text("status"));
    // OpenRouter writes the status of the provider behind it as the code.
    let number = error.get("code").and_then(Value::as_u64);
    let number = number.and_then(|number| u16::try_from(number).ok());
    let inner = number.filter(|number| (400..600).contains(number));
    let status = status.or(inner).or_else(|| code.and_then(status_of_type));
    let message = text("message").or_else(|| error.as_str()).unwrap_or_default();
    let message = message.to_ascii_lowercase();
    let code_is = |expected: &str| text("code") == Some(expected) || text("type") == Some(expected);
    let is_too_long = code_is("context_length_exceeded")
        || status == Some(413)
        || status == Some(400) && TOO_LONG.iter().any(|words| message.contains(words));
    let kind = match status {
        _ if is_too_long => ModelErrorKind::TooLong,
        _ if code_is("insufficient_quota") => ModelErrorKind::Quota,
        // Gemini's status for it is 400.
        _ if reason == Some("API_KEY_INVALID") => ModelErrorKind::Credentials,
        Some(status) => kind_of_status(status),
        // Of an unknown kind, within a stream.
        None => ModelErrorKind::Unavailable,
    };
    let number = number.map(|number| number.to_string());
    let code = code.and_then(word).or(number);
    let delay = detail(error, "retryDelay").and_then(|delay| delay.strip_suffix('s'));
    let retry_after = delay.and_then(retry_after);
    ModelError { status, code, retry_after, ..ModelError::new(kind) }
}

/// A member of the details of Gemini's errors.
fn detail<'a>(error: &'a Value, name: &str) -> Option<&'a str> {
    error["details"].as_array()?.iter().find_map(|detail| detail[name].as_str())
}

fn kind_of_status(status: u16) -> ModelErrorKind {
    match status {
        401 | 403 => ModelErrorKind::Credentials,
        402 => ModelErrorKind::Quota,
        404 => ModelErrorKind::UnknownModel,
        429 => ModelErrorKind::RateLimit,
        408 | 409 | 500.. => ModelErrorKind::Unavailable,
        _ => ModelErrorKind::Rejected,
    }
}

/// The status that a type of error has outside of a stream.
fn status_of_type(name: &str) -> Option<u16> {
    Some(match name {
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "api_error" | "server_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        name if name.starts_with("invalid_") => 400,
        _ => return None,
    })
}

/// A code or an id, unless it is free text, which could quote the user.
fn word(text: &str) -> Option<String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    ((1..=128).contains(&text.len()) && text.bytes().all(is_word)).then(|| text.to_owned())
}

/// A request without a response.
pub(super) fn of_transport(error: Error) -> ModelError {
    let is_timeout = error.kind() == ErrorKind::DeadlineExceeded
        || TransportError::of(&error).is_some_and(TransportError::is_timeout);
    let kind = if is_timeout { ModelErrorKind::Timeout } else { ModelErrorKind::Unavailable };
    ModelError { source: Some(error.into()), ..ModelError::new(kind) }
}

/// A stream that was lost, was silent for too long, or has an event that is too large.
pub(super) fn of_stream(error: Error) -> ModelError {
    let is_silence = error.kind() == ErrorKind::Unavailable && TransportError::of(&error).is_none();
    let kind = if is_silence { ModelErrorKind::Timeout } else { ModelErrorKind::Cut };
    ModelError { source: Some(error.into()), ..ModelError::new(kind) }
}

/// An answer that can't be read.
pub(super) fn cut(error: impl Into<BoxError>) -> ModelError {
    ModelError { source: Some(error.into()), ..ModelError::new(ModelErrorKind::Cut) }
}

/// An event or a response that is not the expected JSON. The error of the parser may quote it.
pub(super) fn malformed(error: serde_json::Error) -> ModelError {
    cut(format!("malformed JSON at line {} column {}", error.line(), error.column()))
}
