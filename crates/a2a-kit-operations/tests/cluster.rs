//! Several engines on one store: nodes of one agent.
//!
//! A crashed node is a dropped runtime; a paused one is a single-threaded runtime blocked by an
//! executor.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use a2a_core::{
    Artifact, ErrorKind, Message, Part, Task, TaskState,
    v1::{
        AgentCard, CancelTaskRequest, GetTaskRequest, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest, send_message_response, stream_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, EngineConfig, Event, EventId, EventStream,
    Recovery, RequestContext, Scope, Store, TaskUpdater, UpdateError, forward_store,
    store::{Committed, LeaseStore, PushStore, StoreError, TaskStore, Transition},
};
use a2a_kit_store_testing::MemoryNode;
use async_trait::async_trait;
use futures_util::StreamExt as _;
use tokio::{
    runtime::{Builder, Runtime},
    sync::{Notify, Semaphore},
};

const LEASE: Duration = Duration::from_millis(400);

fn stores() -> (MemoryNode, MemoryNode) {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    (one, two)
}

fn engine(store: impl Store, executor: impl AgentExecutor) -> Engine {
    let config = EngineConfig::default().with_lease_renewal(LEASE / 4);
    Engine::builder(AgentCard::new("Test", "An agent under test"), executor)
        .store(store)
        .config(config)
        .build()
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// Kills a node. Nothing of it runs when this returns.
fn crash(node: Runtime) {
    let ended = std::thread::spawn(move || node.shutdown_timeout(Duration::from_secs(5)));
    ended.join().expect("the runtime ends");
}

fn send(text: &str) -> Call<SendMessageRequest> {
    let message = Some(Message::user(text));
    Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
}

fn to_task(task_id: &str, text: &str) -> Call<SendMessageRequest> {
    let message = Message::user(text).with_task_id(task_id);
    Call::new(SendMessageRequest { message: Some(message), ..SendMessageRequest::default() })
}

fn at_once(mut call: Call<SendMessageRequest>) -> Call<SendMessageRequest> {
    call.request.configuration = Some(SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    call
}

fn get(id: &str) -> Call<GetTaskRequest> {
    Call::new(GetTaskRequest { id: id.into(), ..GetTaskRequest::default() })
}

fn cancel(id: &str) -> Call<CancelTaskRequest> {
    Call::new(CancelTaskRequest { id: id.into(), ..CancelTaskRequest::default() })
}

async fn task_of(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    match engine.send_message(call).await.expect("an answer").response.payload {
        Some(send_message_response::Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

async fn subscribe(engine: &Engine, id: &str, after: Option<u64>) -> EventStream {
    let request = SubscribeToTaskRequest { id: id.into(), ..SubscribeToTaskRequest::default() };
    let mut call = Call::new(request);
    call.context.last_event_id = after.and_then(EventId::new);
    engine.subscribe_to_task(call).await.expect("a subscription").response
}

async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| panic!("{what} did not happen"))
}

/// Reads events up to the first one that is wanted.
async fn seen(events: &mut EventStream, is_wanted: impl Fn(&Event) -> bool) {
    let read = async {
        while !is_wanted(&events.next().await.expect("more events").expect("an event")) {}
    };
    soon("the event", read).await;
}

async fn rest(stream: EventStream) -> Vec<Event> {
    let events = soon("the end of the stream", stream.collect::<Vec<_>>()).await;
    events.into_iter().map(|event| event.expect("an event")).collect()
}

fn positions(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(Event::id).map(EventId::get).collect()
}

fn chunks(task: &Task) -> String {
    task.artifacts.iter().map(Artifact::text).collect()
}

/// Emits chunks, one per permit, after the existing ones; `ask` asks; `fail` does not want a rerun.
struct Writer {
    step: Arc<Notify>,
    chunks: usize,
    recovery: Recovery,
    runs: Arc<AtomicUsize>,
}

impl Writer {
    fn new(chunks: usize) -> (Self, Arc<Notify>, Arc<AtomicUsize>) {
        let (step, runs) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let writer = Self {
            step: Arc::clone(&step),
            chunks,
            recovery: Recovery::Rerun,
            runs: Arc::clone(&runs),
        };
        (writer, step, runs)
    }
}

impl AgentExecutor for Writer {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        if context.text() == "ask" {
            let answer = updates.ask("what?").await?;
            updates.complete(format!("you said {}", answer.text())).await?;
            return Ok(());
        }
        if context.text() == "park" {
            updates.require_input("more?").await?;
            return Ok(());
        }
        if !context.is_new() && !context.is_rerun() {
            updates.complete(format!("then {}", context.text())).await?;
            return Ok(());
        }
        let done = context.task().artifacts.first().map_or(0, |artifact| artifact.parts.len());
        assert_eq!(done > 0, context.is_rerun(), "only a second run finds chunks");
        if !context.is_rerun() {
            updates.start().await?;
        }
        for number in done..self.chunks {
            tokio::select! {
                () = self.step.notified() => {}
                () = context.cancelled() => return Ok(()),
            }
            let artifact = Artifact::new("text", Part::text(format!("{number} "))).with_id("text");
            if number == 0 {
                updates.begin(artifact).await?;
            } else {
                updates.append(artifact).await?;
            }
        }
        updates.complete(()).await?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }
}

#[tokio::test]
async fn reader_on_another_node_gets_every_event_once_in_order() {
    let (one, two) = stores();
    let (writer, step, _) = Writer::new(200);
    let (one, two) = (engine(one, writer), engine(two, Writer::new(200).0));
    let task = task_of(&one, at_once(send("go"))).await;
    let early = subscribe(&two, &task.id, Some(1)).await;
    let late = subscribe(&two, &task.id, None).await;
    let pump = tokio::spawn(async move {
        for _ in 0..200 {
            step.notify_one();
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        loop {
            step.notify_one();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let (early, late) = (rest(early).await, rest(late).await);
    pump.abort();
    let last = positions(&early).last().copied().unwrap();
    assert_eq!(positions(&early), (2..=last).collect::<Vec<_>>());
    assert!(
        matches!(late[0].payload(), Some(Payload::Task(_))),
        "a subscription opens with the task"
    );
    let first = positions(&late)[0];
    assert_eq!(positions(&late), (first..=last).collect::<Vec<_>>());
    let expected: String = (0..200).map(|number| format!("{number} ")).collect();
    let stored = two.get_task(get(&task.id)).await.unwrap().response;
    assert_eq!(chunks(&stored), expected);
    assert_eq!(stored.state(), TaskState::Completed);
}

/// A store that confirms writes late: other nodes read them earlier.
#[derive(Debug)]
struct LateConfirmation {
    store: MemoryNode,
    confirm: Arc<Semaphore>,
}

#[async_trait]
impl TaskStore for LateConfirmation {
    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        let committed = self.store.commit(scope, transition).await;
        self.confirm.acquire().await.expect("an open semaphore").forget();
        committed
    }

    forward_store! {
        TaskStore: this => this.store;
        insert, get, load, replay, list, usage, open_tasks, claim_key, take_over_key,
        release_key, sweep, probe, close,
    }
}

impl LeaseStore for LateConfirmation {
    forward_store!(LeaseStore: this => this.store);
}

impl PushStore for LateConfirmation {
    forward_store!(PushStore: this => this.store);
}

#[tokio::test]
async fn get_task_is_not_older_than_events_of_another_node() {
    let (one, two) = stores();
    let confirm = Arc::new(Semaphore::new(10));
    let late = LateConfirmation { store: one, confirm: Arc::clone(&confirm) };
    let (writer, step, _) = Writer::new(1);
    let (one, two) = (engine(late, writer), engine(two, Writer::new(1).0));
    let task = task_of(&one, at_once(send("go"))).await;
    let is_working = |event: &Event| event.state() == Some(TaskState::Working);
    seen(&mut subscribe(&one, &task.id, None).await, is_working).await;
    let mut events = subscribe(&two, &task.id, None).await;
    confirm.forget_permits(10);
    step.notify_one();
    let is_chunk = |event: &Event| matches!(event.payload(), Some(Payload::ArtifactUpdate(_)));
    seen(&mut events, is_chunk).await;
    let shown = one.get_task(get(&task.id)).await.unwrap().response;
    assert_eq!(chunks(&shown), "0 ");
    confirm.add_permits(10);
    rest(events).await;
}

#[tokio::test]
async fn input_reaches_an_executor_on_another_node() {
    let (one, two) = stores();
    let (writer, _, runs) = Writer::new(0);
    let (other, _, other_runs) = Writer::new(0);
    let (one, two) = (engine(one, writer), engine(two, other));
    let task = task_of(&one, send("ask")).await;
    assert_eq!(task.state(), TaskState::InputRequired);
    let task = soon("the answer", task_of(&two, to_task(&task.id, "blue"))).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(task.status.unwrap().message.unwrap().text(), "you said blue");
    assert_eq!(runs.load(Ordering::SeqCst), 1, "it went on where it asked");
    assert_eq!(other_runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn streamed_input_to_another_node_returns_its_turn() {
    let (one, two) = stores();
    let (one, two) = (engine(one, Writer::new(0).0), engine(two, Writer::new(0).0));
    let task = task_of(&one, send("ask")).await;
    let stream = two.send_streaming_message(to_task(&task.id, "red")).await.unwrap().response;
    let events = rest(stream).await;
    assert!(matches!(events[0].payload(), Some(Payload::Task(_))));
    assert_eq!(events.last().unwrap().state(), Some(TaskState::Completed));
}

#[tokio::test]
async fn parked_task_continues_on_any_node() {
    let (one, two) = stores();
    let (other, _, runs) = Writer::new(0);
    let (one, two) = (engine(one, Writer::new(0).0), engine(two, other));
    let task = task_of(&one, send("park")).await;
    assert_eq!(task.state(), TaskState::InputRequired);
    let watched = subscribe(&one, &task.id, None).await;
    let task = soon("the answer", task_of(&two, to_task(&task.id, "on"))).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(task.history.iter().filter(|message| message.text() == "on").count(), 1);
    let events = rest(watched).await;
    assert_eq!(events.last().unwrap().state(), Some(TaskState::Completed));
}

#[tokio::test]
async fn cancel_reaches_an_executor_on_another_node() {
    let (one, two) = stores();
    let (one, two) = (engine(one, Writer::new(5).0), engine(two, Writer::new(5).0));
    let task = task_of(&one, at_once(send("go"))).await;
    let canceled = soon("the cancel", two.cancel_task(cancel(&task.id))).await.unwrap().response;
    assert_eq!(canceled.state(), TaskState::Canceled);
    let again = two.cancel_task(cancel(&task.id)).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::TaskNotCancelable);
    let late = two.send_message(to_task(&task.id, "late")).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn messages_from_two_nodes_are_serialized() {
    let (one, two) = stores();
    let (writer, step, _) = Writer::new(1);
    let (one, two) = (engine(one, writer), engine(two, Writer::new(1).0));
    let task = task_of(&one, at_once(send("go"))).await;
    let (id, node) = (task.id.clone(), two.clone());
    let queued = tokio::spawn(async move { node.send_message(to_task(&id, "second")).await });
    // The first turn ends the task, so queued messages are rejected on both nodes.
    let refused = loop {
        step.notify_one();
        if queued.is_finished() {
            break soon("the refusal", queued).await.unwrap().unwrap_err();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
}

#[test]
fn task_of_a_crashed_node_is_rerun_on_another() {
    let (one, two) = stores();
    let here = runtime();
    let there = runtime();
    let (writer, step, _) = Writer::new(10);
    let (other, other_step, runs) = Writer::new(10);
    let (id, first) = there.block_on(async {
        let one = engine(one, writer);
        let stream = one.send_streaming_message(send("go")).await.unwrap().response;
        let mut stream = stream.map(Result::unwrap);
        let opening = stream.next().await.unwrap();
        let id = opening.task().unwrap().id.clone();
        for _ in 0..3 {
            step.notify_one();
            while !matches!(
                stream.next().await.unwrap().payload(),
                Some(Payload::ArtifactUpdate(_))
            ) {}
        }
        (id, one)
    });
    here.block_on(async {
        let two = engine(two, other);
        let watched = subscribe(&two, &id, Some(1)).await;
        // The crash.
        crash(there);
        drop(first);
        let pump = tokio::spawn(async move {
            loop {
                other_step.notify_one();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        let events = rest(watched).await;
        pump.abort();
        let last = positions(&events).last().copied().unwrap();
        assert_eq!(positions(&events), (2..=last).collect::<Vec<_>>());
        let task = two.get_task(get(&id)).await.unwrap().response;
        assert_eq!(chunks(&task), (0..10).map(|number| format!("{number} ")).collect::<String>());
        assert_eq!(task.state(), TaskState::Completed);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn task_of_a_crashed_node_fails_without_rerun() {
    let (one, two) = stores();
    let here = runtime();
    let there = runtime();
    let (id, first) = there.block_on(async {
        let mut writer = Writer::new(10).0;
        writer.recovery = Recovery::Fail;
        let one = engine(one, writer);
        (task_of(&one, at_once(send("go"))).await.id, one)
    });
    here.block_on(async {
        let mut other = Writer::new(10).0;
        other.recovery = Recovery::Fail;
        let two = engine(two, other);
        let watched = subscribe(&two, &id, None).await;
        crash(there);
        drop(first);
        let events = rest(watched).await;
        assert_eq!(events.last().unwrap().state(), Some(TaskState::Failed));
    });
}

#[test]
fn input_required_survives_its_node() {
    let (one, two) = stores();
    let here = runtime();
    let there = runtime();
    let (id, first) = there.block_on(async {
        let one = engine(one, Writer::new(0).0);
        let task = task_of(&one, send("ask")).await;
        assert_eq!(task.state(), TaskState::InputRequired);
        (task.id, one)
    });
    here.block_on(async {
        let (other, _, runs) = Writer::new(0);
        let two = engine(two, other);
        crash(there);
        drop(first);
        let task = soon("the answer", task_of(&two, to_task(&id, "green"))).await;
        assert_eq!(task.state(), TaskState::Completed);
        assert_eq!(task.status.unwrap().message.unwrap().text(), "you said green");
        assert_eq!(runs.load(Ordering::SeqCst), 1, "it was run again, up to its question");
    });
}

/// Blocks its whole node, once, until it is released.
struct Blocks {
    seen: Arc<Notify>,
    blocked: mpsc::Sender<()>,
    go_on: Mutex<mpsc::Receiver<()>>,
    outcome: mpsc::Sender<Result<(), UpdateError>>,
}

impl AgentExecutor for Blocks {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let _ = context;
        updates.start().await?;
        self.seen.notified().await;
        self.blocked.send(()).unwrap();
        self.go_on.lock().unwrap().recv().unwrap();
        let outcome = updates.complete("by the one that was taken for dead").await;
        self.outcome.send(outcome).unwrap();
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

#[test]
fn node_past_its_lease_overwrites_nothing() {
    let (one, two) = stores();
    let (blocked, is_blocked) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let (outcome, outcome_of) = mpsc::channel();
    let (id_to, id_of) = mpsc::channel();
    let paused = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let seen = Arc::new(Notify::new());
            let blocks =
                Blocks { seen: Arc::clone(&seen), blocked, go_on: Mutex::new(may_go_on), outcome };
            let one = engine(one, blocks);
            let mut stream =
                one.send_streaming_message(send("go")).await.unwrap().response.map(Result::unwrap);
            let id = stream.next().await.unwrap().task().unwrap().id.clone();
            id_to.send(id.clone()).unwrap();
            seen.notify_one();
            // It finally shows the result of the other node.
            let events: Vec<_> = soon("the end", stream.collect::<Vec<_>>()).await;
            let task = one.get_task(get(&id)).await.unwrap().response;
            (positions(&events), task)
        })
    });
    let here = runtime();
    let limit = Duration::from_secs(20);
    let id = id_of.recv_timeout(limit).unwrap();
    is_blocked.recv_timeout(limit).unwrap();
    here.block_on(async {
        let (other, step, _) = Writer::new(2);
        struct Second(Writer);
        impl AgentExecutor for Second {
            async fn execute(
                &self,
                context: RequestContext,
                updates: TaskUpdater,
            ) -> Result<(), BoxError> {
                assert!(context.is_rerun());
                self.0.step.notified().await;
                updates.complete("by the one that took over").await?;
                Ok(())
            }

            fn recovery(&self) -> Recovery {
                Recovery::Rerun
            }
        }
        let two = engine(two, Second(other));
        let watched = subscribe(&two, &id, Some(1)).await;
        step.notify_one();
        let events = rest(watched).await;
        assert_eq!(events.last().unwrap().state(), Some(TaskState::Completed));
        go_on.send(()).unwrap();
        let (seen, task) =
            tokio::task::spawn_blocking(move || paused.join().unwrap()).await.unwrap();
        assert_eq!(outcome_of.recv_timeout(limit).unwrap(), Err(UpdateError::Superseded));
        assert_eq!(
            task.status.as_ref().unwrap().message.as_ref().unwrap().text(),
            "by the one that took over"
        );
        let last = positions(&events).last().copied().unwrap();
        assert_eq!(seen.last().copied(), Some(last), "its readers follow the other node");
        assert!(seen.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seen:?}");
    });
}

#[tokio::test]
async fn shutdown_hands_tasks_over_at_once() {
    // Leases that would expire only after the test has failed.
    let one = MemoryNode::with_lease(Duration::from_secs(60));
    let two = one.join("two");
    let (writer, step, _) = Writer::new(5);
    let (other, other_step, _) = Writer::new(5);
    let (one, two) = (engine(one, writer), engine(two, other));
    let task = task_of(&one, at_once(send("go"))).await;
    let mut watched = subscribe(&two, &task.id, None).await;
    step.notify_one();
    while !matches!(
        soon("a chunk", watched.next()).await.unwrap().unwrap().payload(),
        Some(Payload::ArtifactUpdate(_))
    ) {}
    one.shutdown(Duration::from_millis(50)).await;
    let pump = tokio::spawn(async move {
        loop {
            other_step.notify_one();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let events = rest(watched).await;
    pump.abort();
    assert_eq!(events.last().unwrap().state(), Some(TaskState::Completed));
    let stored = two.get_task(get(&task.id)).await.unwrap().response;
    assert_eq!(chunks(&stored), (0..5).map(|number| format!("{number} ")).collect::<String>());
}

#[tokio::test]
async fn retried_message_is_handled_once_on_any_node() {
    let (one, two) = stores();
    let (one, two) = (engine(one, Writer::new(0).0), engine(two, Writer::new(0).0));
    let task = task_of(&one, send("park")).await;
    let mut call = to_task(&task.id, "park");
    call.context.idempotency_key = Some("once".to_owned());
    let first = task_of(&two, call.clone()).await;
    for node in [&one, &two] {
        let again = soon("the answer", task_of(node, call.clone())).await;
        assert_eq!(again.history.len(), first.history.len());
        assert_eq!(again.state(), TaskState::InputRequired);
    }
    let mut last = to_task(&task.id, "end");
    last.context.idempotency_key = Some("last".to_owned());
    assert_eq!(task_of(&one, last.clone()).await.state(), TaskState::Completed);
    for node in [&one, &two] {
        assert_eq!(
            soon("the answer", task_of(node, last.clone())).await.state(),
            TaskState::Completed
        );
    }
}

/// Runs until it is released, and records the maximum concurrency.
struct Crowd {
    step: Arc<Notify>,
    now: AtomicUsize,
    most: Arc<AtomicUsize>,
}

impl AgentExecutor for Crowd {
    async fn execute(
        &self,
        _context: RequestContext,
        updates: TaskUpdater,
    ) -> Result<(), BoxError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.step.notified().await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        updates.complete(()).await?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

#[test]
fn takeover_respects_the_capacity_of_the_node() {
    let (one, two) = stores();
    let here = runtime();
    let there = runtime();
    let (ids, first) = there.block_on(async {
        let one = engine(one, Writer::new(1).0);
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(task_of(&one, at_once(send("go"))).await.id);
        }
        (ids, one)
    });
    here.block_on(async {
        let (step, most) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let crowd =
            Crowd { step: Arc::clone(&step), now: AtomicUsize::new(0), most: Arc::clone(&most) };
        let config = EngineConfig::default().with_lease_renewal(LEASE / 4).with_max_running(1);
        let card = AgentCard::new("Test", "An agent under test");
        let two = Engine::builder(card, crowd).store(two).config(config).build();
        let mut watched = Vec::new();
        for id in &ids {
            watched.push(subscribe(&two, id, Some(1)).await);
        }
        crash(there);
        drop(first);
        let pump = tokio::spawn(async move {
            loop {
                step.notify_one();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        for stream in watched {
            let events = rest(stream).await;
            assert_eq!(events.last().unwrap().state(), Some(TaskState::Completed));
        }
        pump.abort();
        assert_eq!(most.load(Ordering::SeqCst), 1);
    });
}
