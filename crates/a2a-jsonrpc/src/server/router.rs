//! The route, and the order in which a request is judged.

use std::{convert::Infallible, fmt, sync::Arc};

use a2a_core::{Error, ErrorKind, Operation, Result, card};
use a2a_http::{
    Drain, Options, body, content_type,
    dispatch::{Output, dispatch},
    error_response::Instead,
    parse::{PendingBody, parse},
    service_parameters, sse,
};
use a2a_operations::{Agent, CallContext};
use axum::{
    Router,
    body::Body,
    extract::State,
    routing::{MethodFilter, MethodRouter},
};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header::ALLOW, request::Parts};

use super::{
    answer,
    envelope::{Id, Opened, Params},
};

/// Serves `agent` over JSON-RPC (spec §9) at `POST /`.
///
/// The router has that one route and no fallback, so it merges with others. Under a prefix,
/// `nest("/rpc", ..)` answers at `/rpc` and `nest_service("/rpc", ..)` at `/rpc/` too.
pub fn router(agent: impl Agent) -> Router {
    router_with(agent, Options::default())
}

/// Serves `agent` over JSON-RPC as [`router`] does, with options.
pub fn router_with(agent: impl Agent, options: Options) -> Router {
    routes(Endpoint::new(agent, options))
}

/// This binding without a route: for servers that look at a body before they know whose it is.
#[derive(Clone)]
pub struct Endpoint {
    agent: Arc<dyn Agent>,
    options: Arc<Options>,
}

fn routes(endpoint: Endpoint) -> Router {
    let methods = MethodRouter::<_, Infallible>::new()
        .on(MethodFilter::POST, post)
        .fallback(method_not_allowed);
    Router::new().route("/", methods).with_state(endpoint)
}

async fn post(State(endpoint): State<Endpoint>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    // The body is read first whatever comes of it, so that the connection stays usable.
    let body = match body::read(body, &endpoint.options.limits).await {
        Ok(body) => PendingBody::hold(&parts.extensions, body),
        Err(error) => return answer::error(&Id::NULL, error),
    };
    let reader = endpoint.clone();
    match parse(body.len(), move || Ok(reader.open(&body))).await {
        Ok(opened) => endpoint.answer(&parts, opened).await,
        Err(error) => answer::error(&Id::NULL, error),
    }
}

async fn method_not_allowed(State(endpoint): State<Endpoint>, body: Body) -> Response<Body> {
    body::discard(body, &endpoint.options.limits).await;
    let error = Error::new(ErrorKind::MethodNotAllowed, "JSON-RPC is spoken with POST");
    let mut response = answer::error(&Id::NULL, error);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Puts `agent` behind this binding.
    pub fn new(agent: impl Agent, options: Options) -> Self {
        Self { agent: Arc::new(agent), options: Arc::new(options) }
    }

    /// Reads the envelope in a body. What is wrong with it is kept for the answer.
    pub fn open(&self, body: &Bytes) -> Opened {
        Opened::read(body, self.options.limits.max_json_values)
    }

    /// Answers a `POST` with this envelope.
    pub async fn answer(&self, parts: &Parts, opened: Opened) -> Response<Body> {
        if let Err(error) = content_type::require_json(&parts.headers) {
            return answer::error(&Id::NULL, error);
        }
        let Opened { id, request } = opened;
        let called = async {
            let (operation, params) = request?;
            let context = self.context(parts)?;
            self.call(operation, context, params, &id, parts).await
        };
        called.await.unwrap_or_else(|error| answer::error(&id, error))
    }

    fn context(&self, parts: &Parts) -> Result<CallContext> {
        let query = parts.uri.query();
        let mut context =
            service_parameters::read(&parts.headers, query, self.options.version_policy)?;
        context.caller = service_parameters::caller(&parts.extensions);
        Ok(context)
    }

    async fn call(
        &self,
        operation: Operation,
        context: CallContext,
        params: Params,
        id: &Id,
        parts: &Parts,
    ) -> Result<Response<Body>> {
        let head = answer::head(id);
        let begin = head.len();
        let reply = dispatch(&self.agent, card::JSONRPC, operation, context, params, head).await?;
        let mut response = match reply.response {
            Output::Json(body) => answer::result(body, begin),
            Output::Events(events) => sse::response(
                events,
                &self.options.limits,
                &Drain::of(&parts.extensions),
                answer::frame(id.clone()),
            ),
        };
        service_parameters::write_activated(&reply.activated, response.headers_mut());
        let id = id.clone();
        Instead::of(&mut response, move |error| answer::error(&id, error));
        Ok(response)
    }
}
