//! One JSON-RPC endpoint for every revision.

use std::{borrow::Cow, sync::Arc};

use a2a_core::{Detail, Error, ErrorKind, Operation, ProtocolVersion, Result, card};
use a2a_http::{
    Drain, VersionPolicy, body, fault, media, parameters, pieces, refusal::Instead, report, sse,
};
use a2a_operations::{Agent, Event, EventStream, Reply, Scope};
use axum::{Router, body::Body, extract::State, routing::post};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use http::{Request, Response, StatusCode, header::CONTENT_TYPE, request::Parts};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};
use tower::ServiceExt as _;

use super::{
    FrontOptions,
    common::{asked_version, context, perform, write_activated},
    dialect,
    stream::is_last,
};
use crate::{
    AnyAnswer, Dialect,
    detect::{self, Decision, JsonRpcRequest, Params},
};

/// Serves `agent` over JSON-RPC at `POST /`, in every revision that the options name, each in
/// its own shapes.
pub fn jsonrpc(agent: impl Agent, options: FrontOptions) -> Router {
    let agent: Arc<dyn Agent> = Arc::new(agent);
    let current = a2a_jsonrpc::router_with(Arc::clone(&agent), options.binding.clone());
    let front = Front { agent, current: current.clone(), options: Arc::new(options) };
    // What is not a POST is the current binding's to refuse.
    let others = move |request: Request<Body>| current.oneshot(request);
    Router::new().route("/", post(answer).fallback(others)).with_state(front)
}

#[derive(Clone)]
struct Front {
    agent: Arc<dyn Agent>,
    current: Router,
    options: Arc<FrontOptions>,
}

/// As much of an envelope as it takes to tell the revision.
#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    /// Null is an id, as in the current binding.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// Reads a member that is there, null included.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl<'a> Peek<'a> {
    fn params(&self) -> Params<'a> {
        Params::new(self.params.map_or("", RawValue::get))
    }
}

async fn answer(State(front): State<Front>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = match body::read(body, &front.options.binding.limits).await {
        Ok(body) => body,
        Err(error) => return refuse(None, "null", error),
    };
    let Ok(peek) = serde_json::from_slice::<Peek<'_>>(&body) else {
        return front.forward(parts, body).await;
    };
    match front.decide(&parts, &peek) {
        Decision::Current => front.forward(parts, body).await,
        Decision::Older(revision) => front.answer(revision, &parts, peek).await,
        Decision::Refused { error, shape } => {
            refuse(dialect(shape).as_deref(), id_of(&peek).unwrap_or("null"), error)
        }
    }
}

/// The id to answer under.
///
/// # Errors
///
/// [`ErrorKind::InvalidRequest`] where there is none, or not one that JSON-RPC allows.
fn id_of<'a>(peek: &Peek<'a>) -> Result<&'a str> {
    let message = "id is required: a string, a number or null";
    let none = || Error::new(ErrorKind::InvalidRequest, message);
    let id = peek.id.ok_or_else(none)?.get();
    a2a_jsonrpc::check_id(id)?;
    Ok(id)
}

