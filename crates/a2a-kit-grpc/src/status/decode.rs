//! Decodes statuses: by reason, or else by code (spec §10).

use std::time::Duration;

use a2a_core::{Detail, Error, ErrorKind, Violation};
use prost::Message;
use tonic::{Code, Status};
use tonic_types::pb;

use super::{BAD_REQUEST, CHALLENGE, ERROR_INFO, RETRY_AFTER, RETRY_INFO};

/// Decodes the status of a response.
///
/// Untrusted: malformed parts are ignored.
pub(crate) fn decode(status: Status) -> Error {
    let message = match status.message() {
        "" => format!("gRPC status: {}", status.code().description()),
        message => message.to_owned(),
    };
    let (details, delay) = read_details(status.details());
    let header = |name| status.metadata().get(name).and_then(|value| value.to_str().ok());
    let delay = delay.or_else(|| header(RETRY_AFTER)?.trim().parse().map(Duration::from_secs).ok());
    let challenge = header(CHALLENGE).map(str::to_owned);

    let mut error = Error::from_wire(kind_of(status.code()), message, details);
    if let Some(delay) = delay {
        error = error.with_retry_after(delay);
    }
    if let Some(challenge) = challenge {
        error = error.with_challenge(challenge);
    }
    error
}

fn kind_of(code: Code) -> ErrorKind {
    match code {
        // tonic returns it, on both sides, for a message over the size limit. The protocol has no
        // other use for the code.
        Code::OutOfRange => ErrorKind::PayloadTooLarge,
        code => ErrorKind::from_grpc(i32::from(code)),
    }
}

fn read_details(bytes: &[u8]) -> (Vec<Detail>, Option<Duration>) {
    let mut details = Vec::new();
    let mut delay = None;
    for any in pb::Status::decode(bytes).unwrap_or_default().details {
        let name = any.type_url.rsplit('/').next().unwrap_or_default();
        let bytes = any.value.as_slice();
        match name {
            ERROR_INFO => details.extend(pb::ErrorInfo::decode(bytes).map(error_info).ok()),
            BAD_REQUEST => details.extend(pb::BadRequest::decode(bytes).map(bad_request).ok()),
            RETRY_INFO => delay = pb::RetryInfo::decode(bytes).ok().and_then(retry_delay),
            _ => {}
        }
    }
    (details, delay)
}

fn error_info(info: pb::ErrorInfo) -> Detail {
    let pb::ErrorInfo { reason, domain, metadata } = info;
    Detail::ErrorInfo { reason, domain, metadata: metadata.into_iter().collect() }
}

fn bad_request(request: pb::BadRequest) -> Detail {
    let violations = request.field_violations.into_iter();
    let violations = violations.map(|it| Violation::new(it.field, it.description));
    Detail::BadRequest { field_violations: violations.collect() }
}

fn retry_delay(info: pb::RetryInfo) -> Option<Duration> {
    Duration::try_from(info.retry_delay?).ok()
}
