//! What the tests of agents share: sending, and reading streams.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use a2a_core::{
    AgentCard, Message, Part, Task, TaskState,
    v1::{
        GetTaskRequest, SendMessageRequest, TaskArtifactUpdateEvent, send_message_response,
        stream_response::Payload,
    },
};
use a2a_kit_models::{
    ModelAgent,
    model::{Answer, ChatRequest, Turn},
};
use a2a_kit_operations::{Agent as _, Call, Engine, EventStream, extension::UsageExtension};
use futures_util::StreamExt as _;

pub(crate) fn card() -> AgentCard {
    AgentCard::new("Chat", "Answers questions")
}

pub(crate) fn engine(agent: ModelAgent) -> Engine {
    agent.engine(card())
}

/// A request with a text in the context `context`, which activates the usage extension.
pub(crate) fn text(text: &str) -> Call<SendMessageRequest> {
    message(Message::user(text).with_context_id("context"))
}

pub(crate) fn message(message: Message) -> Call<SendMessageRequest> {
    let request = SendMessageRequest { message: Some(message), ..Default::default() };
    let mut call = Call::new(request);
    call.context.extensions.insert(UsageExtension::URI);
    call
}

pub(crate) async fn send(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    match engine.send_message(call).await.expect("an answer").response.payload {
        Some(send_message_response::Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

pub(crate) async fn get(engine: &Engine, id: &str) -> Task {
    let request = GetTaskRequest { id: id.to_owned(), ..Default::default() };
    let reply = engine.get_task(Call::new(request)).await.expect("a task");
    Task::clone(&reply.response)
}

pub(crate) async fn stream(engine: &Engine, call: Call<SendMessageRequest>) -> EventStream {
    engine.send_streaming_message(call).await.expect("a stream").response
}

/// The chunks of a stream, and the state at its end.
pub(crate) async fn chunks(stream: &mut EventStream) -> (Vec<TaskArtifactUpdateEvent>, TaskState) {
    let (mut chunks, mut state) = (Vec::new(), TaskState::Unspecified);
    while let Some(event) = stream.next().await {
        let event = event.expect("an event");
        match event.payload() {
            Some(Payload::ArtifactUpdate(update)) => chunks.push(update.clone()),
            Some(Payload::StatusUpdate(update)) => {
                state = update.status.as_ref().expect("a status").state();
            }
            _ => {}
        }
    }
    (chunks, state)
}

/// The chunks as `+text` for those that are appended, with `!` after the last one.
pub(crate) fn shown(chunks: &[TaskArtifactUpdateEvent]) -> Vec<String> {
    let show = |chunk: &TaskArtifactUpdateEvent| {
        let text = chunk.artifact.as_ref().map(|artifact| artifact.text()).unwrap_or_default();
        let (append, last) =
            (if chunk.append { "+" } else { "" }, if chunk.last_chunk { "!" } else { "" });
        format!("{append}{text}{last}")
    };
    chunks.iter().map(show).collect()
}

/// The turns of a request as lines.
pub(crate) fn turns(request: &ChatRequest) -> Vec<String> {
    let show = |turn: &Turn| match turn {
        Turn::User(parts) => {
            let texts: Vec<_> =
                parts.iter().map(|part| part.as_text().unwrap_or("(file)")).collect();
            format!("user: {}", texts.join(" | "))
        }
        Turn::Assistant(answer) => {
            let texts: Vec<_> = answer
                .iter()
                .map(|piece| match piece {
                    Answer::Text(text) => text.clone(),
                    other => format!("{other:?}"),
                })
                .collect();
            format!("assistant: {}", texts.join(" | "))
        }
        other => format!("{other:?}"),
    };
    request.turns.iter().map(show).collect()
}

pub(crate) fn parts(task: &Task) -> Vec<&Part> {
    task.artifacts.iter().flat_map(|artifact| &artifact.parts).collect()
}
