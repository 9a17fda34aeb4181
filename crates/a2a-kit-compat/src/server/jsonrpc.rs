//! A JSON-RPC endpoint for all revisions.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, Operation, ProtocolVersion, Result, card, value_limit::check_json,
};
use a2a_kit_http::{
    DirectHandler, Drain, VersionPolicy, body, content_type,
    error_response::ErrorRenderer,
    parse::{MAX_INLINE_BYTES, PendingBody, parse},
    report, service_parameters, sse,
};
use a2a_kit_jsonrpc::{Endpoint, Envelope, Opened, wire};
use a2a_kit_operations::{Agent, Event, EventStream, Reply, Scope};
use axum::{Router, body::Body, extract::State, routing::post};
use bytes::{BufMut as _, Bytes};
use futures_util::stream;
use http::{Request, Response, request::Parts};
use serde_json::Value;
use tower::ServiceExt as _;

use super::{
    dispatch::{context, dispatch, name_revision, requested_version, write_activated},
    options::ServerOptions,
    stream::is_last,
};
use crate::{
    AnyOutput, AnyRequest, Dialect,
    detect::{self, Decision, JsonRpcRequest, Params},
    revision::dialect,
};

/// Serves `agent` over JSON-RPC at `POST /`, in all enabled revisions.
pub fn jsonrpc(agent: impl Agent, options: ServerOptions) -> Router {
    let agent: Arc<dyn Agent> = Arc::new(agent);
    // Other methods are rejected by the current binding.
    let router = a2a_kit_jsonrpc::router_with(Arc::clone(&agent), options.binding.clone());
    let others = move |request: Request<Body>| router.oneshot(request);
    let server = Server::new(agent, options);
    Router::new().route("/", post(serve).fallback(others)).with_state(server)
}

/// The response of [`jsonrpc`] to a `POST`, for a server that calls it without a router.
#[doc(hidden)]
pub fn jsonrpc_handler(agent: impl Agent, options: ServerOptions) -> DirectHandler {
    let server = Server::new(Arc::new(agent), options);
    Arc::new(move |parts, body| Box::pin(Arc::clone(&server).post(parts, body)))
}

struct Server {
    agent: Arc<dyn Agent>,
    current: Endpoint,
    options: ServerOptions,
}

async fn serve(State(server): State<Arc<Server>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = body::read(body, &server.options.binding.limits).await;
    let body = body.map(|body| PendingBody::hold(&parts.extensions, body));
    server.post(parts, body).await
}

/// A request, by revision.
enum Read {
    Current(Opened),
    Older(Box<OlderRequest>),
    Rejected {
        /// The revision of the error; `None` for the current one.
        revision: Option<ProtocolVersion>,
        id: String,
        error: Error,
    },
}

/// A request of an older revision.
struct OlderRequest {
    dialect: &'static dyn Dialect,
    /// The request id.
    id: String,
    /// Whether the response is a stream.
    streams: bool,
    request: Result<AnyRequest>,
}

/// The request id.
///
/// # Errors
///
/// [`ErrorKind::InvalidRequest`] if it is missing or not allowed by JSON-RPC.
fn id_of<'a>(envelope: &Envelope<'a>) -> Result<&'a str> {
    let message = "id is required: a string, a number or null";
    let missing = || Error::new(ErrorKind::InvalidRequest, message);
    let id = envelope.id_text().ok_or_else(missing)?;
    a2a_kit_jsonrpc::check_id(id)?;
    Ok(id)
}

impl Server {
    fn new(agent: Arc<dyn Agent>, options: ServerOptions) -> Arc<Self> {
        let current = Endpoint::new(Arc::clone(&agent), options.binding.clone());
        Arc::new(Self { agent, current, options })
    }

