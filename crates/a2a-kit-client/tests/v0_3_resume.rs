//! Resuming a stream of a third-party 0.3 agent: `tasks/resubscribe` delivers only later events,
//! and events have no position.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use a2a_core::{ProtocolVersion, TaskState};
use a2a_kit_client::{Client, Snapshot, Transport};
use axum::{
    Router,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use support::{card, serve};

/// An agent with a queue of expected methods and responses.
#[derive(Clone)]
struct Agent(Arc<Mutex<VecDeque<(&'static str, Reply)>>>);

enum Reply {
    Task(Value),
    /// Events, after which the connection is closed.
    Events(Vec<Value>),
}

async fn respond(State(agent): State<Agent>, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    let (method, reply) = agent.0.lock().unwrap().pop_front().unwrap();
    assert_eq!(request["method"], method);
    let result = |result| json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    match reply {
        Reply::Task(task) => {
            ([(CONTENT_TYPE, "application/json")], result(task).to_string()).into_response()
        }
        Reply::Events(events) => {
            let events = events.into_iter().map(|event| format!("data: {}\n\n", result(event)));
            ([(CONTENT_TYPE, "text/event-stream")], events.collect::<String>()).into_response()
        }
    }
}

fn task(state: &str, texts: &[&str]) -> Value {
    let parts: Vec<_> = texts.iter().map(|text| json!({"kind": "text", "text": text})).collect();
    let artifacts =
        if parts.is_empty() { json!([]) } else { json!([{"artifactId": "a", "parts": parts}]) };
    json!({
        "kind": "task", "id": "t", "contextId": "c", "status": {"state": state},
        "artifacts": artifacts,
    })
}

fn chunk(text: &str) -> Value {
    json!({
        "kind": "artifact-update", "taskId": "t", "contextId": "c", "append": true,
        "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": text}]},
    })
}

fn completed() -> Value {
    json!({
        "kind": "status-update", "taskId": "t", "contextId": "c", "final": true,
        "status": {"state": "completed"},
    })
}

/// Reads a stream that is dropped after its first chunk. Returns the text of the task at each
/// snapshot and at the end.
async fn read_dropped_stream(after_drop: Vec<(&'static str, Reply)>) -> Vec<String> {
    let opening = vec![task("working", &[]), chunk("1 ")];
    let mut replies = VecDeque::from([("message/stream", Reply::Events(opening))]);
    replies.extend(after_drop);
    let agent = Agent(Arc::new(Mutex::new(replies)));
    let remaining = Arc::clone(&agent.0);
    let address = serve(Router::new().route("/", post(respond)).with_state(agent)).await;
    let mut card = card(Transport::JsonRpc, address);
    ProtocolVersion::V0_3.as_str().clone_into(&mut card.supported_interfaces[0].protocol_version);
    let client = Client::builder().build(card).unwrap();

    let mut events = client.stream("count").await.unwrap();
    let mut snapshot = Snapshot::new();
    let mut texts = Vec::new();
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        snapshot.apply(&event).unwrap();
        if event.task().is_some() {
            texts.push(snapshot.task().unwrap().text());
        }
    }
    assert!(remaining.lock().unwrap().is_empty(), "all replies were used");
    let task = snapshot.into_task().unwrap();
    assert_eq!(task.state(), TaskState::Completed);
    texts.push(task.text());
    texts
}

#[tokio::test]
async fn events_missed_while_disconnected_are_read_from_the_task() {
    let texts = read_dropped_stream(vec![
        ("tasks/get", Reply::Task(task("working", &["1 ", "2 "]))),
        ("tasks/resubscribe", Reply::Events(vec![chunk("3 "), completed()])),
        ("tasks/get", Reply::Task(task("completed", &["1 ", "2 ", "3 "]))),
    ]);
    assert_eq!(texts.await, ["", "1 2 ", "1 2 3 "]);
}

#[tokio::test]
async fn events_missed_before_resubscription_are_in_the_final_task() {
    let texts = read_dropped_stream(vec![
        ("tasks/get", Reply::Task(task("working", &["1 "]))),
        ("tasks/resubscribe", Reply::Events(vec![chunk("3 "), completed()])),
        ("tasks/get", Reply::Task(task("completed", &["1 ", "2 ", "3 "]))),
    ]);
    assert_eq!(texts.await, ["", "1 2 3 ", "1 2 3 "]);
}

#[tokio::test]
async fn task_that_ended_while_disconnected_ends_the_stream() {
    let texts =
        read_dropped_stream(vec![("tasks/get", Reply::Task(task("completed", &["1 ", "2 "])))]);
    assert_eq!(texts.await, ["", "1 2 ", "1 2 "]);
}
