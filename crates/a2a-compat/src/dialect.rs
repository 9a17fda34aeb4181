//! What one revision says in JSON.

use a2a_core::{Error, Operation, ProtocolVersion, Result, v1::StreamResponse};
use serde_json::Value;

use crate::{AnyRequest, AnyResponse};

/// The JSON-RPC methods of one revision, and the shapes of its requests, answers, events and
/// errors: both directions, so that a server and a client need the same one value.
///
/// The conversions are total: whatever the revision can say is read, and whatever 1.0 can say is
/// written, if need be with the losses that `docs/revisions.md` lists. None keeps state.
pub trait Dialect: Send + Sync + 'static {
    /// The revision that this is.
    fn revision(&self) -> ProtocolVersion;

    /// Reads a request: what a server gets.
    ///
    /// # Errors
    ///
    /// [`MethodNotFound`](a2a_core::ErrorKind::MethodNotFound) for a method that the revision
    /// does not have, [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for parameters that
    /// it does not allow, with the path of the member.
    fn read_request(&self, method: &str, params: Value) -> Result<AnyRequest>;

    /// Writes an answer: what a server gives.
    fn write_response(&self, operation: Operation, response: AnyResponse) -> Value;

    /// Writes an event of a stream: what a server gives. `is_last` tells whether the stream ends
    /// with it.
    fn write_event(&self, event: &StreamResponse, is_last: bool) -> Value;

    /// Writes an error: what a server gives.
    fn write_error(&self, error: &Error) -> ErrorObject;

    /// Writes a request: what a client gives. Returns the method and its parameters.
    ///
    /// # Errors
    ///
    /// [`UnsupportedOperation`](a2a_core::ErrorKind::UnsupportedOperation) for an operation that
    /// the revision does not have.
    fn write_request(&self, request: AnyRequest) -> Result<(&'static str, Value)>;

    /// Reads an answer: what a client gets.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
    fn read_response(&self, operation: Operation, result: Value) -> Result<AnyResponse>;

    /// Reads an event of a stream: what a client gets.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
    fn read_event(&self, event: Value) -> Result<StreamResponse>;
}

/// The error object of JSON-RPC, as a revision fills it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ErrorObject {
    /// The code.
    pub code: i32,
    /// The text for the peer.
    pub message: String,
    /// Details in the form of the revision.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub data: Value,
}
