//! Clients that use HTTP in unusual ways: one table with a row for each behaviour, on every binding,
//! and streams that are resumed or half closed.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed setup fails the test"
)]

mod rows;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use a2a_core::{
    AgentCard, Artifact,
    v1::{GetTaskRequest, SendMessageRequest, StreamResponse, SubscribeToTaskRequest, Task},
};
use a2a_kit_operations::{
    AgentExecutor, BoxError, Engine, MemoryStore, RequestContext, Store, TaskUpdater,
};
use a2a_tests::backend::Backend;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Semaphore,
    task::JoinHandle,
    time::timeout,
};
use tonic::{Code, Request, Status, Streaming, client::Grpc, transport::Channel};
use tonic_prost::ProstCodec;

use crate::rows::{ROWS, Row};

/// Timeout, far longer than any test takes.
const LONG: Duration = Duration::from_secs(30);

/// Streams two artifacts and waits for the gate before it appends to the second (`pair`), waits for
/// the gate (`gate`), or completes.
struct Executor(Arc<Semaphore>);

impl AgentExecutor for Executor {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        match context.text().as_str() {
            "pair" => {
                updates.start().await?;
                updates.artifact(Artifact::new("a", "a0").with_id("A")).await?;
                updates.begin(Artifact::new("b", "b0").with_id("B")).await?;
                self.0.acquire().await?.forget();
                updates.append_last(Artifact::new("b", "b1").with_id("B")).await?;
                updates.complete("done").await?;
            }
            "gate" => {
                updates.start().await?;
                self.0.acquire().await?.forget();
                updates.complete("done").await?;
            }
            _ => updates.complete("done").await?,
        }
        Ok(())
    }
}

struct Served {
    address: SocketAddr,
    gate: Arc<Semaphore>,
    task: JoinHandle<()>,
}

impl Served {
    async fn start() -> Self {
        Self::start_on(Arc::new(MemoryStore::new())).await
    }

