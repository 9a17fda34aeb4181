//! The honest minimum: the handlers of the floor around the least that an engine must do. An executor
//! runs in its own task; its events come through a bounded channel, and each is folded into the
//! task, which a sharded map keeps, before it is sent.
//!
//! It is a program of its own, since it allocates with mimalloc and the floor does not.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    io::Write as _,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
};

use a2a_core::{fresh_id, well_known::Timestamp};
use axum::{Router, extract::State, response::Response, routing::post};
use bytes::Bytes;
use futures_util::stream;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use serde::Serialize;
use tokio::{net::TcpListener, sync::mpsc};

use super::{
    echo::{Reached, Rpc, Said, Send, Success, Text, Wrapped, json},
    of_events,
};

/// The name of the program.
pub(crate) const PROGRAM: &str = "bench-minimum";

/// Maximum number of events that an executor is ahead.
const AHEAD: usize = 32;
/// The shards of the map.
const SHARDS: usize = 64;

/// Serves until the process is killed.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let http = listener.local_addr().unwrap();
        println!("{}", serde_json::json!({ "http": http, "jsonrpc": "/", "rest": "" }));
        let router = router(Arc::default());
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let service = TowerToHyperService::new(router.clone());
            // With writev, queued buffers would be flushed every 16.
            let connection =
                http1::Builder::new().writev(false).serve_connection(TokioIo::new(stream), service);
            tokio::spawn(connection);
        }
    });
}

fn router(engine: Arc<Engine>) -> Router {
    Router::new()
        .route("/", post(rpc))
        .route("/message:send", post(send))
        .route("/message:stream", post(streamed))
        .with_state(engine)
}

async fn rpc(State(engine): State<Arc<Engine>>, body: Bytes) -> Response {
    let Rpc { id, method, params } = serde_json::from_slice(&body).unwrap();
    let send: Send = serde_json::from_str(params.get()).unwrap();
    if method == "SendStreamingMessage" {
        return engine.stream(send.message, Some(id));
    }
    let task = engine.complete(send.message).await;
    let result = Wrapped { task: &*task.lock().unwrap() };
    json(&Success { jsonrpc: "2.0", id, result })
}

async fn send(State(engine): State<Arc<Engine>>, body: Bytes) -> Response {
    let send: Send = serde_json::from_slice(&body).unwrap();
    let task = engine.complete(send.message).await;
    json(&Wrapped { task: &*task.lock().unwrap() })
}

async fn streamed(State(engine): State<Arc<Engine>>, body: Bytes) -> Response {
    let send: Send = serde_json::from_slice(&body).unwrap();
    engine.stream(send.message, None)
}

/// The tasks, in shards.
struct Engine {
    hasher: RandomState,
    shards: [Mutex<HashMap<String, Shared>>; SHARDS],
}

type Shared = Arc<Mutex<Task>>;

impl Default for Engine {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    id: String,
    context_id: String,
    status: Reached,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<Artifact>,
    history: Vec<Said>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    artifact_id: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'static str,
    parts: Vec<Text>,
}

/// What an executor sends.
enum Event {
    Status(Reached),
    Artifact { artifact: Artifact, append: bool, last_chunk: bool },
}

impl Engine {
    /// Stores a new task, and starts its executor.
    fn begin(&self, mut message: Said) -> (Shared, mpsc::Receiver<Event>) {
        let (id, context_id) = (fresh_id(), fresh_id());
        message.task_id = Some(id.clone());
        message.context_id = Some(context_id.clone());
        let (sender, events) = mpsc::channel(AHEAD);
        tokio::spawn(execute(message.parts[0].text.clone(), sender));
        let shard = self.hasher.hash_one(&id) as usize % SHARDS;
        let task = Task {
            id: id.clone(),
            context_id,
            status: reached("TASK_STATE_SUBMITTED"),
            artifacts: Vec::new(),
            history: vec![message],
        };
        let task = Arc::new(Mutex::new(task));
        self.shards[shard].lock().unwrap().insert(id, task.clone());
        (task, events)
    }

    /// Waits for a task to end.
    async fn complete(&self, message: Said) -> Shared {
        let (task, mut events) = self.begin(message);
        while let Some(event) = events.recv().await {
            task.lock().unwrap().fold(event);
        }
        task
    }

    fn stream(&self, message: Said, rpc: Option<u64>) -> Response {
        let (task, events) = self.begin(message);
        let mut events = Events { task, events, rpc, sent: 0 };
        of_events(stream::poll_fn(move |context| events.poll_next(context)))
    }
}

impl Task {
    fn fold(&mut self, event: Event) {
        match event {
            Event::Status(status) => self.status = status,
            Event::Artifact { artifact, append: false, .. } => self.artifacts.push(artifact),
            Event::Artifact { artifact, .. } => {
                self.artifacts.last_mut().unwrap().parts.extend(artifact.parts);
            }
        }
    }
}

/// The echo agent. The task ends without a receiver.
async fn execute(text: String, events: mpsc::Sender<Event>) -> Option<()> {
    match text.split_once(':') {
        Some(("stream", count)) => {
            let count: usize = count.parse().unwrap();
            let id = fresh_id();
            events.send(Event::Status(reached("TASK_STATE_WORKING"))).await.ok()?;
            for index in 0..count {
                let text = format!("chunk {index:04} of the streamed answer");
                let (artifact_id, name, parts) = (id.clone(), "", vec![Text { text }]);
                let artifact = Artifact { artifact_id, name, parts };
                let (append, last_chunk) = (index > 0, index + 1 == count);
                events.send(Event::Artifact { artifact, append, last_chunk }).await.ok()?;
            }
        }
        _ => {
            let text = format!("Echo: {text}");
            let (artifact_id, name, parts) = (fresh_id(), "echo", vec![Text { text }]);
            let artifact = Artifact { artifact_id, name, parts };
            let (append, last_chunk) = (false, true);
            events.send(Event::Artifact { artifact, append, last_chunk }).await.ok()?;
        }
    }
    events.send(Event::Status(reached("TASK_STATE_COMPLETED"))).await.ok()
}

