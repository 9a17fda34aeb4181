//! Clients of agents that speak an older revision; each is an [`Agent`](a2a_kit_operations::Agent).

pub(crate) mod call;
mod extended_card;
mod jsonrpc;
mod normalize;
mod rest;
mod subscribe;

use a2a_core::{Error, ProtocolVersion, Result};
use a2a_kit_operations::{CallContext, EventStream, Reply};
use async_trait::async_trait;

use crate::{AnyRequest, AnyResponse};

pub use jsonrpc::JsonRpcClient;
pub use rest::RestClient;

/// A client of agents of an older revision: the part that is specific to a binding.
#[async_trait]
pub(crate) trait Transport: Clone + Send + Sync + 'static {
    /// The revision that the agent speaks.
    fn revision(&self) -> ProtocolVersion;

    /// Calls a unary operation.
    async fn unary(&self, context: CallContext, request: AnyRequest) -> Result<Reply<AnyResponse>>;

    /// Calls a streaming operation. The events are returned unchanged.
    async fn stream(&self, context: CallContext, request: AnyRequest)
    -> Result<Reply<EventStream>>;
}

/// The error for a response that does not match its request.
pub(crate) fn mismatched_response() -> Error {
    Error::invalid_response("the response is of another operation")
}
