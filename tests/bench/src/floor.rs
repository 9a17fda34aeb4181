//! The floor: axum and tonic handlers without an engine, a store or validation. They decode a
//! request and encode the response of the echo agent with serde and prost. Stream events are
//! prepared, encoded for SSE and as messages for gRPC.

pub(crate) mod durable;
mod echo;
pub(crate) mod minimum;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use a2a_core::{
    Artifact, Message, Operation, TaskState, fresh_id,
    v1::{
        GetTaskRequest, SendMessageRequest, SendMessageResponse, StreamResponse, Task,
        TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent,
        send_message_response::Payload as Answer, stream_response::Payload as Event,
    },
    well_known::Timestamp,
};
use axum::{
    Router,
    body::Body,
    extract::{FromRequestParts, Path, Request},
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::ListenerExt as _,
};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{
    header::{AUTHORIZATION, CONTENT_TYPE},
    request::Parts,
};
use ring::digest::{SHA256, digest};
use tokio::{net::TcpListener, time::Instant};
use tonic::{Status, server::Grpc, service::Routes, transport::server::TcpIncoming};
use tonic_prost::ProstCodec;

use crate::{request::PAGE_SIZE, throughput::CHUNKS};

use echo::{Echo, Page, Read, Rpc, Said, Send, Success, Text, Wrapped, json};

/// The argument that runs this program as the floor.
pub(crate) const COMMAND: &str = "floor";

/// Serves until the process is killed.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addresses = serde_json::json!({
            "http": http.local_addr().unwrap(),
            "grpc": grpc.local_addr().unwrap(),
            "jsonrpc": "/",
            "rest": "",
        });
        println!("{addresses}");
        let http = http.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let grpc = TcpIncoming::from(grpc).with_nodelay(Some(true));
        let tonic = tonic::transport::Server::builder().add_routes(Routes::from(of_grpc()));
        let (axum, tonic) =
            tokio::join!(axum::serve(http, of_json()), tonic.serve_with_incoming(grpc));
        axum.unwrap();
        tonic.unwrap();
    });
}

// -- JSON ------------------------------------------------------------------------------------

/// The state shared by the handlers.
struct Written {
    /// The events of a stream, for JSON-RPC.
    wrapped: Vec<Bytes>,
    /// The events of a stream, for HTTP+JSON.
    plain: Vec<Bytes>,
    /// The messages of a task with a long history.
    history: Vec<Said>,
    /// The start and the number of events of the streams with many subscribers.
    start: Mutex<Option<(Instant, usize)>>,
}

/// The id of a task with a long history.
const HISTORY: &str = "history";
/// The id of a task with many subscribers.
const LATER: &str = "later";

fn of_json() -> Router {
    let history = (0..HISTORY_MESSAGES).map(|index| Said {
        message_id: fresh_id(),
        context_id: Some(fresh_id()),
        task_id: Some(fresh_id()),
        role: "ROLE_AGENT".into(),
        parts: vec![Text { text: format!("message {index:04} of the history") }],
    });
    let (wrapped, plain) = (events(true), events(false));
    let written = Written { wrapped, plain, history: history.collect(), start: Mutex::default() };
    let written = Arc::new(written);
    let of_rest = written.clone();
    Router::new()
        .route("/", post(async move |_: Hashed, body: Bytes| rpc(&body, &written)))
        .route("/message:send", post(rest))
        .route("/message:stream", post(async move || streamed(of_rest.plain.clone())))
        .route("/tasks/{id}", get(async |Path(id): Path<String>| json(&Echo::known(id))))
}

/// Hashes the credentials of a request, if it has any.
struct Hashed;

impl<S: Sync> FromRequestParts<S> for Hashed {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, Infallible> {
        if let Some(credentials) = head.headers.get(AUTHORIZATION) {
            std::hint::black_box(digest(&SHA256, credentials.as_bytes()));
        }
        Ok(Self)
    }
}

fn rpc(body: &[u8], written: &Written) -> Response {
    let Rpc { id, method, params } = serde_json::from_slice(body).unwrap();
    match method {
        "SendMessage" => {
            let send: Send = serde_json::from_str(params.get()).unwrap();
            let text = send.message.parts[0].text.as_str();
            let task_id = match text.split_once(':') {
                Some(("history", _)) => HISTORY.into(),
                Some(("later", events)) => {
                    let start = Instant::now() + Duration::from_secs(1);
                    *written.start.lock().unwrap() = Some((start, events.parse().unwrap()));
                    LATER.into()
                }
                _ => fresh_id(),
            };
            let task = Echo::of(send.message, task_id);
            json(&Success { jsonrpc: "2.0", id, result: Wrapped { task } })
        }
        "GetTask" => {
            let read: Read<'_> = serde_json::from_str(params.get()).unwrap();
            let mut task = Echo::known(read.id.to_owned());
            if read.id == HISTORY {
                task.history.clone_from(&written.history);
            }
            json(&Success { jsonrpc: "2.0", id, result: task })
        }
        "ListTasks" => {
            let tasks = (0..PAGE_SIZE).map(|_| Echo::known(fresh_id())).collect();
            let page =
                Page { tasks, next_page_token: "50", page_size: PAGE_SIZE, total_size: 100_000 };
            json(&Success { jsonrpc: "2.0", id, result: page })
        }
        // The first event only; or all others at the start time.
        "SubscribeToTask" => {
            let start = *written.start.lock().unwrap();
            let events = written.wrapped.clone();
            let rest = async move {
                let Some((start, count)) = start else { std::future::pending().await };
                tokio::time::sleep_until(start).await;
                stream::iter((0..count).map(move |index| events[index % events.len()].clone()))
            };
            let first = stream::iter([written.wrapped[0].clone()]);
            of_events(first.chain(stream::once(rest).flatten()))
        }
        _ => streamed(written.wrapped.clone()),
    }
}