    async fn start_on(store: Arc<dyn Store>) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let card = AgentCard::new("Odd", "An agent under test")
            .with_streaming(true)
            .with_input_modes(["text/plain"]);
        let executor = Executor(Arc::clone(&gate));
        let engine = Engine::builder(card, executor).shared_store(store).build();
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = a2a_kit::Server::from(engine);
        let task = tokio::spawn(async move {
            server.serve(listener, std::future::pending()).await.unwrap();
        });
        Self { address, gate, task }
    }

    /// Sends a request and returns the open connection.
    async fn open(&self, head: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut bytes = head.replace('\n', "\r\n");
        bytes.push_str(&format!("\r\nHost: {}\r\n", self.address));
        if !body.is_empty() || head.starts_with("POST") {
            bytes.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        bytes.push_str("\r\n");
        stream.write_all(&[bytes.as_bytes(), body].concat()).await.unwrap();
        stream
    }

    /// Sends a request on a connection of its own, and returns the head and the body.
    async fn send(&self, head: &str, body: &[u8]) -> (String, String) {
        let mut stream = self.open(&format!("{head}\nConnection: close"), body).await;
        let answer = rest(&mut stream).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }

    async fn rpc(&self, headers: &str, method: &str, params: &Value) -> Value {
        let (_, body) =
            self.send(&format!("POST / HTTP/1.1{headers}"), &call(method, params)).await;
        serde_json::from_str(&body).unwrap()
    }

    /// Creates a completed task, and returns its id.
    async fn completed(&self) -> String {
        let sent = self.rpc(V1, "SendMessage", &message("hello")).await;
        sent["result"]["task"]["id"].as_str().unwrap().to_owned()
    }

    async fn channel(&self) -> Channel {
        let url = format!("http://{}", self.address);
        Channel::from_shared(url).unwrap().connect().await.unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads to the end of a connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("an answer in time").unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Reads until `end`, and returns everything up to it.
async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.contains(end) {
        let read = timeout(LONG, stream.read(&mut buffer)).await;
        let count = read.unwrap_or_else(|_| panic!("no {end:?} in {text:?}")).unwrap();
        assert_ne!(count, 0, "closed before {end:?}: {text:?}");
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    text
}

const V1: &str = "\nA2A-Version: 1.0\nContent-Type: application/json";

fn call(method: &str, params: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string().into()
}

fn message(text: &str) -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// The data of the events in a response, with their ids.
fn events(text: &str) -> Vec<(Option<u64>, Value)> {
    let data = |event: &str| {
        let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let id = line("id: ").and_then(|id| id.parse().ok());
        Some((id, serde_json::from_str(line("data: ")?).ok()?))
    };
    text.split("\n\n").filter_map(data).collect()
}

#[tokio::test]
async fn odd_requests_are_served_or_refused_with_a_reason() {
    let served = Served::start().await;
    let task = served.completed().await;
    let mut failures = Vec::new();
    for Row { name, head, body, status, contains } in ROWS {
        let (head, body) = served.send(&head.replace("{task}", &task), body.as_bytes()).await;
        let answer = format!("{head}\n\n{body}");
        let mut missing: Vec<_> = contains
            .iter()
            .map(|text| text.replace("{task}", &task))
            .filter(|text| !answer.contains(text))
            .collect();
        if !head.starts_with(&format!("http/1.1 {status} ")) {
            missing.push(format!("status {status}"));
        }
        if !missing.is_empty() {
            failures.push(format!("{name}: no {missing:?} in {answer}"));
        }
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[tokio::test]
async fn head_has_the_status_and_the_headers_of_get() {
    let served = Served::start().await;
    let task = served.completed().await;
    for path in [
        format!("/tasks/{task}"),
        "/tasks".to_owned(),
        "/tasks/none".to_owned(),
        format!("/v1/tasks/{task}"),
        "/v1/card".to_owned(),
        "/.well-known/agent-card.json".to_owned(),
        "/.well-known/agent.json".to_owned(),
        "/healthz".to_owned(),
        "/readyz".to_owned(),
    ] {
        let version = if path.starts_with("/v1") { "" } else { "\nA2A-Version: 1.0" };
        let (get, _) = served.send(&format!("GET {path} HTTP/1.1{version}"), b"").await;
        let (head, nothing) = served.send(&format!("HEAD {path} HTTP/1.1{version}"), b"").await;
        // Error ids differ, and the order of fields means nothing (RFC 9110 §5.3).
        let without_date = |text: &str| {
            let fields = text.lines().filter(|line| !line.starts_with("date"));
            let mut fields: Vec<_> = fields.map(str::to_owned).collect();
            fields.sort_unstable();
            fields
        };
        assert_eq!(without_date(&head), without_date(&get), "{path}");
        assert_eq!(nothing, "", "{path}");
    }
}

#[tokio::test]
async fn client_that_shuts_its_sending_side_gets_its_answer() {
    let served = Served::start().await;
    for (head, body) in [
        (format!("POST / HTTP/1.1{V1}"), call("SendMessage", &message("gate"))),
        (format!("POST / HTTP/1.1{V1}"), call("SendStreamingMessage", &message("gate"))),
        (format!("POST /message:send HTTP/1.1{V1}"), message("gate").to_string().into()),
        (format!("POST /message:stream HTTP/1.1{V1}"), message("gate").to_string().into()),
    ] {
        let mut stream = served.open(&head, &body).await;
        stream.shutdown().await.unwrap();
        // A server that takes it for a disconnect closes the connection at once.
        let closed = timeout(Duration::from_millis(200), stream.peek(&mut [0])).await;
        assert!(!matches!(closed, Ok(Ok(0) | Err(_))), "closed: {head}");
        served.gate.add_permits(1);
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains("TASK_STATE_COMPLETED"), "{answer}");
    }
}

#[tokio::test]
async fn half_closed_stream_brings_later_events_and_ends() {
    let served = Served::start().await;
    let body = call("SendStreamingMessage", &message("gate"));
    let mut stream = served.open(&format!("POST / HTTP/1.1{V1}"), &body).await;
    until(&mut stream, "TASK_STATE_WORKING").await;
    stream.shutdown().await.unwrap();
    // The server looks whether the peer is still there.
    until(&mut stream, ": ping").await;
    served.gate.add_permits(1);
    let answer = rest(&mut stream).await;
    assert!(answer.contains("TASK_STATE_COMPLETED"), "{answer}");
}

/// The artifact events of a response of 0.1: index, append, text.
fn artifacts_0_1(text: &str) -> Vec<(Value, bool, Value)> {
    let artifacts = events(text).into_iter().filter_map(|(_, event)| {
        let artifact = event["result"].get("artifact")?.clone();
        let append = artifact["append"].as_bool().unwrap_or(false);
        Some((artifact["index"].clone(), append, artifact["parts"][0]["text"].clone()))
    });
    artifacts.collect()
}

#[tokio::test]
async fn resumed_stream_of_0_1_keeps_the_indexes_of_artifacts() {
    let served = Served::start().await;
    let part = json!({"type": "text", "text": "pair"});
    let params = json!({"id": "mine", "message": {"role": "user", "parts": [part]}});
    let head = "POST / HTTP/1.1\nContent-Type: application/json";
    let mut stream = served.open(head, &call("tasks/sendSubscribe", &params)).await;
    let begun = until(&mut stream, "\"b0\"").await + &until(&mut stream, "\n\n").await;
    drop(stream);
    let resubscribe = call("tasks/resubscribe", &json!({"id": "mine"}));
    let last = events(&begun).into_iter().filter_map(|(id, _)| id).next_back().unwrap();
    let resuming = format!("{head}\nLast-Event-ID: {last}\nConnection: close");
    let mut resumed = served.open(&resuming, &resubscribe).await;
    let mut fresh = served.open(&format!("{head}\nConnection: close"), &resubscribe).await;
    let snapshot = until(&mut fresh, "working").await;
    until(&mut resumed, "\r\n\r\n").await;
    served.gate.add_permits(1);
    let resumed = rest(&mut resumed).await;
    assert_eq!(artifacts_0_1(&resumed), [(json!(1), true, json!("b1"))], "{resumed}");
    let whole = snapshot + &rest(&mut fresh).await;
    let expected = [
        (json!(0), false, json!("a0")),
        (json!(1), false, json!("b0")),
        (json!(1), true, json!("b1")),
    ];
    assert_eq!(artifacts_0_1(&whole), expected, "{whole}");
}

#[tokio::test]
async fn resumed_streams_of_later_revisions_keep_artifacts_and_chunks() {
    let served = Served::start().await;
    let kind = json!({"kind": "message", "messageId": "m", "role": "user",
        "parts": [{"kind": "text", "text": "pair"}]});
    let draft = json!({"messageId": "m", "role": "user", "parts": [{"text": "pair"}]});
    for (headers, send, params, subscribe, name) in [
        ("", "message/stream", json!({"message": kind}), "tasks/resubscribe", "id"),
        (
            "\nA2A-Version: 0.2",
            "message/stream",
            json!({"message": kind}),
            "tasks/resubscribe",
            "id",
        ),
        ("", "SendStreamingMessage", json!({"message": draft}), "SubscribeToTask", "name"),
        ("\nA2A-Version: 1.0", "SendStreamingMessage", message("pair"), "SubscribeToTask", "id"),
    ] {
        let head = format!("POST / HTTP/1.1{headers}\nContent-Type: application/json");
        let mut stream = served.open(&head, &call(send, &params)).await;
        let begun = until(&mut stream, "\"b0\"").await + &until(&mut stream, "\n\n").await;
        drop(stream);
        let known = events(&begun);
        let last = known.iter().filter_map(|(id, _)| *id).next_back().unwrap();
        let task = known.iter().find_map(|(_, event)| find(event, &["taskId", "id"])).unwrap();
        let id = if name == "name" { format!("tasks/{task}") } else { task };
        let body = call(subscribe, &json!({name: id}));
        let head = format!("{head}\nLast-Event-ID: {last}\nConnection: close");
        let mut resumed = served.open(&head, &body).await;
        until(&mut resumed, "\r\n\r\n").await;
        served.gate.add_permits(1);
        let resumed = rest(&mut resumed).await;
        assert!(
            !resumed.contains("\"a0\"") && !resumed.contains("\"b0\""),
            "{headers} {send}: {resumed}"
        );
        let chunk =
            events(&resumed).into_iter().find(|(_, event)| event.to_string().contains("b1"));
        let chunk = chunk.unwrap().1.to_string();
        assert!(chunk.contains(r#""artifactId":"B""#), "{headers} {send}: {chunk}");
        assert!(chunk.contains(r#""append":true"#), "{headers} {send}: {chunk}");
    }
}

/// The id of the task of an event, at any depth.
fn find(value: &Value, names: &[&str]) -> Option<String> {
    let Value::Object(members) = value else { return None };
    let own = names.iter().find_map(|name| members.get(*name)?.as_str());
    own.map(str::to_owned).or_else(|| members.values().find_map(|member| find(member, names)))
}

const LEGACY: &str = "/a2a.v1.A2AService/";
const CURRENT: &str = "/lf.a2a.v1.A2AService/";

async fn grpc<Q, A>(
    channel: &Channel,
    path: String,
    request: Q,
    metadata: &[(&'static str, &str)],
) -> Result<Streaming<A>, Status>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let mut request = Request::new(request);
    for (name, value) in metadata {
        request.metadata_mut().append(*name, value.parse().unwrap());
    }
    let mut client = Grpc::new(channel.clone());
    client.ready().await.unwrap();
    let codec = ProstCodec::<Q, A>::default();
    let answer = client.server_streaming(request, path.parse().unwrap(), codec).await?;
    Ok(answer.into_inner())
}

fn grpc_message(text: &str) -> SendMessageRequest {
    serde_json::from_value(message(text)).unwrap()
}

#[tokio::test]
async fn last_event_id_of_a_grpc_send_does_not_cut_its_stream() {
    // With the memory store, the first event would be ready in time.
    let (stores, _directory) = Backend::Sqlite.stores().await;
    let served = Served::start_on(Arc::clone(&stores[0])).await;
    let channel = served.channel().await;
    let metadata = [("a2a-version", "1.0"), ("last-event-id", "5")];
    let path = format!("{CURRENT}SendStreamingMessage");
    let sent = grpc(&channel, path, grpc_message("gate"), &metadata).await;
    let mut events: Streaming<StreamResponse> = sent.unwrap();
    served.gate.add_permits(1);
    let mut count = 0;
    while let Some(event) = events.message().await.unwrap() {
        count += usize::from(event.payload.is_some());
    }
    assert!(count > 1, "{count} events");
}

#[tokio::test]
async fn repeated_grpc_metadata_is_joined_or_refused() {
    let served = Served::start().await;
    let task = served.completed().await;
    let channel = served.channel().await;
    let get = |metadata: Vec<(&'static str, &'static str)>| {
        let request = GetTaskRequest { id: task.clone(), ..GetTaskRequest::default() };
        let channel = channel.clone();
        async move {
            let path = format!("{CURRENT}GetTask");
            let mut answer: Streaming<Task> = grpc(&channel, path, request, &metadata).await?;
            answer.message().await.map(|task| task.is_some())
        }
    };
    let version = ("a2a-version", "1.0");
    assert!(get(vec![version, version]).await.unwrap());
    assert!(get(vec![version, ("a2a-extensions", "a"), ("a2a-extensions", "b")]).await.unwrap());
    for (name, one, other) in [
        ("a2a-version", "1.0", "0.3"),
        ("authorization", "Bearer a", "Bearer b"),
        ("last-event-id", "1", "2"),
        ("idempotency-key", "a", "b"),
    ] {
        let status = get(vec![version, (name, one), (name, other)]).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{name}: {status}");
        assert!(status.message().to_ascii_lowercase().contains(name), "{name}: {status}");
        let path = format!("{LEGACY}TaskSubscription");
        let request = SubscribeToTaskRequest { id: "tasks/t".into(), ..Default::default() };
        let metadata = [(name, one), (name, other)];
        let refused: Result<Streaming<Task>, _> = grpc(&channel, path, request, &metadata).await;
        let status = refused.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{name}: {status}");
    }
    let unknown = get(vec![("a2a-version", "1.1")]).await.unwrap_err();
    assert!(unknown.message().contains("0.1,0.2,0.3,1.0"), "{unknown}");
}
