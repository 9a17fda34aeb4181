//! HTTP+JSON of 0.3 and the draft of 1.0, below `/v1`.

mod request;
mod response;
mod route;

use std::sync::Arc;

use a2a_core::{Error, ErrorKind, ProtocolVersion, Result, card, json, value_limit::check_json};
use a2a_kit_http::{
    Drain, body, content_type,
    error_response::ErrorRenderer,
    parse::{PendingBody, parse},
    service_parameters, sse,
};
use a2a_kit_operations::{Agent, Scope};
use axum::{Router, body::Body, extract::State, routing::any};
use bytes::Bytes;
use http::{Method, Request, Response, request::Parts};
use serde_json::Value;
use tower::ServiceExt as _;

use super::{
    dispatch::{context, dispatch, requested_version, write_activated},
    options::ServerOptions,
};
use crate::{
    AnyOutput,
    detect::{self, RestRequest, RestShape},
    proto::{Files as _, expects_text},
};
use route::Target;

/// Serves `agent` over HTTP+JSON below `/v1`, in the formats of 0.3 and the draft of 1.0. Each
/// response has the format of its request.
///
/// Merge it with `a2a_kit_rest::router`, which has the routes of 1.0. A tenant named `v1` is reachable
/// only if the older revisions are disabled. The router has no fallback.
pub fn rest(agent: impl Agent, options: ServerOptions) -> Router {
    let revisions = &options.revisions;
    if !revisions.contains(ProtocolVersion::V0_3) && !revisions.contains(ProtocolVersion::V1Draft) {
        return Router::new();
    }
    let agent: Arc<dyn Agent> = Arc::new(agent);
    let current = a2a_kit_rest::router_with(Arc::clone(&agent), options.binding.clone());
    let server = Server { agent, current, options: Arc::new(options) };
    let mut router = Router::new();
    for pattern in route::patterns() {
        router = router.route(&pattern, any(serve));
    }
    router.with_state(server)
}

/// Maximum length of a path in an error message, in characters.
const MAX_ECHOED_CHARS: usize = 200;

#[derive(Clone)]
struct Server {
    agent: Arc<dyn Agent>,
    current: Router,
    options: Arc<ServerOptions>,
}

async fn serve(State(server): State<Server>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    // Unknown routes are rejected by the current binding.
    let Some(target) = route::resolve(read_method(&parts), parts.uri.path()) else {
        return server.forward(parts, body).await;
    };
    let limits = &server.options.binding.limits;
    let max_values = limits.max_json_values;
    let read = body::read(body, limits).await;
    let read = read.map(|body| PendingBody::hold(&parts.extensions, body));
    let decided = parse(read.as_ref().map_or(0, Bytes::len), move || {
        let read = read.and_then(|body| check_json(&body, max_values).map(|()| body));
        let text = read.as_deref().unwrap_or_default();
        // A malformed body is rejected in the format detected from the rest of the request.
        let value = serde_json::from_slice(text).unwrap_or_default();
        let decision = server.decide(&parts, &target, &value);
        Ok((server, parts, target, decision, read, value))
    });
    let (server, parts, target, decision, read, value) = match decided.await {
        Ok(decided) => decided,
        Err(error) => return response::error(RestShape::V03Proto, error),
    };
    match (decision, read) {
        (None, Ok(body)) => server.forward(parts, Body::from(body)).await,
        (None, Err(error)) => response::error(RestShape::V03Proto, error),
        (Some(shape), read) => {
            let response = match read {
                Ok(body) => server.respond(shape, target, &parts, body, value).await,
                Err(error) => Err(error),
            };
            response.unwrap_or_else(|error| response::error(shape, error))
        }
    }
}

/// The method of a request. HEAD is GET without the body, which the router removes.
fn read_method(parts: &Parts) -> &Method {
    if parts.method == Method::HEAD { &Method::GET } else { &parts.method }
}

impl Server {
    async fn forward(self, parts: Parts, body: Body) -> Response<Body> {
        if !self.options.revisions.contains(ProtocolVersion::V1_0) {
            let path: String = parts.uri.path().chars().take(MAX_ECHOED_CHARS).collect();
            let error = Error::new(ErrorKind::MethodNotFound, format!("unknown path {path:?}"));
            return response::error(RestShape::V03Proto, error);
        }
        match self.current.oneshot(Request::from_parts(parts, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    fn decide(&self, parts: &Parts, target: &Target, body: &Value) -> Option<RestShape> {
        let version = requested_version(parts);
        let request = RestRequest {
            path: parts.uri.path(),
            version: version.as_deref(),
            body,
            origin: self.origin(parts, &target.task_id),
        };
        detect::rest(&request, &self.options.revisions)
    }

    /// The revision in which a task was created.
    fn origin(&self, parts: &Parts, task_id: &str) -> Option<ProtocolVersion> {
        if task_id.is_empty() {
            return None;
        }
        let scope = Scope::new("", &service_parameters::caller(&parts.extensions));
        self.options.task_revisions.revision(&scope, task_id)
    }

    async fn respond(
        &self,
        shape: RestShape,
        target: Target,
        parts: &Parts,
        body: Bytes,
        value: Value,
    ) -> Result<Response<Body>> {
        if !body.is_empty() {
            content_type::require_json(&parts.headers)?;
        }
        let operation = target.operation;
        let query = request::read_query(parts.uri.query())?;
        let as_text = expects_text(&parts.headers);
        let request = parse(body.len(), move || {
            let body = if body.trim_ascii().is_empty() { Bytes::from_static(b"{}") } else { body };
            if value.is_null() {
                // Reports the parse error.
                json::from_slice::<Value>(&body)?;
            }
            Ok(request::read(shape, target, query, &body, value))
        });
        let request = request.await?;
        let revision = shape.revision();
        let context = context(parts, revision)?;
        let mut request = request?;
        if as_text && shape == RestShape::V03Proto {
            request.read_text();
        }
        let reply =
            dispatch(&*self.agent, card::HTTP_JSON, &self.options, context, request).await?;
        let mut response = match reply.response {
            AnyOutput::Unary(response) => response::result(shape, operation, response, as_text)?,
            AnyOutput::Stream(events) => {
                let frame = move |item: &_, out: &mut sse::Buffer| {
                    response::frame(shape, item, as_text, out.text());
                };
                let limits = &self.options.binding.limits;
                sse::response(events, limits, &Drain::of(&parts.extensions), frame)
            }
        };
        write_activated(revision, &reply.activated, response.headers_mut());
        ErrorRenderer::of(&mut response, || move |error| response::error(shape, error));
        Ok(response)
    }
}
