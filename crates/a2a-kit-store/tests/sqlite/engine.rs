//! An engine on a SQLite store: write volume and restarts.

use std::{fs, path::Path, sync::Arc, time::Duration};

use a2a_core::{
    Artifact, Message, Part, TaskState,
    v1::{
        AgentCard, CancelTaskRequest, GetTaskRequest, SendMessageRequest, Task,
        send_message_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, Recovery, RequestContext, TaskUpdater,
};
use a2a_kit_store::sqlite::SqliteStore;
use tempfile::TempDir;

const CHUNKS: usize = 1_000;

/// Emits a thousand chunks of forty bytes, without a pause.
struct Talker;

impl AgentExecutor for Talker {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let chunk = || Artifact::new("text", Part::text("x".repeat(40))).with_id("text");
        updates.begin(chunk()).await?;
        for _ in 1..CHUNKS {
            updates.append(chunk()).await?;
        }
        updates.complete("done").await?;
        Ok(())
    }
}

async fn engine(path: &Path) -> (Arc<SqliteStore>, Engine) {
    let store = Arc::new(SqliteStore::open(path).await.unwrap());
    let card = AgentCard::new("Talker", "Talks");
    let engine = Engine::builder(card, Talker).shared_store(Arc::clone(&store) as _).build();
    (store, engine)
}

async fn talk(engine: &Engine) -> Task {
    let message = Some(Message::user("talk"));
    let request = SendMessageRequest { message, ..SendMessageRequest::default() };
    let reply = engine.send_message(Call::new(request)).await.unwrap();
    let Some(Payload::Task(task)) = reply.response.payload else { panic!("a task was expected") };
    task
}

/// Counts the bytes of the write-ahead log, which is not checkpointed before the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_small_chunks_write_less_than_a_megabyte() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let (store, engine) = engine(&path).await;
    let log = || fs::metadata(folder.path().join("a2a.db-wal")).unwrap().len();
    let (before, transactions) = (log(), store.transactions());
    let task = talk(&engine).await;
    let (written, transactions) = (log() - before, store.transactions() - transactions);
    assert_eq!(task.text().len(), CHUNKS * 40);
    assert!(written < 1_000_000, "{written} bytes in {transactions} transactions");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_survives_a_restart() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let (store, first) = engine(&path).await;
    let task = talk(&first).await;
    store.close().await;
    drop((store, first));
    let (_store, second) = engine(&path).await;
    let request = GetTaskRequest { id: task.id.clone(), ..GetTaskRequest::default() };
    let again = second.get_task(Call::new(request)).await.unwrap().response;
    assert_eq!(again.state(), TaskState::Completed);
    assert_eq!(*again, task);
}

/// Asks twice, and counts what it did between the questions.
struct Asker;

impl AgentExecutor for Asker {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.artifact(Artifact::new("draft", context.text()).with_id("draft")).await?;
        let city = updates.ask("Where to?").await?.text();
        let place = async { Ok::<_, BoxError>(format!("{city}, seat {}", a2a_core::fresh_id())) };
        let seat = updates.once("seat", place).await?;
        updates.artifact(Artifact::new("seat", seat.clone()).with_id("seat")).await?;
        let date = updates.ask("When?").await?.text();
        updates.complete(format!("{} to {seat} on {date}", context.text())).await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversation_survives_a_restart_at_each_question() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let mut id = String::new();
    let mut seat = String::new();
    for (text, state) in [
        ("Fly", TaskState::InputRequired),
        ("Lisbon", TaskState::InputRequired),
        ("May", TaskState::Completed),
    ] {
        let store = Arc::new(SqliteStore::open(&path).await.unwrap());
        let card = AgentCard::new("Asker", "Asks");
        let engine = Engine::builder(card, Asker).shared_store(Arc::clone(&store) as _).build();
        let message = Some(Message::user(text).with_task_id(&id));
        let request = SendMessageRequest { message, ..SendMessageRequest::default() };
        let reply = engine.send_message(Call::new(request)).await.unwrap();
        let Some(Payload::Task(task)) = reply.response.payload else { panic!("not a task") };
        assert_eq!(task.state(), state, "{text}");
        engine.shutdown(Duration::from_secs(5)).await;
        store.close().await;
        if text == "May" {
            assert_eq!(task.artifacts.len(), 2);
            let said = task.status_message().unwrap().text();
            assert_eq!(said, format!("Fly to {seat} on May"));
            assert_eq!(task.history.len(), 5, "{:?}", task.history);
        }
        seat = task.artifacts.iter().rfind(|a| a.name == "seat").map_or(seat, Artifact::text);
        id = task.id;
    }
}

/// Waits for an approval, and is rerun after a restart.
struct Waits;

impl AgentExecutor for Waits {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let answer = updates.ask_auth("?").await?;
        updates.complete(answer.text()).await?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_right_after_a_restart_are_handled() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let start = async || {
        let store = SqliteStore::open(&path).await.unwrap();
        Engine::builder(AgentCard::new("Waits", "Waits"), Waits).store(store).build()
    };
    let limit = Duration::from_secs(5);
    for round in 0..100 {
        let engine = start().await;
        let request = SendMessageRequest {
            message: Some(Message::user("go")),
            ..SendMessageRequest::default()
        };
        let reply = engine.send_message(Call::new(request)).await.unwrap();
        let Some(Payload::Task(task)) = reply.response.payload else { panic!("no task") };
        assert_eq!(task.state(), TaskState::AuthRequired);
        engine.shutdown(Duration::ZERO).await;
        let engine = start().await;
        if round % 2 == 0 {
            let request = CancelTaskRequest { id: task.id, ..CancelTaskRequest::default() };
            let canceled = tokio::time::timeout(limit, engine.cancel_task(Call::new(request)));
            let canceled = canceled.await.expect("an answer").unwrap().response;
            assert_eq!(canceled.state(), TaskState::Canceled, "round {round}");
        } else {
            let message = Some(Message::user("yes").with_task_id(task.id));
            let request = SendMessageRequest { message, ..SendMessageRequest::default() };
            let answered = tokio::time::timeout(limit, engine.send_message(Call::new(request)));
            let reply = answered.await.expect("an answer").unwrap();
            let Some(Payload::Task(task)) = reply.response.payload else { panic!("no task") };
            assert_eq!(task.state(), TaskState::Completed, "round {round}");
        }
        engine.shutdown(Duration::ZERO).await;
    }
}
