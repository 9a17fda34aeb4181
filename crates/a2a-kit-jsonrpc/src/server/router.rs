//! The route, and the processing of requests.

use std::{convert::Infallible, sync::Arc};

use a2a_core::{Error, ErrorKind, Operation, Result, card};
use a2a_kit_http::{
    BindError, BindingOptions, DirectHandler, Drain, body, content_type,
    dispatch::{Output, dispatch},
    error_response::ErrorRenderer,
    parse::{PendingBody, parse},
    serve_binding, service_parameters, sse,
};
use a2a_kit_operations::{Agent, CallContext, Engine};
use axum::{
    Router,
    body::Body,
    extract::State,
    routing::{MethodFilter, MethodRouter},
};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header::ALLOW, request::Parts};

use super::{
    envelope::{Id, Opened, Params},
    response,
};

/// Serves `agent` over JSON-RPC (spec §9) at `POST /`.
///
/// The router has one route and no fallback, so it can be merged with others. Under a prefix,
/// `nest("/rpc", ..)` serves `/rpc`, and `nest_service("/rpc", ..)` also serves `/rpc/`.
pub fn router(agent: impl Agent) -> Router {
    router_with(agent, BindingOptions::default())
}

/// Serves `agent` over JSON-RPC like [`router`], with options.
pub fn router_with(agent: impl Agent, options: BindingOptions) -> Router {
    routes(Endpoint::new(agent, options))
}

/// Serves an engine over this binding only, at `address`, until Ctrl-C or SIGTERM. Then shuts down
/// gracefully, and the engine with it; a second signal ends the grace period. For other agents and
/// settings, serve the [`router`] by [`a2a_kit_http::HttpServer`].
///
/// The agent card is not served: add `a2a_kit_http::card::router` to [`router`] for it.
///
/// # Errors
///
/// [`BindError`] if listening fails.
pub async fn serve(engine: Engine, address: &str) -> Result<(), BindError> {
    serve_binding(router(engine.clone()), engine, address).await
}

/// The response of [`router_with`] to a `POST`, for a server that calls it without a router.
pub fn handler(agent: impl Agent, options: BindingOptions) -> DirectHandler {
    let endpoint = Endpoint::new(agent, options);
    Arc::new(move |parts, body| {
        let endpoint = endpoint.clone();
        Box::pin(async move { endpoint.post(parts, body).await })
    })
}

/// This binding without a route, for servers that inspect bodies before they select a binding.
#[derive(Clone)]
pub struct Endpoint {
    agent: Arc<dyn Agent>,
    options: Arc<BindingOptions>,
}

fn routes(endpoint: Endpoint) -> Router {
    let methods = MethodRouter::<_, Infallible>::new()
        .on(MethodFilter::POST, post)
        .fallback(method_not_allowed);
    Router::new().route("/", methods).with_state(endpoint)
}

async fn post(State(endpoint): State<Endpoint>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    // The body is always read, so that the connection remains usable.
    let body = body::read(body, &endpoint.options.limits).await;
    let body = body.map(|body| PendingBody::hold(&parts.extensions, body));
    endpoint.post(parts, body).await
}

async fn method_not_allowed(State(endpoint): State<Endpoint>, body: Body) -> Response<Body> {
    body::discard(body, &endpoint.options.limits).await;
    let error = Error::new(ErrorKind::MethodNotAllowed, "method not allowed: use POST");
    let mut response = response::error(Id::NULL.as_str(), error);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

a2a_core::debug_fields!(Endpoint { options, .. });

impl Endpoint {
    /// Creates the endpoint for `agent`.
    pub fn new(agent: impl Agent, options: BindingOptions) -> Self {
        Self { agent: Arc::new(agent), options: Arc::new(options) }
    }

    /// Responds to a `POST` whose body was read, or not, with this error.
    pub async fn post(&self, parts: Parts, body: Result<Bytes>) -> Response<Body> {
        let max_values = self.options.limits.max_json_values;
        let opened = match body {
            Ok(body) => parse(body.len(), move || Ok(Opened::read(&body, max_values))).await,
            Err(error) => Err(error),
        };
        match opened {
            Ok(opened) => self.respond(&parts, opened).await,
            Err(error) => response::error(Id::NULL.as_str(), error),
        }
    }

    /// Responds to a `POST` with this envelope.
    pub async fn respond(&self, parts: &Parts, opened: Opened) -> Response<Body> {
        if let Err(error) = content_type::require_jsonrpc(&parts.headers) {
            return response::error(Id::NULL.as_str(), error);
        }
        let Opened { id, request, skimmed } = opened;
        let called = match request {
            Ok((operation, mut params)) => self.call(operation, &mut params, &id, parts).await,
            Err(error) => Err(error),
        };
        match (called, skimmed) {
            (Ok(response), _) => response,
            // Malformed JSON comes first, whatever else is wrong.
            (Err(error), Some(body)) => {
                let max_values = self.options.limits.max_json_values;
                let Opened { id, request, .. } = Opened::read_whole(&body, max_values);
                response::error(id.as_str(), request.err().unwrap_or(error))
            }
            (Err(error), None) => response::error(id.as_str(), error),
        }
    }

    fn context(&self, parts: &Parts) -> Result<CallContext> {
        let query = parts.uri.query();
        let mut context = self.options.read_parameters(&parts.headers, query)?;
        service_parameters::identify(&mut context, &parts.extensions);
        Ok(context)
    }

    async fn call(
        &self,
        operation: Operation,
        params: &mut Params,
        id: &Id,
        parts: &Parts,
    ) -> Result<Response<Body>> {
        let mut context = self.context(parts)?;
        let head = response::head(id);
        let begin = head.len();
        let reply =
            dispatch(&self.agent, card::JSONRPC, operation, &mut context, params, head).await?;
        let mut response = match reply.response {
            Output::Json(body) => response::result(body, begin),
            Output::Events(events) => sse::response(
                events,
                &self.options.limits,
                &Drain::of(&parts.extensions),
                response::frame(id.clone()),
            ),
        };
        service_parameters::write_activated(&reply.activated, response.headers_mut());
        ErrorRenderer::of(&mut response, || {
            let id = id.clone();
            move |error| response::error(id.as_str(), error)
        });
        Ok(response)
    }
}
