//! Agents from closures, and streams as artifacts.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{io, sync::Arc};

use a2a_core::{
    AgentCard, Artifact, Message, Part, Task, TaskState,
    v1::{SendMessageRequest, TaskArtifactUpdateEvent, send_message_response::Payload},
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Caller, Data, Engine, RequestContext, TaskUpdater,
    UpdateError, agent_fn, agent_fn_with, stream_fn, stream_fn_with,
};
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;

fn engine(executor: impl AgentExecutor) -> Engine {
    let card = AgentCard::new("Test", "An agent under test");
    Engine::new(card.with_input_modes(["text/plain", "application/json"]), executor)
}

fn call(message: Message) -> Call<SendMessageRequest> {
    Call::new(SendMessageRequest { message: Some(message), ..SendMessageRequest::default() })
}

async fn task_of(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    match engine.send_message(call).await.expect("an answer").response.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

/// The chunks of a streamed answer, and its final state.
async fn chunks_of(engine: &Engine) -> (Vec<TaskArtifactUpdateEvent>, TaskState) {
    let sent = engine.send_streaming_message(call(Message::user("go"))).await.expect("a stream");
    let events: Vec<_> = sent.response.map(|event| event.expect("an event")).collect().await;
    let chunks = events.iter().filter_map(|event| event.artifact_update().cloned()).collect();
    (chunks, events.last().and_then(|event| event.state()).expect("a final state"))
}

fn described(chunks: &[TaskArtifactUpdateEvent]) -> Vec<(String, bool, bool)> {
    chunks.iter().map(|chunk| (chunk.text(), chunk.append, chunk.last_chunk)).collect()
}

#[tokio::test]
async fn closure_takes_the_text_and_the_context() {
    let engine = engine(agent_fn(async |text: String, context: RequestContext| {
        format!("{text} by {}", context.call().caller.subject().unwrap_or_default())
    }));
    let mut sent = call(Message::user("written"));
    sent.context.caller = Caller::authenticated("ann");
    assert_eq!(task_of(&engine, sent).await.text(), "written by ann");
}

#[tokio::test]
async fn closure_takes_the_message_the_task_and_the_updates() {
    let engine =
        engine(agent_fn(async |message: Message, task: Arc<Task>, updates: TaskUpdater| {
            assert_eq!(message.task_id, task.id);
            updates.complete("by hand").await
        }));
    let task = task_of(&engine, call(Message::user("go"))).await;
    assert_eq!((task.state(), task.status_text()), (TaskState::Completed, "by hand".into()));
}

#[tokio::test]
async fn closure_with_state_takes_it_before_the_arguments() {
    let state = Arc::new("echo: ");
    let engine = engine(agent_fn_with(
        state,
        async |prefix: Arc<&'static str>, text: String, updates: TaskUpdater| {
            updates.start().await?;
            Ok::<_, UpdateError>(format!("{prefix}{text}"))
        },
    ));
    assert_eq!(task_of(&engine, call(Message::user("hi"))).await.text(), "echo: hi");
}

#[tokio::test]
async fn closure_takes_typed_data_and_the_caller_learns_which_member_is_invalid() {
    #[derive(Deserialize)]
    struct Trip {
        city: String,
        days: u8,
    }
    let engine = engine(agent_fn(async |Data(trip): Data<Trip>| {
        format!("{} days in {}", trip.days, trip.city)
    }));
    let sent = |days: serde_json::Value| {
        call(Message::user(Part::data(serde_json::json!({ "city": "Oslo", "days": days }))))
    };
    assert_eq!(task_of(&engine, sent(3.into())).await.text(), "3 days in Oslo");
    let failed = task_of(&engine, sent("three".into())).await;
    assert_eq!(failed.state(), TaskState::Failed);
    assert!(failed.status_text().contains("data.days"), "{}", failed.status_text());
}

