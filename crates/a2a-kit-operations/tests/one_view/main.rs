//! What a client has seen is never older later, whatever it asks next and however late the store
//! answers.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod store;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use a2a_core::{
    ErrorKind, Message, Task, TaskState,
    v1::{
        AgentCard, GetTaskRequest, ListTasksRequest, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest, TaskStatus, TaskStatusUpdateEvent, send_message_response::Payload,
    },
    well_known::Timestamp,
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, EngineConfig, Event, EventId, EventStream,
    MemoryStore, RequestContext, Store, TaskUpdater,
};
use a2a_kit_store_testing::MemoryNode;
use futures_util::StreamExt as _;
use tokio::{sync::Semaphore, task::JoinHandle, time::timeout};

use store::LateStore;

/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);

/// Works through `gate` at each permit, and then does what the message says.
struct Gated(Arc<Semaphore>);

impl AgentExecutor for Gated {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        for word in context.text().split(' ') {
            match word {
                "gate" => self.0.acquire().await?.forget(),
                "start" => updates.start().await?,
                "park" => updates.require_input("what next?").await?,
                "complete" => updates.complete("done").await?,
                "ahead" => {
                    let mut time = Timestamp::now();
                    time.seconds += 3600;
                    let state = TaskState::Working.into();
                    let status = TaskStatus { state, timestamp: Some(time), message: None };
                    let status = Some(status);
                    let update = TaskStatusUpdateEvent { status, ..Default::default() };
                    updates.status_update(update).await?;
                }
                other => panic!("no such word: {other}"),
            }
        }
        Ok(())
    }
}

struct Scene {
    engine: Engine,
    store: Arc<LateStore>,
    gate: Arc<Semaphore>,
}

impl Scene {
    fn new(store: Arc<dyn Store>) -> Self {
        Self::with_config(store, EngineConfig::default())
    }

    fn with_config(store: Arc<dyn Store>, config: EngineConfig) -> Self {
        let store = Arc::new(LateStore::new(store));
        let gate = Arc::new(Semaphore::new(0));
        let card = AgentCard::new("Test", "An agent under test").with_streaming(true);
        let builder = Engine::builder(card, Gated(Arc::clone(&gate)));
        let engine = builder.shared_store(store.clone()).config(config).build();
        Self { engine, store, gate }
    }

    /// Sends a message, and returns at once.
    async fn at_once(&self, task_id: &str, text: &str) -> Task {
        task_of(&self.engine, send(task_id, text, true)).await
    }

    /// Sends a message in the background, and waits for its response there.
    fn spawn_send(&self, call: Call<SendMessageRequest>) -> JoinHandle<Task> {
        let engine = self.engine.clone();
        tokio::spawn(async move { task_of(&engine, call).await })
    }

    async fn get(&self, id: &str) -> Task {
        let request = GetTaskRequest { id: id.to_owned(), ..GetTaskRequest::default() };
        let got = timeout(LONG, self.engine.get_task(Call::new(request))).await.expect("an answer");
        Task::clone(&got.expect("a task").response)
    }

    /// The state of the only task.
    async fn listed(&self) -> TaskState {
        let listed = self.engine.list_tasks(Call::new(ListTasksRequest::default())).await;
        listed.expect("a page").response.tasks[0].state()
    }

    async fn subscribe(&self, id: &str, after: Option<EventId>) -> Result<EventStream, ErrorKind> {
        let request = SubscribeToTaskRequest { id: id.into(), ..Default::default() };
        let mut call = Call::new(request);
        call.context.last_event_id = after;
        let answer = timeout(LONG, self.engine.subscribe_to_task(call)).await.expect("an answer");
        answer.map(|reply| reply.response).map_err(|error| error.kind())
    }
}

fn send(task_id: &str, text: &str, at_once: bool) -> Call<SendMessageRequest> {
    let message = Some(Message::user(text).with_task_id(task_id));
    let configuration = SendMessageConfiguration {
        return_immediately: at_once,
        ..SendMessageConfiguration::default()
    };
    let configuration = Some(configuration);
    Call::new(SendMessageRequest { message, configuration, ..SendMessageRequest::default() })
}

