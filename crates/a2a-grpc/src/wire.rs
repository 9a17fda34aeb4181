//! What another service over gRPC shares with this one: how errors, deadlines and connections are
//! handled, whatever the package of the messages.
//!
//! Agents and their callers have no need of it. The older revisions of the protocol have a
//! service of their own, and are served and called the same way.

use std::future::Future;

use a2a_core::{Error, Result};
use a2a_http::{Drain, client::ClientSettings};
use http::{HeaderMap, Request, Response};
use tokio::time::Instant;
use tonic::{Code, Status, body::Body};
use tower::Service;

use crate::{
    AddressError,
    client::{self, failure},
    server::{deadline, events, service},
    status,
};

pub use crate::{
    client::Channel,
    codec::{MessageEncoder, OwnedCodec, Undecoded, Undecoder},
    metadata::{read_position, write_position},
    server::Guard,
};

/// Encodes an error under a code of another revision. What is hidden goes to the log.
pub fn encode(error: Error, code: Code) -> Status {
    status::encode_as(error, code)
}

/// Decodes a call that failed, at the peer or on the way to it. `target` names the peer in the
/// message.
pub fn decode(status: Status, target: &str) -> Error {
    failure::decode(status, target)
}

/// Reads when the caller stops waiting.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for a `grpc-timeout` that is none.
pub fn deadline(headers: &HeaderMap) -> Result<Option<Instant>> {
    deadline::read(headers)
}

/// Waits for an operation no longer than the caller does.
///
/// # Errors
///
/// Those of the operation, and [`DeadlineExceeded`](a2a_core::ErrorKind::DeadlineExceeded).
pub async fn within<T>(
    deadline: Option<Instant>,
    operation: impl Future<Output = Result<T>>,
) -> Result<T> {
    service::within(deadline, operation).await
}

/// Waits for what ends a stream before its time: the caller's deadline, or a server that drains.
pub async fn interruption(deadline: Option<Instant>, drain: Drain) -> Error {
    events::interruption(deadline, drain).await
}

/// Puts a service behind a guard that says in the words of the protocol what tonic refuses.
pub fn guarded<S>(service: S) -> Guard<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    Guard(service)
}

/// Makes a channel to the server at `address`, as [`Client::connect`](crate::Client::connect)
/// does. It connects when it is first used.
///
/// # Errors
///
/// If the address can't be one.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn channel(address: &str, settings: &ClientSettings) -> Result<Channel, AddressError> {
    Channel::lazy(client::parse(address)?, settings)
}
