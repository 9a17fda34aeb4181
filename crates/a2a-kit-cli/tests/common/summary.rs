//! Short texts of events and tasks, for tables of what an agent answers.
#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use a2a_core::{
    Artifact, Message, Part, Task, TaskState,
    v1::{
        GetTaskRequest, SendMessageConfiguration, SendMessageRequest, SendMessageResponse,
        StreamResponse, TaskStatus, part::Content, send_message_response, stream_response::Payload,
    },
};
use a2a_kit_jsonrpc::Client;
use a2a_kit_operations::{Agent, Call};
use futures_util::StreamExt;

/// A client of the server at this URL.
pub fn client(url: &str) -> Client {
    Client::new(url).unwrap()
}

/// A message with this id and this text.
pub fn message(id: &str, text: &str) -> Message {
    Message { message_id: id.to_owned(), ..Message::user(text) }
}

/// Streams what comes of a message: one entry an event.
pub async fn stream(agent: &impl Agent, message: Message) -> Vec<String> {
    let request = SendMessageRequest { message: Some(message), ..Default::default() };
    let mut events = agent.send_streaming_message(Call::new(request)).await.unwrap().response;
    let mut summary = Vec::new();
    while let Some(event) = events.next().await {
        summary.push(event_summary(event.unwrap().response()));
    }
    summary
}

/// Sends a message and waits for what comes of it.
pub async fn send(agent: &impl Agent, message: Message) -> send_message_response::Payload {
    let request = SendMessageRequest { message: Some(message), ..Default::default() };
    response(agent.send_message(Call::new(request)).await.unwrap().response)
}

/// Reads a task.
pub async fn get(agent: &impl Agent, id: &str) -> Task {
    let request = GetTaskRequest { id: id.to_owned(), ..Default::default() };
    (*agent.get_task(Call::new(request)).await.unwrap().response).clone()
}

/// Sends a message and does not wait.
pub async fn send_at_once(agent: &impl Agent, message: Message) -> send_message_response::Payload {
    let configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    let request =
        SendMessageRequest { message: Some(message), configuration, ..Default::default() };
    response(agent.send_message(Call::new(request)).await.unwrap().response)
}

fn response(response: SendMessageResponse) -> send_message_response::Payload {
    response.payload.expect("a task or a message")
}

/// The task of an answer.
pub fn task(payload: send_message_response::Payload) -> Task {
    match payload {
        send_message_response::Payload::Task(task) => task,
        send_message_response::Payload::Message(message) => panic!("a message: {message:?}"),
    }
}

/// State, text and artifacts of a task: `COMPLETED "text" [parts]`.
pub fn task_summary(task: &Task) -> String {
    let mut summary = status_summary(task.status.as_ref());
    if summary == "COMPLETED" {
        assert!(!task.artifacts.is_empty(), "an answer is in the status or in an artifact");
    }
    for artifact in &task.artifacts {
        summary.push(' ');
        summary.push_str(&artifact_summary(artifact));
    }
    summary
}

fn event_summary(event: &StreamResponse) -> String {
    match event.payload.as_ref().expect("an event with content") {
        Payload::Task(task) => {
            assert!(!task.history.is_empty(), "the message is in the history from the start");
            format!("task {}", task_summary(task))
        }
        Payload::Message(message) => format!("message {:?}", message.text()),
        Payload::StatusUpdate(update) => status_summary(update.status.as_ref()),
        Payload::ArtifactUpdate(update) => {
            let artifact = artifact_summary(update.artifact.as_ref().expect("an artifact"));
            let append = if update.append { "+" } else { "" };
            let last = if update.last_chunk { "." } else { "" };
            format!("{append}{artifact}{last}")
        }
    }
}

fn status_summary(status: Option<&TaskStatus>) -> String {
    let status = status.expect("a status");
    assert!(status.timestamp.is_some(), "every status has a time");
    let state = status.state();
    let name = state.as_str_name().trim_start_matches("TASK_STATE_");
    match &status.message {
        Some(message) => format!("{name} {:?}", message.text()),
        None => {
            let needs_text = state.is_terminal() && state != TaskState::Completed;
            assert!(!needs_text, "every final state but COMPLETED has a text");
            name.to_owned()
        }
    }
}

fn artifact_summary(artifact: &Artifact) -> String {
    let parts: Vec<_> = artifact.parts.iter().map(part_summary).collect();
    format!("[{}]", parts.join(", "))
}

fn part_summary(part: &Part) -> String {
    let content = match part.content.as_ref().expect("a part with content") {
        Content::Text(text) => format!("{text:?}"),
        Content::Raw(raw) => format!("raw {}", raw.len()),
        Content::Url(url) => url.clone(),
        Content::Data(data) => serde_json::to_string(data).unwrap(),
    };
    [content.as_str(), &part.filename, &part.media_type]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
