//! HTTP+JSON as 0.3 and the draft of 1.0 have it, below `/v1`.

mod answer;
mod request;
mod route;

use std::sync::Arc;

use a2a_core::{Error, ErrorKind, ProtocolVersion, Result, card, json, value_limit::check_json};
use a2a_http::{
    Drain, body, content_type,
    error_response::Instead,
    parse::{PendingBody, parse},
    service_parameters, sse,
};
use a2a_operations::{Agent, Scope};
use axum::{Router, body::Body, extract::State, routing::any};
use bytes::Bytes;
use http::{Request, Response, request::Parts};
use serde_json::Value;
use tower::ServiceExt as _;

use super::{
    FrontOptions,
    common::{asked_version, context, perform, write_activated},
};
use crate::{
    AnyAnswer,
    detect::{self, RestDecision, RestRequest, RestShape},
    proto::{Files as _, expects_text},
};
use route::Target;

/// Serves `agent` over HTTP+JSON below `/v1`, in the shapes of 0.3 and of the draft of 1.0, each
/// answered as it asks.
///
/// It is merged with `a2a_rest::router`, which has the routes of 1.0: a tenant called `v1` is
/// reached only where the older revisions are switched off. It has no fallback.
pub fn rest(agent: impl Agent, options: FrontOptions) -> Router {
    let served = &options.revisions;
    if !served.contains(ProtocolVersion::V0_3) && !served.contains(ProtocolVersion::V1Draft) {
        return Router::new();
    }
    let agent: Arc<dyn Agent> = Arc::new(agent);
    let current = a2a_rest::router_with(Arc::clone(&agent), options.binding.clone());
    let front = Front { agent, current, options: Arc::new(options) };
    let mut router = Router::new();
    for pattern in route::PATTERNS {
        router = router.route(pattern, any(serve));
    }
    router.with_state(front)
}

#[derive(Clone)]
struct Front {
    agent: Arc<dyn Agent>,
    current: Router,
    options: Arc<FrontOptions>,
}

async fn serve(State(front): State<Front>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    // What is no route here is the current binding's to refuse.
    let Some(target) = route::resolve(&parts.method, parts.uri.path()) else {
        return front.forward(parts, body).await;
    };
    let limits = &front.options.binding.limits;
    let max_values = limits.max_json_values;
    let read = body::read(body, limits).await;
    let read = read.map(|body| PendingBody::hold(&parts.extensions, body));
    let decided = parse(read.as_ref().map_or(0, Bytes::len), move || {
        let read = read.and_then(|body| check_json(&body, max_values).map(|()| body));
        let text = read.as_deref().unwrap_or_default();
        // A body that can't be read shows nothing, and is refused in the shape that the rest
        // shows.
        let value = serde_json::from_slice(text).unwrap_or_default();
        let decision = front.decide(&parts, &target, &value);
        Ok((front, parts, target, decision, read, value))
    });
    let (front, parts, target, decision, read, value) = match decided.await {
        Ok(decided) => decided,
        Err(error) => return answer::error(RestShape::Proto, error),
    };
    match (decision, read) {
        (RestDecision::Current, Ok(body)) => front.forward(parts, Body::from(body)).await,
        (RestDecision::Current, Err(error)) => answer::error(RestShape::Proto, error),
        (RestDecision::Older(shape), read) => {
            let answered = match read {
                Ok(body) => front.answer(shape, target, &parts, body, value).await,
                Err(error) => Err(error),
            };
            answered.unwrap_or_else(|error| answer::error(shape, error))
        }
    }
}

impl Front {
    async fn forward(self, parts: Parts, body: Body) -> Response<Body> {
        if !self.options.revisions.contains(ProtocolVersion::V1_0) {
            let error = Error::new(ErrorKind::MethodNotFound, "there is nothing at this path");
            return answer::error(RestShape::Proto, error);
        }
        match self.current.oneshot(Request::from_parts(parts, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    fn decide(&self, parts: &Parts, target: &Target, body: &Value) -> RestDecision {
        let request = RestRequest {
            path: parts.uri.path(),
            version: asked_version(parts),
            body,
            origin: self.origin(parts, &target.task_id),
        };
        detect::rest(&request, &self.options.revisions)
    }

    /// The revision in which a task was made.
    fn origin(&self, parts: &Parts, task_id: &str) -> Option<ProtocolVersion> {
        if task_id.is_empty() {
            return None;
        }
        let scope = Scope::new("", &service_parameters::caller(&parts.extensions));
        self.options.origins.revision(&scope, task_id)
    }

    async fn answer(
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
        let query = request::read_query(parts.uri.query());
        let as_text = expects_text(&parts.headers);
        let request = parse(body.len(), move || {
            let body = if body.trim_ascii().is_empty() { Bytes::from_static(b"{}") } else { body };
            if value.is_null() {
                // Says what is wrong with it.
                json::from_slice::<Value>(&body)?;
            }
            Ok(request::read(shape, target, query, &body, value))
        });
        let request = request.await?;
        let revision = shape.revision();
        let context = context(parts, revision)?;
        let mut request = request?;
        if as_text && shape == RestShape::Proto {
            request.read_text();
        }
        let reply = perform(&*self.agent, card::HTTP_JSON, &self.options, context, request).await?;
        let mut response = match reply.response {
            AnyAnswer::One(response) => answer::result(shape, operation, response, as_text)?,
            AnyAnswer::Events(events) => {
                let frame = move |item: &_, out: &mut sse::Buffer| {
                    answer::frame(shape, item, as_text, out.text());
                };
                let limits = &self.options.binding.limits;
                sse::response(events, limits, &Drain::of(&parts.extensions), frame)
            }
        };
        write_activated(revision, &reply.activated, response.headers_mut());
        Instead::of(&mut response, move |error| answer::error(shape, error));
        Ok(response)
    }
}