impl Front {
    async fn forward(self, parts: Parts, body: Bytes) -> Response<Body> {
        match self.current.oneshot(Request::from_parts(parts, Body::from(body))).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    fn decide(&self, parts: &Parts, peek: &Peek<'_>) -> Decision {
        let params = peek.params();
        let version = asked_version(parts);
        // With a version and a method of 1.0, it does not matter where a task comes from.
        let origin = if peek.method.contains('/') || version.is_none() {
            self.origin(parts, params.value())
        } else {
            None
        };
        let request = JsonRpcRequest { method: &peek.method, version, params: &params, origin };
        let lenient = self.options.binding.version_policy == VersionPolicy::Lenient;
        detect::jsonrpc(&request, &self.options.revisions, lenient)
    }

    /// The revision in which the task that a request names was made.
    fn origin(&self, parts: &Parts, params: &Value) -> Option<ProtocolVersion> {
        let scope = Scope::new("", &parameters::caller(&parts.extensions));
        let id = ["id", "taskId", "name"].iter().find_map(|name| params.get(name)?.as_str())?;
        let id = id.strip_prefix("tasks/").unwrap_or(id);
        self.options.origins.revision(&scope, id)
    }

    async fn answer(
        self,
        revision: ProtocolVersion,
        parts: &Parts,
        peek: Peek<'_>,
    ) -> Response<Body> {
        let Some(dialect) = dialect(revision) else {
            return refuse(None, "null", Error::internal("the current revision has no dialect"));
        };
        let id = match id_of(&peek) {
            Ok(id) => id,
            Err(error) => return refuse(Some(&*dialect), "null", error),
        };
        if peek.jsonrpc.as_deref() != Some("2.0") {
            let error = Error::new(ErrorKind::InvalidRequest, "jsonrpc must be \"2.0\"");
            return refuse(Some(&*dialect), id, error);
        }
        let id = id.to_owned();
        let streams = matches!(&*peek.method, "message/stream" | "tasks/resubscribe");
        match self.call(&dialect, parts, &peek.method, peek.params().value().clone()).await {
            Ok((operation, reply)) => {
                let asked = id.clone();
                let mut response = match reply.response {
                    AnyAnswer::One(answer) => {
                        result(&id, &dialect.write_response(operation, answer))
                    }
                    AnyAnswer::Events(events) => self.events(&dialect, parts, id, events),
                };
                write_activated(revision, &reply.activated, response.headers_mut());
                Instead::of(&mut response, move |error| refuse(Some(&*dialect), &asked, error));
                response
            }
            // Clients of 0.3 take nothing but an event stream for the answer to these.
            Err(error) if streams && error.kind().codes().jsonrpc_http == 200 => {
                let events = EventStream::new(stream::iter([Err(error)]));
                self.events(&dialect, parts, id, events)
            }
            Err(error) => refuse(Some(&*dialect), &id, error),
        }
    }

    fn events(
        &self,
        dialect: &Arc<dyn Dialect>,
        parts: &Parts,
        id: String,
        events: EventStream,
    ) -> Response<Body> {
        let dialect = Arc::clone(dialect);
        let frame = move |item: &Result<Event>, out: &mut sse::Buffer| match item {
            Ok(event) => {
                let last = is_last(dialect.revision(), event);
                let event = dialect.write_event(event.response(), last);
                head(out.text(), &id, "result");
                out.push(text(&event).into());
                out.text().put_u8(b'}');
            }
            Err(error) => write(out.text(), &id, "error", &dialect.write_error(error)),
        };
        let drain = Drain::of(&parts.extensions);
        sse::untyped_response(events, &self.options.binding.limits, &drain, frame)
    }

    async fn call(
        &self,
        dialect: &Arc<dyn Dialect>,
        parts: &Parts,
        method: &str,
        params: Value,
    ) -> Result<(Operation, Reply<AnyAnswer>)> {
        media::require_json(&parts.headers)?;
        let context = context(parts, dialect.revision())?;
        let request = dialect.read_request(method, params)?;
        let operation = request.operation();
        let reply = perform(&*self.agent, card::JSONRPC, &self.options, context, request).await?;
        Ok((operation, reply))
    }
}

fn result(id: &str, value: &Value) -> Response<Body> {
    let mut envelope = BytesMut::with_capacity(64);
    head(&mut envelope, id, "result");
    let begin = envelope.len();
    let mut body = Vec::from(envelope);
    // As in `write`: nothing can fail.
    let _ = serde_json::to_writer(&mut body, value);
    json(StatusCode::OK, pieces::enveloped(body, begin, b"}"))
}

/// Answers with an error, in the shapes of a revision or of the current one.
fn refuse(dialect: Option<&dyn Dialect>, id: &str, error: Error) -> Response<Body> {
    let error = report(error);
    let status = StatusCode::from_u16(error.kind().codes().jsonrpc_http);
    let mut body = BytesMut::with_capacity(512);
    match dialect {
        Some(dialect) => write(&mut body, id, "error", &dialect.write_error(&error)),
        None => write(&mut body, id, "error", &CurrentError::of(&error)),
    }
    let mut response = json(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body.freeze());
    fault::write_headers(&error, response.headers_mut());
    response
}

/// An error object of the current revision, its members in the order of the binding's own.
#[derive(Serialize)]
struct CurrentError<'a> {
    code: i32,
    message: &'a str,
    data: Vec<Detail>,
}

impl<'a> CurrentError<'a> {
    fn of(error: &'a Error) -> Self {
        let code = error.kind().codes().jsonrpc;
        Self { code, message: error.message(), data: error.details() }
    }
}

fn write(out: &mut BytesMut, id: &str, member: &str, value: &impl Serialize) {
    head(out, id, member);
    // Values and maps of strings into memory: nothing in there can fail.
    let _ = serde_json::to_writer(out.writer(), value);
    out.put_u8(b'}');
}

/// The envelope of an answer up to where a member stands.
fn head(out: &mut BytesMut, id: &str, member: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"");
    out.extend_from_slice(member.as_bytes());
    out.extend_from_slice(b"\":");
}

fn text(value: &Value) -> Vec<u8> {
    // As above.
    serde_json::to_vec(value).unwrap_or_default()
}

fn json(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media::JSON);
    response
}