#[tokio::test]
async fn streamed_items_are_chunks_and_their_text_is_returned() {
    let engine = engine(agent_fn(async |updates: TaskUpdater| {
        let words = stream::iter(["one ", "two ", "three"]);
        let text = updates.stream("count", words).await?;
        updates.complete(text).await?;
        Ok::<_, BoxError>(())
    }));
    let (chunks, state) = chunks_of(&engine).await;
    assert_eq!(
        described(&chunks),
        [("one ".into(), false, false), ("two ".into(), true, false), ("three".into(), true, true)]
    );
    assert!(chunks.iter().all(|chunk| chunk.artifact_id() == chunks[0].artifact_id()));
    assert_eq!(state, TaskState::Completed);
    let task = task_of(&engine, call(Message::user("go"))).await;
    assert_eq!(task.artifact("count").expect("the artifact").text(), "one two three");
    assert_eq!(task.status_text(), "one two three");
}

#[tokio::test]
async fn streamed_file_begins_with_its_parts_and_keeps_its_name_and_type() {
    let engine = engine(agent_fn(async |updates: TaskUpdater| {
        let csv = Part::text("day\n").with_filename("a.csv").with_media_type("text/csv");
        let file = Artifact::new("plan", csv.clone()).with_id("plan");
        let text = updates.stream(file, stream::iter(["1\n", "2\n"])).await?;
        // As a rerun does.
        let empty = Part { content: Part::text("").content, ..csv };
        let file = Artifact::new("plan", empty).with_id("plan");
        let again = updates.stream(file, stream::iter(["3\n", "4\n"])).await?;
        updates.complete(format!("{text}{again}")).await?;
        Ok::<_, BoxError>(())
    }));
    let (chunks, _) = chunks_of(&engine).await;
    assert_eq!(
        described(&chunks),
        [
            ("day\n".into(), false, false),
            ("1\n".into(), true, false),
            ("2\n".into(), true, true),
            ("3\n".into(), false, false),
            ("4\n".into(), true, true)
        ]
    );
    let task = task_of(&engine, call(Message::user("go"))).await;
    let [artifact] = &task.artifacts[..] else { panic!("one artifact: {task:?}") };
    assert_eq!((artifact.artifact_id.as_str(), artifact.text()), ("plan", "3\n4\n".into()));
    let is_csv = |part: &Part| part.filename == "a.csv" && part.media_type == "text/csv";
    assert!(artifact.parts.iter().all(is_csv), "{artifact:?}");
    assert_eq!(task.status_text(), "day\n1\n2\n3\n4\n");
}

#[tokio::test]
async fn err_item_ends_the_artifact_and_is_returned() {
    let engine = engine(agent_fn(async |updates: TaskUpdater| {
        let items = [Ok("half"), Err(io::Error::other("the model is gone")), Ok("never")];
        let error = updates.stream("plan", stream::iter(items)).await.expect_err("the error");
        updates.fail(error.to_string()).await
    }));
    let (chunks, state) = chunks_of(&engine).await;
    assert_eq!(described(&chunks), [("half".into(), false, true)]);
    assert_eq!(state, TaskState::Failed);
    let task = task_of(&engine, call(Message::user("go"))).await;
    assert_eq!(task.failure().as_deref(), Some("the model is gone"));
}

#[tokio::test]
async fn empty_stream_creates_no_artifact() {
    let engine = engine(stream_fn(|_: String| stream::empty::<String>()));
    let (chunks, state) = chunks_of(&engine).await;
    assert_eq!((chunks.len(), state), (0, TaskState::Completed));
}

#[tokio::test]
async fn stream_of_parts_may_mix_text_and_files() {
    let engine = engine(stream_fn_with("map.png", |name: &'static str, _: RequestContext| {
        stream::iter([Ok::<_, BoxError>("See: ".into()), Ok(Part::file(name, "image/png", "x"))])
    }));
    let task = task_of(&engine, call(Message::user("go"))).await;
    assert_eq!(task.artifacts[0].text(), "See: ");
    assert_eq!(task.artifacts[0].files().next().expect("a file").filename, "map.png");
}

#[tokio::test]
async fn err_item_of_a_stream_closure_fails_the_task() {
    let engine = engine(stream_fn(|_: String| {
        stream::iter([Ok("half".to_owned()), Err(io::Error::other("the model is gone"))])
    }));
    let (chunks, state) = chunks_of(&engine).await;
    assert_eq!(
        (described(&chunks), state),
        (vec![("half".into(), false, true)], TaskState::Failed)
    );
}
