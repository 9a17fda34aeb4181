//! The JSON format of one revision.

use a2a_core::{Error, Operation, ProtocolVersion, Result, v1::StreamResponse};
use serde_json::Value;

use crate::{AnyRequest, AnyResponse};

/// The JSON-RPC methods of one revision, and the format of its requests, responses, events and
/// errors, in both directions: for servers and clients.
///
/// The conversions are total and stateless: every value of the revision can be read, and every
/// value of 1.0 can be written, with the losses listed in `docs/revisions.md`.
pub trait Dialect: Send + Sync + 'static {
    /// The revision.
    fn revision(&self) -> ProtocolVersion;

    /// Reads a request. For servers.
    ///
    /// # Errors
    ///
    /// [`MethodNotFound`](a2a_core::ErrorKind::MethodNotFound) for a method that the revision
    /// does not have; [`InvalidParams`](a2a_core::ErrorKind::InvalidParams), with the path of the
    /// member, for invalid parameters.
    fn read_request(&self, method: &str, params: Value) -> Result<AnyRequest>;

    /// Writes a response. For servers.
    fn write_response(&self, operation: Operation, response: AnyResponse) -> Value;

    /// Writes an event of a stream. For servers. `is_last`: whether the stream ends with it.
    fn write_event(&self, event: &StreamResponse, is_last: bool) -> Value;

    /// Writes an error. For servers.
    fn write_error(&self, error: &Error) -> ErrorObject;

    /// Writes a request: the method and its parameters. For clients.
    ///
    /// # Errors
    ///
    /// [`UnsupportedOperation`](a2a_core::ErrorKind::UnsupportedOperation) for an operation that
    /// the revision does not have.
    fn write_request(&self, request: AnyRequest) -> Result<(&'static str, Value)>;

    /// Reads a response. For clients.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
    fn read_response(&self, operation: Operation, result: Value) -> Result<AnyResponse>;

    /// Reads an event of a stream. For clients.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
    fn read_event(&self, event: Value) -> Result<StreamResponse>;
}

/// A JSON-RPC error object in the format of a revision.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ErrorObject {
    /// The code.
    pub code: i32,
    /// The message.
    pub message: String,
    /// Details in the format of the revision.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub data: Value,
}