    /// Responds to a `POST` whose body was read, or not, with this error.
    async fn post(self: Arc<Self>, parts: Parts, body: Result<Bytes>) -> Response<Body> {
        let body = match body {
            Ok(body) => body,
            Err(error) => return reject(None, "null", error),
        };
        if body.len() <= MAX_INLINE_BYTES {
            let read = self.read(&parts, &body);
            return self.answer(&parts, read).await;
        }
        let read = Box::pin(parse(body.len(), move || {
            let read = self.read(&parts, &body);
            Ok((self, parts, read))
        }));
        match read.await {
            Ok((server, parts, read)) => server.answer(&parts, read).await,
            Err(error) => reject(None, "null", error),
        }
    }

    async fn answer(&self, parts: &Parts, read: Read) -> Response<Body> {
        match read {
            Read::Current(opened) => self.current.respond(parts, opened).await,
            Read::Older(request) => Box::pin(self.respond(parts, *request)).await,
            Read::Rejected { revision, id, error } => {
                reject(revision.and_then(dialect), &id, error)
            }
        }
    }

    /// Detects the revision of a request, and reads requests of older revisions.
    fn read(&self, parts: &Parts, body: &Bytes) -> Read {
        let version = requested_version(parts);
        let max_values = self.options.binding.limits.max_json_values;
        // Nearly all requests with version 1.0 are current ones.
        let is_v1_0 = |version: &str| version.trim() == ProtocolVersion::V1_0.as_str();
        let certainly_current =
            |params: &str| detect::is_current(&Params::new(params), &self.options.revisions);
        let is_v1_0 = version.as_deref().is_some_and(is_v1_0);
        if is_v1_0 && let Some(opened) = Opened::skim(body, max_values, certainly_current) {
            return Read::Current(opened);
        }
        let envelope = match Envelope::read(body) {
            Ok(envelope) => envelope,
            Err(error) => return Read::Current(Opened::rejected(error)),
        };
        if is_v1_0 {
            let opened = Opened::of(&envelope, body, check_json(body, max_values));
            if opened.operation().is_some_and(|(_, params)| certainly_current(params)) {
                return Read::Current(opened);
            }
        }
        let bounded = check_json(body, max_values);
        let jsonrpc = envelope.jsonrpc();
        let has_text = jsonrpc.is_some() || !envelope.has_jsonrpc();
        let Some(method) = envelope.method().filter(|_| has_text) else {
            return Read::Current(Opened::of(&envelope, body, bounded));
        };
        // Too large to inspect: the revision of the error is detected without the parameters.
        let inspected = envelope.params().filter(|_| bounded.is_ok());
        let params = Params::new(inspected.unwrap_or_default());
        let rejected =
            |revision, id: &str, error| Read::Rejected { revision, id: id.to_owned(), error };
        let revision = match self.decide(parts, version.as_deref(), &method, &params) {
            Decision::Current => return Read::Current(Opened::of(&envelope, body, bounded)),
            Decision::Older(revision) => revision,
            Decision::Rejected { error, revision } => {
                return rejected(Some(revision), id_of(&envelope).unwrap_or("null"), error);
            }
        };
        let Some(dialect) = dialect(revision) else {
            let error = Error::internal("no dialect for the current revision");
            return rejected(None, "null", error);
        };
        let id = match id_of(&envelope) {
            Ok(id) => id,
            Err(error) => return rejected(Some(revision), "null", error),
        };
        if jsonrpc.as_deref() != Some("2.0") {
            let error = Error::new(ErrorKind::InvalidRequest, "jsonrpc must be \"2.0\"");
            return rejected(Some(revision), id, error);
        }
        let request = bounded.and_then(|()| dialect.read_request(&method, params.into_value()));
        Read::Older(Box::new(OlderRequest {
            dialect,
            id: id.to_owned(),
            streams: matches!(&*method, "message/stream" | "tasks/resubscribe"),
            request,
        }))
    }

