//! Decodes failed calls: errors of the peer and of the transport.

use std::{error::Error as StdError, fmt};

use a2a_core::{Error, ErrorKind};
use a2a_kit_http::{client::TransportError, error_body::retry_delay};
use http::StatusCode;
use tonic::{ConnectError, Status, TimeoutExpired};

use crate::status;

/// Decodes a failed call whose response may have `limit` bytes. tonic says alike that a message is too
/// large for the peer.
pub(super) fn decode_within(status: Status, target: &str, limit: usize) -> Error {
    if status.message().ends_with(&format!("the limit is: {limit} bytes")) {
        let message = format!("response of {target} exceeds {limit} bytes");
        return Error::new(ErrorKind::InvalidAgentResponse, message);
    }
    decode(status, target)
}

/// Decodes a failed call. `target` names the peer in the message. A status with a source was created locally by the transport; a received
/// one has none.
pub fn decode(status: Status, target: &str) -> Error {
    if status.source().is_none() {
        return status::decode(status);
    }
    if let Some(response) = cause::<NotGrpc>(&status) {
        return response.error(target).with_source(status);
    }
    if let Some(coding) = cause::<UnexpectedCoding>(&status) {
        return Error::new(ErrorKind::InvalidAgentResponse, coding.to_string()).with_source(status);
    }
    let sent = cause::<ConnectError>(&status).is_none();
    let timed_out = cause::<TimeoutExpired>(&status).is_some();
    TransportError::new(status).with_sent(sent).with_timed_out(timed_out).into_error(target)
}

fn cause<E: StdError + 'static>(status: &Status) -> Option<&E> {
    let mut cause = status.source();
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// An HTTP response that is not gRPC: of a proxy, or a server that does not support gRPC.
#[derive(Debug)]
pub(super) struct NotGrpc {
    pub(super) status: StatusCode,
    pub(super) challenge: Option<String>,
    pub(super) retry_after: Option<String>,
}

impl NotGrpc {
    fn error(&self, target: &str) -> Error {
        let kind = if self.status.is_success() {
            ErrorKind::InvalidAgentResponse
        } else {
            ErrorKind::from_http(self.status.as_u16())
        };
        let mut error = Error::new(kind, format!("{target}: {self}"));
        if let Some(challenge) = &self.challenge {
            error = error.with_challenge(challenge.as_str());
        }
        if let Some(delay) = self.retry_after.as_deref().and_then(retry_delay) {
            error = error.with_retry_after(delay);
        }
        error
    }
}

impl fmt::Display for NotGrpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HTTP {} response is not gRPC", self.status)
    }
}

impl StdError for NotGrpc {}

/// A response in a coding that was not requested.
#[derive(Debug)]
pub(super) struct UnexpectedCoding(pub(super) String);

impl fmt::Display for UnexpectedCoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the response has the content coding {:?}, which was not requested", self.0)
    }
}

impl StdError for UnexpectedCoding {}