async fn rest(body: Bytes) -> Response {
    let call: Send = serde_json::from_slice(&body).unwrap();
    json(&Wrapped { task: Echo::of(call.message, fresh_id()) })
}

fn streamed(events: Vec<Bytes>) -> Response {
    of_events(stream::iter(events))
}

fn of_events(events: impl stream::Stream<Item = Bytes> + std::marker::Send + 'static) -> Response {
    let body = Body::from_stream(events.map(Ok::<_, Infallible>));
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// The messages in the history of the task with a long one.
pub(crate) const HISTORY_MESSAGES: usize = 1_000;

/// The encoded events of a stream.
fn events(is_rpc: bool) -> Vec<Bytes> {
    let text = |(index, event): (usize, StreamResponse)| {
        let event = serde_json::to_string(&event).unwrap();
        let event = match is_rpc {
            true => format!(r#"{{"jsonrpc":"2.0","id":1,"result":{event}}}"#),
            false => event,
        };
        format!("id: {}\ndata: {event}\n\n", index + 1).into()
    };
    of_stream().into_iter().enumerate().map(text).collect()
}

// -- messages --------------------------------------------------------------------------------

fn task(message: Option<Message>, id: String, state: TaskState) -> Task {
    Task {
        id,
        context_id: fresh_id(),
        status: Some(status(state)),
        history: message.into_iter().collect(),
        ..Task::default()
    }
}

fn status(state: TaskState) -> TaskStatus {
    TaskStatus { state: state.into(), message: None, timestamp: Some(Timestamp::now()) }
}

fn echo(mut message: Option<Message>, id: String) -> Task {
    let context_id = fresh_id();
    let mut text = String::from("Echo: hello");
    if let Some(message) = &mut message {
        text = format!("Echo: {}", message.parts[0].as_text().unwrap_or_default());
        message.context_id.clone_from(&context_id);
        message.task_id.clone_from(&id);
    }
    Task {
        context_id,
        artifacts: vec![Artifact::new("echo", text)],
        ..task(message, id, TaskState::Completed)
    }
}

/// The events of a stream.
fn of_stream() -> Vec<StreamResponse> {
    let text = format!("stream:{CHUNKS}");
    let task = task(Some(Message::user(text)), fresh_id(), TaskState::Submitted);
    let (task_id, context_id, artifact_id) = (task.id.clone(), task.context_id.clone(), fresh_id());
    let reached = |state| {
        Event::StatusUpdate(TaskStatusUpdateEvent {
            task_id: task_id.clone(),
            context_id: context_id.clone(),
            status: Some(status(state)),
            ..TaskStatusUpdateEvent::default()
        })
    };
    let chunks = (0..CHUNKS).map(|index| {
        let chunk = Artifact {
            artifact_id: artifact_id.clone(),
            parts: vec![format!("chunk {index:04} of the streamed answer").into()],
            ..Artifact::default()
        };
        Event::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: task_id.clone(),
            context_id: context_id.clone(),
            artifact: Some(chunk),
            append: index > 0,
            last_chunk: index + 1 == CHUNKS,
            ..TaskArtifactUpdateEvent::default()
        })
    });
    let begun = [Event::Task(task), reached(TaskState::Working)];
    begun
        .into_iter()
        .chain(chunks)
        .chain([reached(TaskState::Completed)])
        .map(|event| StreamResponse { payload: Some(event) })
        .collect()
}

// -- gRPC ------------------------------------------------------------------------------------

fn of_grpc() -> Router {
    let send = async |request: Request| {
        let answer = async |request: tonic::Request<SendMessageRequest>| {
            let task = echo(request.into_inner().message, fresh_id());
            let payload = Some(Answer::Task(task));
            Ok::<_, Status>(tonic::Response::new(SendMessageResponse { payload }))
        };
        let codec = ProstCodec::<SendMessageResponse, SendMessageRequest>::default();
        Grpc::new(codec).unary(tower::service_fn(answer), request).await
    };
    let read = async |request: Request| {
        let answer = async |request: tonic::Request<GetTaskRequest>| {
            let task = echo(Some(Message::user("hello")), request.into_inner().id);
            Ok::<_, Status>(tonic::Response::new(task))
        };
        let codec = ProstCodec::<Task, GetTaskRequest>::default();
        Grpc::new(codec).unary(tower::service_fn(answer), request).await
    };
    let events: Arc<[StreamResponse]> = of_stream().into();
    let streamed = async move |request: Request| {
        let answer = async |_: tonic::Request<SendMessageRequest>| {
            let events = events.clone();
            let events = (0..events.len()).map(move |index| Ok(events[index].clone()));
            Ok::<_, Status>(tonic::Response::new(stream::iter(events)))
        };
        let codec = ProstCodec::<StreamResponse, SendMessageRequest>::default();
        Grpc::new(codec).server_streaming(tower::service_fn(answer), request).await
    };
    let path = |operation: Operation| format!("/lf.a2a.v1.A2AService/{}", operation.name());
    Router::new()
        .route(&path(Operation::SendMessage), post(send))
        .route(&path(Operation::GetTask), post(read))
        .route(&path(Operation::SendStreamingMessage), post(streamed))
}
