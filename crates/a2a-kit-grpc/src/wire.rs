//! Error, deadline and connection handling for other gRPC services, independent of the messages.
//!
//! Used by the service of older protocol revisions; not needed by agents and their callers.

#[cfg(feature = "server")]
use std::future::Future;

use a2a_core::Error;
#[cfg(feature = "server")]
use a2a_core::Result;
#[cfg(feature = "server")]
use a2a_kit_http::Drain;
#[cfg(feature = "client")]
use a2a_kit_http::client::ClientSettings;
#[cfg(feature = "server")]
use http::{HeaderMap, Request, Response};
#[cfg(feature = "server")]
use tokio::time::Instant;
#[cfg(feature = "server")]
use tonic::body::Body;
use tonic::{Code, Status};
#[cfg(feature = "server")]
use tower::Service;

#[cfg(feature = "server")]
use crate::server::{deadline, events, service};
use crate::status;
#[cfg(feature = "client")]
use crate::{
    AddressError,
    client::{self, failure},
};

#[cfg(feature = "client")]
pub use crate::client::{Channel, HeldMessage, read_event};
#[cfg(feature = "server")]
pub use crate::server::{
    FrameGuard,
    codec::{OwnedCodec, Undecoded, Undecoder},
    service::MAX_PAGE_BYTES,
};
pub use crate::{
    codec::MessageEncoder,
    metadata::{read_position, write_position},
};

/// Encodes an error with the status code and the name of another revision, if errors have names
/// there: a prefix of the message. Its source is logged.
pub fn encode(error: Error, code: Code, name: Option<&str>) -> Status {
    status::encode_as(error, code, name)
}

#[cfg(feature = "client")]
/// Decodes a failed call. `target` names the peer in the message.
pub fn decode(status: Status, target: &str) -> Error {
    failure::decode(status, target)
}

#[cfg(feature = "server")]
/// Reads the deadline of the caller.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for a malformed `grpc-timeout`.
pub fn deadline(headers: &HeaderMap) -> Result<Option<Instant>> {
    deadline::read(headers)
}

#[cfg(feature = "server")]
/// Limits an operation to the deadline of the caller.
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

#[cfg(feature = "server")]
/// Completes when a stream has to be interrupted: at the caller's deadline, or when the server
/// drains.
pub async fn interruption(deadline: Option<Instant>, drain: Drain) -> Error {
    events::interruption(deadline, drain).await
}

#[cfg(feature = "server")]
/// Wraps a service so that errors of tonic become errors of the protocol.
pub fn guarded<S>(service: S) -> FrameGuard<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    FrameGuard(service)
}

#[cfg(feature = "client")]
/// Creates a channel to the server at `address`, like [`Client::connect`](crate::Client::connect).
/// It connects on first use.
///
/// # Errors
///
/// If the address is invalid.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn channel(address: &str, settings: &ClientSettings) -> Result<Channel, AddressError> {
    Channel::lazy(client::parse(address)?, settings)
}
