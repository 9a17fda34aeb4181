//! Requests on the wire, and what is recorded of the responses.

mod framing;
mod grpc;
mod http;
mod jsonrpc;
mod link;
mod request;
mod rest;
mod sse;

pub(crate) use http::{FirstEvent, MAX_BODY_BYTES, RawHttp};
pub(crate) use link::Link;
pub(crate) use request::{Call, Principal, VersionHeader};
pub(crate) use rest::UNKNOWN_ROUTE;
#[cfg(test)]
pub(crate) use {jsonrpc::answer as jsonrpc_answer, rest::answer as rest_answer};
