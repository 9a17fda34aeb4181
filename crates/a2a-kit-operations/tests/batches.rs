//! Changes between two yields of an executor are written together.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    sync::{Arc, OnceLock, mpsc},
    time::Duration,
};

use a2a_core::{
    Artifact, Message, Part, Task, TaskState,
    v1::{AgentCard, SendMessageRequest, send_message_response, stream_response::Payload},
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Caller, Engine, EventId, MemoryStore, RequestContext,
    Scope, TaskUpdater, UpdateError, agent_fn,
    store::{StoredTask, TaskStore as _},
};
use futures_util::StreamExt as _;
use tokio::sync::Notify;

fn card() -> AgentCard {
    AgentCard::new("Test", "An agent under test")
}

fn send(text: &str) -> Call<SendMessageRequest> {
    let message = Some(Message::user(text));
    Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
}

async fn task_of(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    match engine.send_message(call).await.expect("an answer").response.payload {
        Some(send_message_response::Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

async fn stored(store: &MemoryStore, id: &str) -> StoredTask {
    let scope = Scope::new("", &Caller::ANONYMOUS);
    store.get(&scope, id).await.expect("the store succeeds").expect("the task is stored")
}

/// Emits many chunks, optionally waiting for a signal after each.
struct Chunks {
    number: usize,
    next: Option<Arc<Notify>>,
}

impl AgentExecutor for Chunks {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        for chunk in 0..self.number {
            let artifact = Artifact::new("chunks", Part::text("x")).with_id("chunks");
            match chunk {
                0 => updates.begin(artifact).await?,
                _ => updates.append(artifact).await?,
            }
            if let Some(next) = &self.next {
                next.notified().await;
            }
        }
        Ok(updates.complete(()).await?)
    }
}

#[tokio::test]
async fn blocking_send_is_one_write_without_events() {
    let store = Arc::new(MemoryStore::new());
    let executor = agent_fn(async |text: String| text);
    let engine = Engine::builder(card(), executor).shared_store(store.clone()).build();
    let task = task_of(&engine, send("hello")).await;
    assert_eq!((task.state(), task.text()), (TaskState::Completed, "hello".to_owned()));
    let stored = stored(&store, &task.id).await;
    assert_eq!((stored.version, stored.last_event), (1, EventId::FIRST));
    assert_eq!(*stored.task, task);
}

#[tokio::test]
async fn burst_of_chunks_is_one_write_and_streams_completely() {
    let store = Arc::new(MemoryStore::new());
    let executor = Chunks { number: 200, next: None };
    let engine = Engine::builder(card(), executor).shared_store(store.clone()).build();
    let reply = engine.send_streaming_message(send("go")).await.expect("a stream");
    let events: Vec<_> = reply.response.map(|event| event.expect("an event")).collect().await;
    assert_eq!(events.len(), 1 + 200 + 1);
    let id = &events[0].task().expect("the task comes first").id;
    let stored = stored(&store, id).await;
    assert_eq!((stored.version, stored.last_event.get()), (1, 202));
}

#[tokio::test]
async fn burst_beyond_the_pending_limit_is_several_writes() {
    let store = Arc::new(MemoryStore::new());
    let executor = Chunks { number: 1_000, next: None };
    let engine = Engine::builder(card(), executor).shared_store(store.clone()).build();
    let task = task_of(&engine, send("go")).await;
    assert_eq!(task.artifacts[0].parts.len(), 1_000);
    let stored = stored(&store, &task.id).await;
    assert_eq!(stored.last_event.get(), 1_002);
    assert!((4..=5).contains(&stored.version), "{} writes", stored.version);
}

/// Blocks its thread until another task has set a status.
struct Blocking;

impl AgentExecutor for Blocking {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let (sender, stored) = mpsc::channel();
        let other = updates.clone();
        tokio::spawn(async move { sender.send(other.start().await) });
        stored.recv_timeout(Duration::from_secs(30))??;
        Ok(updates.complete(()).await?)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn update_of_another_thread_is_stored_while_the_executor_blocks_its_own() {
    let engine = Engine::new(card(), Blocking);
    let task = task_of(&engine, send("go")).await;
    assert_eq!(task.state(), TaskState::Completed, "{task:?}");
}

#[tokio::test]
async fn chunk_is_delivered_before_the_next_is_produced() {
    let next = Arc::new(Notify::new());
    let executor = Chunks { number: 3, next: Some(Arc::clone(&next)) };
    let engine = Engine::new(card(), executor);
    let mut stream = engine.send_streaming_message(send("go")).await.expect("a stream").response;
    let first = stream.next().await.expect("the task").expect("no error");
    assert!(first.task().is_some());
    for _ in 0..3 {
        let chunk = stream.next().await.expect("a chunk").expect("no error");
        assert!(matches!(chunk.payload(), Some(Payload::ArtifactUpdate(_))));
        next.notify_one();
    }
    let last = stream.next().await.expect("the end").expect("no error");
    assert_eq!(last.state(), Some(TaskState::Completed));
}

#[tokio::test]
async fn mutually_calling_agents_do_not_overflow_the_stack() {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let executor = agent_fn(async |text: String| -> Result<String, BoxError> {
        let depth: u32 = text.parse()?;
        if depth == 0 {
            return Ok("deep enough".to_owned());
        }
        let engine = ENGINE.get().expect("the engine");
        Ok(task_of(engine, send(&(depth - 1).to_string())).await.text())
    });
    ENGINE.set(Engine::new(card(), executor)).expect("set once");
    let task = task_of(ENGINE.get().expect("the engine"), send("800")).await;
    assert_eq!(task.text(), "deep enough");
}

/// Streams three chunks of text with data between, and joins them.
struct Joined(Option<Arc<Notify>>);

impl AgentExecutor for Joined {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let parts = [Part::text("a"), Part::text("b"), Part::data(1), Part::text("c")];
        for (number, part) in parts.into_iter().enumerate() {
            let artifact = Artifact::new("text", part).with_id("text");
            put(&updates, artifact, number > 0).await?;
        }
        if let Some(next) = &self.0 {
            next.notified().await;
        }
        updates.join("text")?;
        Ok(updates.complete(()).await?)
    }
}

async fn put(updates: &TaskUpdater, artifact: Artifact, append: bool) -> Result<(), UpdateError> {
    if append { updates.append(artifact).await } else { updates.begin(artifact).await }
}

#[tokio::test]
async fn joined_artifact_is_stored_with_one_part_for_adjacent_texts_and_keeps_its_events() {
    for streams in [false, true] {
        let store = Arc::new(MemoryStore::new());
        let next = streams.then(|| Arc::new(Notify::new()));
        let executor = Joined(next.clone());
        let engine = Engine::builder(card(), executor).shared_store(store.clone()).build();
        let id = match &next {
            None => task_of(&engine, send("go")).await.id,
            Some(next) => {
                let call = send("go");
                let mut events =
                    engine.send_streaming_message(call).await.expect("a stream").response;
                let (mut id, mut chunks) = (String::new(), 0);
                while let Some(event) = events.next().await {
                    match event.expect("an event").payload() {
                        Some(Payload::Task(task)) => id.clone_from(&task.id),
                        Some(Payload::ArtifactUpdate(_)) => {
                            chunks += 1;
                            if chunks == 4 {
                                next.notify_one();
                            }
                        }
                        _ => {}
                    }
                }
                assert_eq!(chunks, 4);
                id
            }
        };
        let stored = stored(&store, &id).await;
        let parts = &stored.task.artifacts[0].parts;
        let texts: Vec<_> = parts.iter().map(Part::as_text).collect();
        assert_eq!(texts, [Some("ab"), None, Some("c")], "streams: {streams}");
    }
}

#[tokio::test]
async fn tasks_in_the_context_are_limited_by_their_size_to_the_newest() {
    struct Around(usize);
    impl AgentExecutor for Around {
        async fn execute(
            &self,
            context: RequestContext,
            updates: TaskUpdater,
        ) -> Result<(), BoxError> {
            // From now on the store has this task, too.
            updates.start().await?;
            let tasks = context.tasks_in_context_within(self.0).await?;
            let texts: Vec<_> = tasks.iter().map(|task| task.history[0].text()).collect();
            Ok(updates.complete(texts.join(" ")).await?)
        }
    }
    for (bytes, expected) in [(1 << 20, 3), (1, 1)] {
        let engine = Engine::new(card(), Around(bytes));
        let mut around = String::new();
        for text in ["one", "two", "three", "four"] {
            let message = Some(Message::user(text).with_context_id("context"));
            let request = SendMessageRequest { message, ..SendMessageRequest::default() };
            around = task_of(&engine, Call::new(request)).await.status_text();
        }
        // Tasks that ended within one millisecond have no order.
        assert_eq!(around.split_whitespace().count(), expected, "{bytes} bytes: {around}");
        assert!(!around.contains("four"), "{around}");
    }
}
