//! A stream of an agent of 0.3 as others write them: `tasks/resubscribe` gives what happens from
//! then on, and no event has a position.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use a2a_client::{Client, Snapshot, Transport};
use a2a_core::{ProtocolVersion, TaskState};
use axum::{
    Router,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use support::{card, serve};

/// What the agent answers to one method after another.
#[derive(Clone)]
struct Agent(Arc<Mutex<VecDeque<(&'static str, Answer)>>>);

enum Answer {
    Task(Value),
    /// Events, behind which the connection is closed, wherever that is.
    Events(Vec<Value>),
}

async fn answer(State(agent): State<Agent>, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    let (method, answer) = agent.0.lock().unwrap().pop_front().unwrap();
    assert_eq!(request["method"], method);
    let result = |result| json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    match answer {
        Answer::Task(task) => {
            ([(CONTENT_TYPE, "application/json")], result(task).to_string()).into_response()
        }
        Answer::Events(events) => {
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

/// Reads a stream that is cut after its first chunk, and returns what its reader knows each time
/// that it has the whole task, and at the end.
async fn read(after_the_cut: Vec<(&'static str, Answer)>) -> Vec<String> {
    let opening = vec![task("working", &[]), chunk("1 ")];
    let mut answers = VecDeque::from([("message/stream", Answer::Events(opening))]);
    answers.extend(after_the_cut);
    let agent = Agent(Arc::new(Mutex::new(answers)));
    let left = Arc::clone(&agent.0);
    let address = serve(Router::new().route("/", post(answer)).with_state(agent)).await;
    let mut card = card(Transport::JsonRpc, address);
    ProtocolVersion::V0_3.as_str().clone_into(&mut card.supported_interfaces[0].protocol_version);
    let client = Client::builder().build(card).unwrap();

    let mut events = client.stream("count").await.unwrap();
    let mut snapshot = Snapshot::new();
    let mut known = Vec::new();
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        snapshot.apply(&event);
        if event.task().is_some() {
            known.push(snapshot.task().unwrap().text());
        }
    }
    assert!(left.lock().unwrap().is_empty(), "everything was asked for");
    let task = snapshot.into_task().unwrap();
    assert_eq!(task.state(), TaskState::Completed);
    known.push(task.text());
    known
}

#[tokio::test]
async fn what_happened_during_a_cut_is_read_from_the_task() {
    let known = read(vec![
        ("tasks/get", Answer::Task(task("working", &["1 ", "2 "]))),
        ("tasks/resubscribe", Answer::Events(vec![chunk("3 "), completed()])),
        ("tasks/get", Answer::Task(task("completed", &["1 ", "2 ", "3 "]))),
    ]);
    assert_eq!(known.await, ["", "1 2 ", "1 2 3 "]);
}

#[tokio::test]
async fn what_happened_before_the_agent_took_the_stream_up_is_there_at_the_end() {
    let known = read(vec![
        ("tasks/get", Answer::Task(task("working", &["1 "]))),
        ("tasks/resubscribe", Answer::Events(vec![chunk("3 "), completed()])),
        ("tasks/get", Answer::Task(task("completed", &["1 ", "2 ", "3 "]))),
    ]);
    assert_eq!(known.await, ["", "1 2 3 ", "1 2 3 "]);
}

#[tokio::test]
async fn a_task_that_ended_during_a_cut_ends_the_stream() {
    let known = read(vec![("tasks/get", Answer::Task(task("completed", &["1 ", "2 "])))]);
    assert_eq!(known.await, ["", "1 2 ", "1 2 "]);
}
