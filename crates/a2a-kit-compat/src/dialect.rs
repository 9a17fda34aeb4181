//! The JSON format of one revision.

use a2a_core::{Error, ErrorKind, Operation, ProtocolVersion, Result, v1::StreamResponse};
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

    /// The JSON-RPC methods of the revision. A client calls the first one of an operation.
    fn methods(&self) -> &'static [(&'static str, Operation)];

    /// The operation of a JSON-RPC method.
    fn operation(&self, method: &str) -> Option<Operation> {
        self.methods().iter().find(|(name, _)| *name == method).map(|(_, operation)| *operation)
    }

    /// The JSON-RPC method of an operation; `None` if the revision does not have it.
    fn method(&self, operation: Operation) -> Option<&'static str> {
        self.methods().iter().find(|(_, known)| *known == operation).map(|(name, _)| *name)
    }

    /// Reads the parameters of an operation. For servers.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](ErrorKind::InvalidParams), with the path of the member.
    fn read_params(&self, operation: Operation, params: Value) -> Result<AnyRequest>;

    /// Writes the parameters of a request; null for an operation that the revision does not have.
    /// For clients.
    fn write_params(&self, request: AnyRequest) -> Value;

    /// Writes a response. For servers.
    fn write_response(&self, operation: Operation, response: AnyResponse) -> Value;

    /// Writes an event of a stream. For servers. `is_last`: whether the stream ends with it.
    fn write_event(&self, event: &StreamResponse, is_last: bool) -> Value;

    /// Writes an error. For servers.
    fn write_error(&self, error: &Error) -> ErrorObject;

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

    /// Reads a JSON-RPC request. For servers.
    ///
    /// # Errors
    ///
    /// [`MethodNotFound`](ErrorKind::MethodNotFound) for a method that the revision does not have,
    /// and those of [`read_params`](Self::read_params).
    fn read_request(&self, method: &str, params: Value) -> Result<AnyRequest> {
        let operation = self.operation(method).ok_or_else(|| {
            let method: String = method.chars().take(64).collect();
            Error::new(ErrorKind::MethodNotFound, format!("method not found: {method}"))
        })?;
        self.read_params(operation, params)
    }

    /// Writes a JSON-RPC request: the method and its parameters. For clients.
    ///
    /// # Errors
    ///
    /// [`UnsupportedOperation`](ErrorKind::UnsupportedOperation) for an operation that the revision
    /// does not have.
    fn write_request(&self, request: AnyRequest) -> Result<(&'static str, Value)> {
        let operation = request.operation();
        let method = self.method(operation).ok_or_else(|| {
            let (revision, name) = (self.revision(), operation.name());
            Error::unsupported(format!("version {revision} has no {name}"))
        })?;
        Ok((method, self.write_params(request)))
    }
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
