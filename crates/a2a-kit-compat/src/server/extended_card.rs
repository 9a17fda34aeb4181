//! The extended card of 0.2: a document with its own URL instead of a method.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, Operation, ProtocolVersion, Result, card, v1::GetExtendedAgentCardRequest,
};
use a2a_kit_http::{body, content_type, error_body, report};
use a2a_kit_operations::Agent;
use axum::{Router, body::Body, extract::State, routing::get};
use http::{Request, Response, request::Parts};
use serde_json::{Value, json};

use super::{
    dispatch::{context, dispatch, write_activated},
    options::ServerOptions,
};
use crate::{AnyOutput, AnyRequest, Dialect as _, v0_3::V0_3};

const PATH: &str = "/agent/authenticatedExtendedCard";
const REVISION: ProtocolVersion = ProtocolVersion::V0_2;

/// Serves the extended card of `agent` at the path of 0.2. The router has no fallback, and no route
/// if 0.2 is disabled.
pub fn extended_card(agent: impl Agent, options: ServerOptions) -> Router {
    if !options.revisions.contains(REVISION) {
        return Router::new();
    }
    let agent: Arc<dyn Agent> = Arc::new(agent);
    Router::new().route(PATH, get(serve)).with_state((agent, Arc::new(options)))
}

async fn serve(
    State((agent, options)): State<(Arc<dyn Agent>, Arc<ServerOptions>)>,
    request: Request<Body>,
) -> Response<Body> {
    let (parts, _) = request.into_parts();
    read(&*agent, &options, &parts).await.unwrap_or_else(|error| {
        let error = report(error);
        let status = match error.kind() {
            ErrorKind::UnsupportedOperation | ErrorKind::ExtendedAgentCardNotConfigured => 404,
            kind => kind.codes().http,
        };
        let mut response = respond(status, &json!({"error": error.message()}));
        error_body::write_headers(&error, response.headers_mut());
        response
    })
}

async fn read(agent: &dyn Agent, options: &ServerOptions, parts: &Parts) -> Result<Response<Body>> {
    let request = AnyRequest::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
    let context = context(parts, REVISION)?;
    let reply = dispatch(agent, card::JSONRPC, options, context, request).await?;
    let AnyOutput::Unary(response) = reply.response else {
        return Err(Error::internal("extended card returned as a stream"));
    };
    let card = V0_3.write_response(Operation::GetExtendedAgentCard, response);
    let mut response = respond(200, &card);
    write_activated(REVISION, &reply.activated, response.headers_mut());
    Ok(response)
}

fn respond(status: u16, document: &Value) -> Response<Body> {
    body::respond(status, content_type::JSON, document.to_string())
}