async fn task_of(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    match engine.send_message(call).await.expect("an answer").response.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

async fn next(stream: &mut EventStream) -> Event {
    let item = timeout(LONG, stream.next()).await.expect("an event in time");
    item.expect("an event").expect("no error")
}

/// Both kinds of stores: of one node, and shared by several.
fn stores() -> [Arc<dyn Store>; 2] {
    let shared = MemoryNode::new();
    let _other = shared.join("other");
    [Arc::new(MemoryStore::new()), Arc::new(shared)]
}

#[tokio::test]
async fn listed_state_is_not_older_in_get_or_subscribe() {
    for store in stores() {
        let scene = Scene::new(store);
        let id = scene.at_once("", "start gate complete").await.id;
        let mut stream = scene.subscribe(&id, None).await.expect("a stream");
        while next(&mut stream).await.state() != Some(TaskState::Working) {}
        scene.store.writes.close();
        scene.gate.add_permits(1);
        scene.store.writes.holds(1).await;
        assert_eq!(scene.listed().await, TaskState::Completed);
        assert_eq!(scene.get(&id).await.state(), TaskState::Completed);
        let late = scene.subscribe(&id, None).await.err();
        assert_eq!(late, Some(ErrorKind::UnsupportedOperation), "it has ended");
        scene.store.writes.release();
        assert_eq!(next(&mut stream).await.state(), Some(TaskState::Completed));
    }
}

#[tokio::test]
async fn stream_of_a_listed_state_continues_without_a_gap() {
    for store in stores() {
        let scene = Scene::new(store);
        let id = scene.at_once("", "gate start gate complete").await.id;
        let mut early = scene.subscribe(&id, None).await.expect("a stream");
        next(&mut early).await;
        scene.store.writes.close();
        scene.gate.add_permits(1);
        scene.store.writes.holds(1).await;
        assert_eq!(scene.listed().await, TaskState::Working);
        let mut stream = scene.subscribe(&id, None).await.expect("a stream");
        let opening = next(&mut stream).await;
        assert_eq!(opening.state(), Some(TaskState::Working));
        // A reader that was cut there resumes there.
        let resumed = tokio::spawn({
            let engine = scene.engine.clone();
            let (id, after) = (id.clone(), opening.id());
            async move {
                let request = SubscribeToTaskRequest { id, ..Default::default() };
                let mut call = Call::new(request);
                call.context.last_event_id = after;
                let mut stream = engine.subscribe_to_task(call).await.expect("a stream").response;
                next(&mut stream).await
            }
        });
        scene.store.writes.release();
        scene.gate.add_permits(1);
        let end = next(&mut stream).await;
        assert_eq!(end.state(), Some(TaskState::Completed));
        assert_eq!(end.id(), opening.id().map(EventId::next));
        assert_eq!(resumed.await.expect("no panic").id(), end.id());
    }
}

#[tokio::test]
async fn task_that_ended_while_it_was_loaded_is_loaded_again() {
    for store in stores() {
        let scene = Scene::new(store);
        let id = scene.at_once("", "start park").await.id;
        while scene.get(&id).await.state() != TaskState::InputRequired {
            tokio::task::yield_now().await;
        }
        let mut idle = scene.subscribe(&id, None).await.expect("a stream");
        next(&mut idle).await;
        drop(idle);
        // The first reader is held while another caller takes the task to its end.
        scene.store.reads.close();
        let first = tokio::spawn({
            let (engine, id) = (scene.engine.clone(), id.clone());
            async move {
                let request = SubscribeToTaskRequest { id, ..Default::default() };
                let reply = engine.subscribe_to_task(Call::new(request)).await;
                reply.map(|_| ()).map_err(|error| error.kind())
            }
        });
        scene.store.reads.holds(1).await;
        let other = Scene {
            engine: scene.engine.clone(),
            store: Arc::clone(&scene.store),
            gate: Arc::clone(&scene.gate),
        };
        let second = other.spawn_send(send(&id, "complete", false));
        scene.store.reads.holds(2).await;
        // Both have read the old state; the second one is answered first.
        scene.store.reads.release_newest();
        let done = timeout(LONG, second).await.expect("in time").expect("no panic");
        assert_eq!(done.state(), TaskState::Completed);
        scene.store.reads.release();
        let first = timeout(LONG, first).await.expect("in time").expect("no panic");
        assert_eq!(first, Err(ErrorKind::UnsupportedOperation), "it has ended");
        assert_eq!(scene.get(&id).await.state(), TaskState::Completed);
    }
}

#[tokio::test]
async fn message_is_acknowledged_only_when_it_is_stored() {
    for store in stores() {
        let scene = Scene::new(store);
        let id = scene.at_once("", "start park").await.id;
        while scene.get(&id).await.state() != TaskState::InputRequired {
            tokio::task::yield_now().await;
        }
        scene.store.writes.close();
        let mut sent = scene.spawn_send(send(&id, "gate complete", true));
        scene.store.writes.holds(1).await;
        let early = timeout(Duration::from_millis(50), &mut sent).await;
        assert!(early.is_err(), "the message is acknowledged, and not stored: {early:?}");
        scene.store.writes.release();
        let task = timeout(LONG, sent).await.expect("in time").expect("no panic");
        assert!(task.history.iter().any(|message| message.text() == "gate complete"), "{task:?}");
    }
}

#[tokio::test]
async fn status_is_never_older_than_the_one_before() {
    let scene = Scene::new(Arc::new(MemoryStore::new()));
    let mut call = send("", "ahead start park", false);
    call.request.configuration = None;
    let task = task_of(&scene.engine, call).await;
    let ahead = Timestamp::now().seconds + 3000;
    let time = |task: &Task| task.status.as_ref().unwrap().timestamp.unwrap();
    assert!(time(&task).seconds > ahead, "{:?}", time(&task));
    let parked = time(&task);
    let task = task_of(&scene.engine, send(&task.id, "complete", false)).await;
    assert!(time(&task) >= parked, "{:?} after {parked:?}", time(&task));
}

#[tokio::test]
async fn message_whose_first_attempt_ended_after_its_claim_is_accepted_under_its_key() {
    for store in stores() {
        let scene = Scene::new(store);
        let id = task_of(&scene.engine, send("", "park", false)).await.id;
        let mut call = send(&id, "complete", false);
        call.context.idempotency_key = Some("key".to_owned());
        // The first attempt claims the key, and ends before the message is admitted.
        scene.store.reads.close();
        let first = scene.spawn_send(call.clone());
        scene.store.reads.holds(1).await;
        first.abort();
        assert!(first.await.expect_err("it ended").is_cancelled());
        scene.store.reads.release();
        let task = task_of(&scene.engine, call.clone()).await;
        assert_eq!(task.state(), TaskState::Completed);
        let again = task_of(&scene.engine, call).await;
        assert_eq!(again, task, "a retry joins");
        let said = task.history.iter().filter(|message| message.text() == "complete");
        assert_eq!(said.count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn write_whose_answer_was_lost_is_not_repeated() {
    for store in stores() {
        let scene = Scene::new(store);
        let id = scene.at_once("", "gate start complete").await.id;
        scene.store.lost_writes.store(1, Ordering::SeqCst);
        scene.gate.add_permits(1);
        let mut stream = scene.subscribe(&id, None).await.expect("a stream");
        let mut states = Vec::new();
        while states.last() != Some(&TaskState::Completed) {
            states.extend(next(&mut stream).await.state());
        }
        assert_eq!(states, [TaskState::Submitted, TaskState::Working, TaskState::Completed]);
    }
}

#[tokio::test(start_paused = true)]
async fn stream_of_a_removed_task_ends_with_task_not_found() {
    let config = EngineConfig::default().with_parked_retention(Some(Duration::from_secs(2)));
    for store in stores() {
        let scene = Scene::with_config(store, config.clone());
        let id = scene.at_once("", "park").await.id;
        let mut stream = scene.subscribe(&id, None).await.expect("a stream");
        while next(&mut stream).await.state() != Some(TaskState::InputRequired) {}
        let end = timeout(Duration::from_secs(300), stream.next()).await;
        let end = end.expect("the stream ends").expect("an error");
        assert_eq!(end.expect_err("the task is gone").kind(), ErrorKind::TaskNotFound);
        assert!(stream.next().await.is_none());
        let gone = scene.subscribe(&id, None).await.err();
        assert_eq!(gone, Some(ErrorKind::TaskNotFound));
    }
}
