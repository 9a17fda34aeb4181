//! The routes, and the processing of requests.

use std::sync::Arc;

use a2a_core::{Operation, Result, card};
use a2a_kit_http::{
    BindError, BindingOptions, DirectHandler, Drain, body, content_type,
    dispatch::{Output, dispatch},
    error_response::ErrorRenderer,
    parse::PendingBody,
    serve_binding, service_parameters, sse,
};
use a2a_kit_operations::{Agent, Engine};
use axum::{
    Router,
    body::Body,
    extract::{OriginalUri, State},
    routing::any,
};
use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response,
    header::{ALLOW, CACHE_CONTROL, VARY},
    request::Parts,
};

use super::{
    query::Query,
    request::RequestSource,
    response,
    route::{self, NoMatch, Target},
};

/// Serves `agent` over HTTP+JSON (spec §11), at the root and under `/{tenant}`.
///
/// Unknown paths get an error of this binding from the router's fallback. To merge it with another
/// router that has a fallback, remove one with `reset_fallback()`. It can be nested under any
/// prefix.
pub fn router(agent: impl Agent) -> Router {
    router_with(agent, BindingOptions::default())
}

/// Serves `agent` over HTTP+JSON like [`router`], with options.
pub fn router_with(agent: impl Agent, options: BindingOptions) -> Router {
    routes(Binding { agent: Arc::new(agent), options: Arc::new(options) })
}

/// The response of [`router_with`] to a request, for a server that calls it without a router.
pub fn handler(agent: impl Agent, options: BindingOptions) -> DirectHandler {
    let binding = Binding { agent: Arc::new(agent), options: Arc::new(options) };
    Arc::new(move |parts, body| {
        let binding = binding.clone();
        Box::pin(async move { binding.answer(resolve(&parts), &parts, body).await })
    })
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

#[derive(Clone)]
struct Binding {
    agent: Arc<dyn Agent>,
    options: Arc<BindingOptions>,
}

fn routes(binding: Binding) -> Router {
    let mut router = Router::new();
    for pattern in route::patterns() {
        router = router.route(&pattern, any(handle));
    }
    router.fallback(handle).with_state(binding)
}

async fn handle(State(binding): State<Binding>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let target = resolve(&parts);
    let limits = &binding.options.limits;
    // The body is always read, so that the connection remains usable.
    let body = if target.as_ref().is_ok_and(|target| target.has_body) {
        let body = body::read(body, limits).await;
        body.map(|body| PendingBody::hold(&parts.extensions, body))
    } else {
        body::discard(body, limits).await;
        Ok(Bytes::new())
    };
    binding.answer(target, &parts, body).await
}

fn resolve(parts: &Parts) -> Result<Target, NoMatch> {
    // HEAD is GET without the body, which the router removes (RFC 9110 §9.3.2).
    let method = if parts.method == Method::HEAD { &Method::GET } else { &parts.method };
    route::resolve(method, parts.uri.path())
}

/// The path of a request as sent, before a router removed a prefix from it.
fn path_of(parts: &Parts) -> &str {
    parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |OriginalUri(uri)| uri).path()
}

fn reject(no_match: NoMatch, path: &str, media_type: HeaderValue) -> Response<Body> {
    let allowed = match &no_match {
        NoMatch::WrongMethod(methods) => HeaderValue::try_from(methods.join(", ")).ok(),
        NoMatch::UnknownPath | NoMatch::Malformed(_) => None,
    };
    let mut response = response::error(no_match.into_error(path), media_type);
    if let Some(allowed) = allowed {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

impl Binding {
    /// Responds to a request whose body was read, or not, with this error.
    async fn answer(
        &self,
        target: Result<Target, NoMatch>,
        parts: &Parts,
        body: Result<Bytes>,
    ) -> Response<Body> {
        let media_type = content_type::response_type(&parts.headers);
        match target {
            Ok(target) => self
                .respond(target, parts, body, &media_type)
                .await
                .unwrap_or_else(|error| response::error(error, media_type)),
            Err(no_match) => reject(no_match, path_of(parts), media_type),
        }
    }

    async fn respond(
        &self,
        target: Target,
        parts: &Parts,
        body: Result<Bytes>,
        media_type: &HeaderValue,
    ) -> Result<Response<Body>> {
        let Target { operation, has_body, variables } = target;
        let query = parts.uri.query();
        let limits = &self.options.limits;
        let body = if has_body { Some(body?) } else { None };
        let mut context = self.options.read_parameters(&parts.headers, query)?;
        service_parameters::identify(&mut context, &parts.extensions);
        if body.as_ref().is_some_and(|body| !body.is_empty()) {
            content_type::require_json(&parts.headers)?;
        }
        let query = Query::parse(query.unwrap_or_default())?;
        let max_values = limits.max_json_values;
        let source = &mut RequestSource { body, max_values, query, variables };
        let (agent, out) = (&self.agent, Vec::with_capacity(1 << 10));
        let reply = dispatch(agent, card::HTTP_JSON, operation, &mut context, source, out).await?;
        let mut response = match reply.response {
            Output::Json(json) => response::result(json, media_type.clone()),
            Output::Events(events) => {
                sse::response(events, limits, &Drain::of(&parts.extensions), response::frame)
            }
        };
        service_parameters::write_activated(&reply.activated, response.headers_mut());
        if operation == Operation::GetExtendedAgentCard {
            // The card is specific to the caller: shared caches must not store it (spec §13.3).
            let headers = response.headers_mut();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=300"));
            headers.insert(VARY, HeaderValue::from_static("authorization"));
        }
        ErrorRenderer::of(&mut response, || {
            let media_type = media_type.clone();
            move |error| response::error(error, media_type.clone())
        });
        Ok(response)
    }
}