    fn decide(
        &self,
        parts: &Parts,
        version: Option<&str>,
        method: &str,
        params: &Params<'_>,
    ) -> Decision {
        // Irrelevant for a method of 1.0 with a version.
        let origin = if method.contains('/') || version.is_none() {
            self.origin(parts, params.value())
        } else {
            None
        };
        let request = JsonRpcRequest { method, version, params, origin };
        let lenient = self.options.binding.version_policy == VersionPolicy::Lenient;
        detect::jsonrpc(&request, &self.options.revisions, lenient)
    }

    /// The revision in which the task of a request was created.
    fn origin(&self, parts: &Parts, params: &Value) -> Option<ProtocolVersion> {
        let scope = Scope::new("", &service_parameters::caller(&parts.extensions));
        let id = ["id", "taskId", "name"].iter().find_map(|name| params.get(name)?.as_str())?;
        let id = id.strip_prefix("tasks/").unwrap_or(id);
        self.options.task_revisions.revision(&scope, id)
    }

    async fn respond(&self, parts: &Parts, request: OlderRequest) -> Response<Body> {
        let OlderRequest { dialect, id, streams, request } = request;
        let revision = dialect.revision();
        match self.call(parts, revision, request).await {
            Ok((operation, reply)) => {
                let request_id = id.clone();
                let mut response = match reply.response {
                    AnyOutput::Unary(response) => {
                        result(&id, &dialect.write_response(operation, response))
                    }
                    AnyOutput::Stream(events) => self.events(dialect, parts, id, events),
                };
                write_activated(revision, &reply.activated, response.headers_mut());
                ErrorRenderer::of(&mut response, || {
                    move |error| reject(Some(dialect), &request_id, error)
                });
                response
            }
            // Clients of 0.3 only accept an event stream here.
            Err(error) if streams && error.kind().codes().jsonrpc_http == 200 => {
                let events = EventStream::new(stream::iter([Err(error)]));
                let mut response = self.events(dialect, parts, id, events);
                name_revision(revision, response.headers_mut());
                response
            }
            Err(error) => reject(Some(dialect), &id, error),
        }
    }

    fn events(
        &self,
        dialect: &'static dyn Dialect,
        parts: &Parts,
        id: String,
        events: EventStream,
    ) -> Response<Body> {
        let frame = move |item: &Result<Event>, out: &mut sse::Buffer| match item {
            Ok(event) => {
                let last = is_last(dialect.revision(), event);
                let event = dialect.write_event(event.response(), last);
                wire::write_head(out.text(), &id, "result");
                // Infallible: a JSON value, written to memory.
                out.push(serde_json::to_vec(&event).unwrap_or_default().into());
                out.text().put_u8(b'}');
            }
            Err(error) => wire::write_error(out.text(), &id, &dialect.write_error(error)),
        };
        let drain = Drain::of(&parts.extensions);
        sse::untyped_response(events, &self.options.binding.limits, &drain, frame)
    }

    async fn call(
        &self,
        parts: &Parts,
        revision: ProtocolVersion,
        request: Result<AnyRequest>,
    ) -> Result<(Operation, Reply<AnyOutput>)> {
        content_type::require_jsonrpc(&parts.headers)?;
        let context = context(parts, revision)?;
        let request = request?;
        let operation = request.operation();
        let reply = dispatch(&*self.agent, card::JSONRPC, &self.options, context, request).await?;
        Ok((operation, reply))
    }
}

fn result(id: &str, value: &Value) -> Response<Body> {
    let mut body = Vec::with_capacity(1 << 10);
    wire::write_head(&mut body, id, "result");
    let head = body.len();
    // Infallible: a JSON value, written to memory.
    let _ = serde_json::to_writer(&mut body, value);
    wire::result(body, head)
}

/// Responds with an error in the format of the dialect, or of the current revision.
fn reject(dialect: Option<&dyn Dialect>, id: &str, error: Error) -> Response<Body> {
    let Some(dialect) = dialect else { return wire::error(id, error) };
    let error = report(error);
    let mut response = wire::error_response(id, &error, &dialect.write_error(&error));
    name_revision(dialect.revision(), response.headers_mut());
    response
}
