//! Encodes errors as statuses with details.

use std::{collections::BTreeMap, time::Duration};

use a2a_core::{ERROR_DOMAIN, Error};
use prost::Message;
use prost_types::Any;
use tonic::{
    Code, Status,
    metadata::{MetadataMap, MetadataValue},
};
use tonic_types::pb;

use super::{BAD_REQUEST, CHALLENGE, ERROR_INFO, RETRY_AFTER, RETRY_INFO, TYPE_PREFIX};

/// Limit of a message, in bytes. Peers reject trailers of more than 8 KiB, and non-ASCII characters
/// take three times their bytes.
const MAX_MESSAGE: usize = 1_024;

/// Limit of the details, in bytes before base64 encoding.
const MAX_DETAILS: usize = 3 * 1_024;

/// Encodes an error as a status. Its source is logged.
pub(crate) fn encode(error: Error) -> Status {
    let code = Code::from(error.kind().codes().grpc);
    encode_as(error, code, None)
}

/// Encodes an error with the status code and the name of another revision, if errors have names
/// there: a prefix of the message. Its source is logged.
pub fn encode_as(error: Error, code: Code, name: Option<&str>) -> Status {
    let error = a2a_kit_http::report(error);
    let text = clipped(error.message(), MAX_MESSAGE);
    let message = name.map_or_else(|| text.to_owned(), |name| format!("{name}: {text}"));

    let mut status =
        pb::Status { code: i32::from(code), message: message.clone(), ..Default::default() };
    status.details.push(any(ERROR_INFO, &error_info(&error)));
    if let Some(delay) = error.retry_after() {
        status.details.push(any(RETRY_INFO, &retry_info(delay)));
    }
    let mut violations = bad_request(&error);
    while !violations.field_violations.is_empty() {
        status.details.push(any(BAD_REQUEST, &violations));
        if status.encoded_len() <= MAX_DETAILS {
            break;
        }
        status.details.pop();
        violations.field_violations.pop();
    }
    if status.encoded_len() > MAX_DETAILS {
        // Only metadata can be this large; the reason must be sent.
        let bare = Error::new(error.kind(), "");
        status.details = vec![any(ERROR_INFO, &error_info(&bare))];
    }

    let mut metadata = MetadataMap::new();
    if let Some(delay) = error.retry_after() {
        metadata.insert(RETRY_AFTER, MetadataValue::from(whole_seconds(delay)));
    }
    if let Some(Ok(challenge)) = error.challenge().map(MetadataValue::try_from) {
        metadata.insert(CHALLENGE, challenge);
    }
    Status::with_details_and_metadata(code, message, status.encode_to_vec().into(), metadata)
}

fn any(name: &str, detail: &impl Message) -> Any {
    Any { type_url: format!("{TYPE_PREFIX}{name}"), value: detail.encode_to_vec() }
}

/// `google.rpc.ErrorInfo` with sorted metadata: its encoding is deterministic and reveals no map
/// order.
#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(btree_map = "string, string", tag = "3")]
    metadata: BTreeMap<String, String>,
}

fn error_info(error: &Error) -> ErrorInfo {
    let entries = error.metadata().iter();
    ErrorInfo {
        reason: error.kind().codes().reason.to_owned(),
        domain: ERROR_DOMAIN.to_owned(),
        metadata: entries.map(|(key, value)| (key.clone(), value.clone())).collect(),
    }
}

fn bad_request(error: &Error) -> pb::BadRequest {
    let violations = error.violations().iter().map(|violation| pb::bad_request::FieldViolation {
        field: violation.field.clone(),
        description: violation.description.clone(),
        ..Default::default()
    });
    pb::BadRequest { field_violations: violations.collect() }
}

fn retry_info(delay: Duration) -> pb::RetryInfo {
    pb::RetryInfo { retry_delay: delay.try_into().ok() }
}

fn whole_seconds(delay: Duration) -> u64 {
    delay.as_secs() + u64::from(delay.subsec_nanos() > 0)
}

/// Truncates a text to `limit` bytes, at a character boundary.
fn clipped(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