fn reached(state: &'static str) -> Reached {
    Reached { state, timestamp: Timestamp::now() }
}

/// The events of a task as SSE.
struct Events {
    task: Shared,
    events: mpsc::Receiver<Event>,
    /// The id of a JSON-RPC request.
    rpc: Option<u64>,
    sent: usize,
}

impl Events {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.sent == 0 {
            self.sent = 1;
            let task = self.task.lock().unwrap();
            return Poll::Ready(Some(self.framed(Update::Task(&task))));
        }
        let Some(event) = ready!(self.events.poll_recv(context)) else { return Poll::Ready(None) };
        self.sent += 1;
        let mut task = self.task.lock().unwrap();
        let (task_id, context_id) = (task.id.as_str(), task.context_id.as_str());
        let data = match &event {
            Event::Status(status) => {
                self.framed(Update::StatusUpdate(StatusUpdate { task_id, context_id, status }))
            }
            Event::Artifact { artifact, append, last_chunk } => {
                let (append, last_chunk) = (*append, *last_chunk);
                let update = ArtifactUpdate { task_id, context_id, artifact, append, last_chunk };
                self.framed(Update::ArtifactUpdate(update))
            }
        };
        task.fold(event);
        Poll::Ready(Some(data))
    }

    fn framed(&self, update: Update<'_>) -> Bytes {
        let mut data = Vec::with_capacity(512);
        write!(data, "id: {}\ndata: ", self.sent).unwrap();
        match self.rpc {
            Some(id) => {
                let success = Success { jsonrpc: "2.0", id, result: update };
                serde_json::to_writer(&mut data, &success).unwrap();
            }
            None => serde_json::to_writer(&mut data, &update).unwrap(),
        }
        data.extend_from_slice(b"\n\n");
        data.into()
    }
}

/// An event as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Update<'a> {
    Task(&'a Task),
    StatusUpdate(StatusUpdate<'a>),
    ArtifactUpdate(ArtifactUpdate<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdate<'a> {
    task_id: &'a str,
    context_id: &'a str,
    status: &'a Reached,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactUpdate<'a> {
    task_id: &'a str,
    context_id: &'a str,
    artifact: &'a Artifact,
    #[serde(skip_serializing_if = "is_false")]
    append: bool,
    #[serde(skip_serializing_if = "is_false")]
    last_chunk: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        TaskState,
        v1::{SendMessageResponse, StreamResponse, send_message_response, stream_response},
    };

    use tower::ServiceExt as _;

    use super::*;

    const MESSAGE: &str = r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"TEXT"}]}"#;

    async fn respond(engine: &Arc<Engine>, path: &str, text: &str) -> String {
        let body = format!(r#"{{"message":{}}}"#, MESSAGE.replace("TEXT", text));
        let body = match path {
            "/" => {
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{body}}}"#)
            }
            _ => body,
        };
        let request = http::Request::post(path).body(axum::body::Body::from(body)).unwrap();
        let response = router(engine.clone()).oneshot(request).await.unwrap();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(body.into()).unwrap()
    }

    #[tokio::test]
    async fn message_is_answered_with_the_stored_task() {
        let engine = Arc::default();
        for path in ["/", "/message:send"] {
            let response: serde_json::Value =
                serde_json::from_str(&respond(&engine, path, "hello").await).unwrap();
            let response = response.get("result").unwrap_or(&response).clone();
            let response: SendMessageResponse = serde_json::from_value(response).unwrap();
            let Some(send_message_response::Payload::Task(task)) = response.payload else {
                panic!("a task")
            };
            assert_eq!(task.state(), TaskState::Completed, "{path}");
            assert_eq!(task.artifacts[0].parts[0].as_text(), Some("Echo: hello"), "{path}");
            assert_eq!(task.history[0].task_id, task.id, "{path}");
        }
        let stored = engine.shards.iter().map(|shard| shard.lock().unwrap().len());
        assert_eq!(stored.sum::<usize>(), 2);
    }

    #[tokio::test]
    async fn stream_has_the_task_and_every_event_which_are_stored() {
        let engine = Arc::default();
        let events = respond(&engine, "/message:stream", "stream:40").await;
        let events: Vec<StreamResponse> = events
            .split_terminator("\n\n")
            .map(|event| serde_json::from_str(event.split_once("\ndata: ").unwrap().1).unwrap())
            .collect();
        assert_eq!(events.len(), 43);
        let is_chunk = |event: &&StreamResponse| {
            matches!(event.payload, Some(stream_response::Payload::ArtifactUpdate(_)))
        };
        assert_eq!(events.iter().filter(is_chunk).count(), 40);
        let tasks = engine
            .shards
            .iter()
            .flat_map(|shard| shard.lock().unwrap().values().cloned().collect::<Vec<_>>());
        let tasks: Vec<_> = tasks.collect();
        assert_eq!(tasks.len(), 1);
        let task = tasks[0].lock().unwrap();
        assert_eq!(task.artifacts[0].parts.len(), 40);
        assert_eq!(task.status.state, "TASK_STATE_COMPLETED");
    }
}
