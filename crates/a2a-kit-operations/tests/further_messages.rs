//! Further messages of a task: what a client was told about them stays true.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{sync::Arc, time::Duration};

use a2a_core::{
    Error, ErrorKind, Message, Result, Role, Task, TaskState,
    v1::{
        AgentCard, CancelTaskRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
        SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig,
        send_message_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentError, AgentExecutor, BoxError, Call, Delivery, Engine, EngineConfig, Event,
    EventStream, MemoryStore, PushError, PushSender, RequestContext, RunLimits, Store, TaskUpdater,
    Webhook, forward_store, intercept_store,
    store::{LeaseStore, PushStore, StoreError, TaskStore},
};
use a2a_kit_store_testing::MemoryNode;
use async_trait::async_trait;
use futures_util::StreamExt as _;
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
    time::timeout,
};

/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);
const LEASE: Duration = Duration::from_millis(400);

/// Does what the words of a message say; `gate` waits for a permit.
#[derive(Clone)]
struct Gated(Arc<Semaphore>);

impl AgentExecutor for Gated {
    async fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> std::result::Result<(), BoxError> {
        for word in context.text().split(' ') {
            match word {
                "start" => updates.start().await?,
                "say" => updates.status(TaskState::Working, "half done").await?,
                "gate" => self.0.acquire().await?.forget(),
                "alone" => context.refuse_messages(),
                "park" => updates.require_input("what next?").await?,
                "complete" => updates.complete("done").await?,
                "error" => return Err(AgentError::new("broken").into()),
                "panic" => panic!("as the message wants it"),
                other => panic!("no such word: {other}"),
            }
        }
        Ok(())
    }
}

fn card() -> AgentCard {
    AgentCard::new("Test", "An agent under test").with_streaming(true)
}

fn scene(store: impl Store, config: EngineConfig) -> (Engine, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let builder = Engine::builder(card(), Gated(Arc::clone(&gate))).store(store).config(config);
    (builder.push_sender(Silent).build(), gate)
}

/// Two nodes of one agent.
fn nodes() -> ([Engine; 2], Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let one = MemoryNode::new();
    let two = one.join("two");
    let engines = [one, two]
        .map(|store| Engine::builder(card(), Gated(Arc::clone(&gate))).store(store).build());
    (engines, gate)
}

fn send(task_id: &str, text: &str) -> Call<SendMessageRequest> {
    let message = Some(Message::user(text).with_task_id(task_id));
    Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
}

fn at_once(task_id: &str, text: &str) -> Call<SendMessageRequest> {
    let mut call = send(task_id, text);
    call.request.configuration = Some(SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    call
}

/// A message with the id of every other one, and an idempotency key.
fn keyed(task_id: &str, text: &str, key: &str) -> Call<SendMessageRequest> {
    let mut call = send(task_id, text);
    call.request.message.as_mut().unwrap().message_id = "1".to_owned();
    call.context.idempotency_key = Some(key.to_owned());
    call
}

async fn task_of(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    let sent = timeout(LONG, engine.send_message(call)).await.expect("an answer in time");
    match sent.expect("an answer").response.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

async fn stream_of(engine: &Engine, call: Call<SendMessageRequest>) -> Result<EventStream, Error> {
    let opened = timeout(LONG, engine.send_streaming_message(call)).await;
    opened.expect("the stream opens at once").map(|reply| reply.response)
}

async fn next(stream: &mut EventStream) -> Option<Result<Event, Error>> {
    timeout(LONG, stream.next()).await.expect("an event in time")
}

async fn get(engine: &Engine, id: &str) -> Task {
    let request = GetTaskRequest { id: id.into(), ..GetTaskRequest::default() };
    Task::clone(&engine.get_task(Call::new(request)).await.expect("a task").response)
}

async fn ended(engine: &Engine, id: &str) -> Task {
    let end = async {
        loop {
            let task = get(engine, id).await;
            if task.state().is_terminal() {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, end).await.expect("the task ends")
}

async fn working(engine: &Engine, id: &str) {
    while get(engine, id).await.state() != TaskState::Working {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The history and the status as texts, with a mark for the client's.
fn texts(task: &Task) -> Vec<String> {
    let status = task.status_message().into_iter();
    let text = |message: &Message| match message.role() {
        Role::User => format!("> {}", message.text()),
        _ => message.text(),
    };
    task.history.iter().chain(status).map(text).collect()
}

#[tokio::test]
async fn messages_with_one_message_id_and_keys_of_their_own_are_all_kept() {
    let (engine, _) = scene(MemoryStore::new(), EngineConfig::default());
    let task = task_of(&engine, keyed("", "park", "k1")).await;
    let second = keyed(&task.id, "start park", "k2");
    task_of(&engine, second.clone()).await;
    task_of(&engine, keyed(&task.id, "say park", "k3")).await;
    let mut stream = stream_of(&engine, keyed(&task.id, "start say park", "k4")).await.unwrap();
    while next(&mut stream).await.is_some() {}
    let said = |task: &Task| {
        let texts = texts(task).into_iter().filter(|text| text.starts_with("> "));
        texts.collect::<Vec<_>>()
    };
    let all = ["> park", "> start park", "> say park", "> start say park"];
    assert_eq!(said(&get(&engine, &task.id).await), all);
    let joined = task_of(&engine, second).await;
    assert_eq!(said(&joined), all, "a retry joins the message that it repeats");
}

#[tokio::test]
async fn refused_retry_leaves_the_key_to_the_attempt_that_was_accepted() {
    let config = EngineConfig::default().with_max_running(2);
    let (engine, gate) = scene(MemoryStore::new(), config);
    let task = task_of(&engine, at_once("", "gate park")).await;
    let first = keyed(&task.id, "complete", "key");
    let waiting = tokio::spawn({
        let (engine, call) = (engine.clone(), first.clone());
        async move { task_of(&engine, call).await }
    });
    tokio::task::yield_now().await;
    let other = task_of(&engine, at_once("", "gate complete")).await;
    let refused = engine.send_message(first).await.expect_err("no room");
    assert_eq!(refused.kind(), ErrorKind::ResourceExhausted);
    let changed = engine.send_message(keyed(&task.id, "park", "key")).await;
    assert_eq!(changed.expect_err("the key is taken").kind(), ErrorKind::InvalidParams);
    gate.add_permits(2);
    assert_eq!(waiting.await.expect("no panic").state(), TaskState::Completed);
    ended(&engine, &other.id).await;
}

#[tokio::test]
async fn refused_message_leaves_the_webhooks_as_they_were() {
    let config = EngineConfig::default().with_max_queued_messages(0);
    let (engine, gate) = scene(MemoryStore::new(), config);
    let hook = |id: &str, url: &str| TaskPushNotificationConfig {
        id: id.to_owned(),
        url: url.to_owned(),
        ..TaskPushNotificationConfig::default()
    };
    let with_hook = |mut call: Call<SendMessageRequest>, id: &str, url: &str| {
        let configuration = call.request.configuration.get_or_insert_default();
        configuration.task_push_notification_config = Some(hook(id, url));
        call
    };
    let task = task_of(&engine, with_hook(at_once("", "gate park"), "a", "https://one")).await;
    for id in ["a", "b"] {
        let call = with_hook(send(&task.id, "complete"), id, "https://two");
        let refused = engine.send_message(call).await.expect_err("the queue is full");
        assert_eq!(refused.kind(), ErrorKind::ResourceExhausted);
    }
    let task_id = task.id.clone();
    let request = ListTaskPushNotificationConfigsRequest { task_id, ..Default::default() };
    let list = engine.list_task_push_notification_configs(Call::new(request)).await;
    let configs = list.expect("a list").response.configs;
    let configs: Vec<_> = configs.iter().map(|config| (&*config.id, &*config.url)).collect();
    assert_eq!(configs, [("a", "https://one")]);
    gate.add_permits(1);
}

#[tokio::test]
async fn acknowledged_message_is_in_the_history_when_the_task_ends_first() {
    let limits = RunLimits::default().with_max_run_time(Some(Duration::from_millis(200)));
    for (end, state) in [
        ("complete", TaskState::Completed),
        ("error", TaskState::Failed),
        ("panic", TaskState::Failed),
        ("cancel", TaskState::Canceled),
        ("limit", TaskState::Failed),
    ] {
        let config = EngineConfig::default();
        let config = if end == "limit" { config.with_run_limits(limits) } else { config };
        let (engine, gate) = scene(MemoryStore::new(), config);
        let words = if matches!(end, "cancel" | "limit") { "gate" } else { end };
        let text = format!("say gate {words}");
        let task = task_of(&engine, at_once("", &text)).await;
        task_of(&engine, at_once(&task.id, "more")).await;
        if end == "cancel" {
            let id = task.id.clone();
            let request = CancelTaskRequest { id, ..CancelTaskRequest::default() };
            engine.cancel_task(Call::new(request)).await.expect("it is canceled");
        } else if end != "limit" {
            gate.add_permits(1);
        }
        let task = ended(&engine, &task.id).await;
        assert_eq!(task.state(), state, "{end}");
        let seen = texts(&task);
        let refusal = "this message was not handled: the task ended first";
        let told = [&format!("> {text}"), "half done", "> more", refusal];
        assert_eq!(seen[..seen.len().min(4)], told, "{end}");
        let position = task.history.iter().position(|message| message.text() == refusal);
        let told = &task.history[position.unwrap()];
        assert_eq!((&*told.task_id, &*told.context_id), (&*task.id, &*task.context_id));
    }
}

#[tokio::test]
async fn sender_that_waits_is_refused_when_the_task_ends_first() {
    let (engine, gate) = scene(MemoryStore::new(), EngineConfig::default());
    let task = task_of(&engine, at_once("", "gate complete")).await;
    task_of(&engine, at_once(&task.id, "acknowledged")).await;
    let waiting = tokio::spawn({
        let (engine, id) = (engine.clone(), task.id.clone());
        async move { engine.send_message(send(&id, "waiting")).await }
    });
    tokio::task::yield_now().await;
    gate.add_permits(1);
    let refused = timeout(LONG, waiting).await.expect("in time").expect("no panic");
    assert_eq!(refused.expect_err("no turn").kind(), ErrorKind::UnsupportedOperation);
    let seen = texts(&ended(&engine, &task.id).await);
    assert!(seen.contains(&"> acknowledged".to_owned()), "{seen:?}");
    assert!(!seen.contains(&"> waiting".to_owned()), "it was refused: {seen:?}");
}

#[tokio::test]
async fn sender_that_waits_before_an_acknowledged_message_is_refused_when_the_task_ends() {
    let (engine, gate) = scene(MemoryStore::new(), EngineConfig::default());
    let task = task_of(&engine, at_once("", "gate complete")).await;
    let mut stream = stream_of(&engine, send(&task.id, "waiting")).await.expect("a stream");
    task_of(&engine, at_once(&task.id, "acknowledged")).await;
    gate.add_permits(1);
    let mut last = next(&mut stream).await;
    while let Some(Ok(_)) = last {
        last = next(&mut stream).await;
    }
    let refused = last.expect("an end").expect_err("no turn");
    assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
    let seen = texts(&ended(&engine, &task.id).await);
    let sent: Vec<_> = seen.iter().filter(|text| text.starts_with('>')).collect();
    assert_eq!(sent, ["> gate complete", "> acknowledged"]);
}

#[tokio::test]
async fn executor_that_takes_no_message_refuses_it_before_it_is_acknowledged() {
    let (engines, gate) = nodes();
    for other in [0, 1] {
        let task = task_of(&engines[0], at_once("", "alone start gate park")).await;
        working(&engines[other], &task.id).await;
        let refused = engines[other].send_message(at_once(&task.id, "complete")).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::UnsupportedOperation, "node {other}");
        let refused = engines[other].send_message(send(&task.id, "complete")).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::UnsupportedOperation, "node {other}");
        let refused = stream_of(&engines[other], send(&task.id, "complete")).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::UnsupportedOperation, "node {other}");
        gate.add_permits(1);
        while get(&engines[other], &task.id).await.state() != TaskState::InputRequired {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The next run takes messages again, unless it says so too.
        let task = task_of(&engines[other], send(&task.id, "complete")).await;
        assert_eq!(task.state(), TaskState::Completed);
        let said: Vec<_> = texts(&task).into_iter().filter(|text| text.starts_with('>')).collect();
        assert_eq!(said, ["> alone start gate park", "> complete"]);
    }
}

/// A memory store whose commands are read late.
#[derive(Debug)]
struct LateCommands {
    store: MemoryNode,
    reads: Arc<Semaphore>,
}

impl LateCommands {
    async fn answer<T>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if method == "commands" {
            self.reads.acquire().await.expect("it is never closed").forget();
        }
        call.await
    }
}

impl TaskStore for LateCommands {
    forward_store!(TaskStore: this => this.store);
}

impl LeaseStore for LateCommands {
    intercept_store!(answer, LeaseStore: this => this.store);
}

impl PushStore for LateCommands {
    forward_store!(PushStore: this => this.store);
}

#[tokio::test(start_paused = true)]
async fn message_that_another_node_refuses_late_is_not_acknowledged() {
    let (gate, reads) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let one = MemoryNode::new();
    let two = one.join("two");
    let late = LateCommands { store: one, reads: Arc::clone(&reads) };
    let there = Engine::builder(card(), Gated(Arc::clone(&gate))).store(late).build();
    let here = Engine::builder(card(), Gated(Arc::clone(&gate))).store(two).build();
    let task = task_of(&there, at_once("", "start gate complete")).await;
    working(&here, &task.id).await;
    let sent = tokio::spawn({
        let (here, id) = (here.clone(), task.id.clone());
        async move { here.send_message(at_once(&id, "more")).await }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    gate.add_permits(1);
    ended(&there, &task.id).await;
    reads.add_permits(Semaphore::MAX_PERMITS);
    let refused = timeout(LONG, sent).await.expect("in time").expect("no panic");
    assert_eq!(refused.expect_err("no turn").kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(texts(&get(&here, &task.id).await)[..1], ["> start gate complete"]);
}

#[tokio::test(start_paused = true)]
async fn messages_for_another_node_are_acknowledged_before_their_turns() {
    let (engines, gate) = nodes();
    let task = task_of(&engines[0], at_once("", "start gate gate")).await;
    working(&engines[1], &task.id).await;
    for (node, text) in [(1, "gate"), (0, "gate"), (1, "complete")] {
        let sent = task_of(&engines[node], at_once(&task.id, text)).await;
        assert_eq!(sent.state(), TaskState::Working);
        assert!(!texts(&sent).contains(&format!("> {text}")), "it waits for its turn");
    }
    gate.add_permits(4);
    let seen = texts(&ended(&engines[1], &task.id).await);
    let sent: Vec<_> = seen.iter().filter(|text| text.starts_with('>')).collect();
    assert_eq!(sent, ["> start gate gate", "> gate", "> gate", "> complete"]);
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

#[test]
fn acknowledged_message_is_in_the_history_after_a_takeover_that_fails_the_task() {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    let config = || EngineConfig::default().with_lease_renewal(LEASE / 4);
    let there = runtime();
    let (id, crashed) = there.block_on(async {
        let (engine, _gate) = scene(one, config());
        let task = task_of(&engine, at_once("", "start gate")).await;
        task_of(&engine, at_once(&task.id, "more")).await;
        (task.id, engine)
    });
    // As if the process were killed.
    there.shutdown_background();
    drop(crashed);
    runtime().block_on(async {
        let (engine, _gate) = scene(two, config());
        let task = ended(&engine, &id).await;
        assert_eq!(task.state(), TaskState::Failed);
        let seen = texts(&task);
        let told = ["> start gate", "> more", "this message was not handled: the task ended first"];
        assert_eq!(seen[..3], told, "{seen:?}");
    });
}

#[tokio::test]
async fn stream_of_a_queued_message_opens_with_the_current_task() {
    let (engines, gate) = nodes();
    for (node, other) in [(0, 0), (0, 1)] {
        let task = task_of(&engines[node], at_once("", "start gate say park")).await;
        working(&engines[other], &task.id).await;
        let mut stream = stream_of(&engines[other], send(&task.id, "complete")).await.unwrap();
        let opening = next(&mut stream).await.expect("an event").expect("no error");
        assert_eq!(opening.task().map(|task| task.id.clone()), Some(task.id.clone()));
        assert_eq!(opening.state(), Some(TaskState::Working));
        gate.add_permits(1);
        assert_eq!(opening.id(), None, "the turn follows with a gap");
        let mut position = None;
        let mut states = Vec::new();
        while let Some(item) = next(&mut stream).await {
            let event = item.expect("no error");
            let here = event.id().expect("a position").get();
            assert_eq!(here, position.map_or(here, |before: u64| before + 1), "no gap");
            position = Some(here);
            states.extend(event.state());
        }
        assert_eq!(states.last(), Some(&TaskState::Completed), "from node {node} on {other}");
        assert!(!states.contains(&TaskState::InputRequired), "it is of the turn before");
        let task = get(&engines[other], &task.id).await;
        assert!(texts(&task).contains(&"> complete".to_owned()));
    }
}

#[tokio::test]
async fn stream_of_a_message_without_a_turn_ends_with_the_error() {
    let (engines, gate) = nodes();
    for (node, other) in [(0, 0), (0, 1)] {
        let task = task_of(&engines[node], at_once("", "start gate complete")).await;
        working(&engines[other], &task.id).await;
        let mut stream = stream_of(&engines[other], send(&task.id, "more")).await.unwrap();
        let opening = next(&mut stream).await.expect("an event").expect("no error");
        assert_eq!(opening.state(), Some(TaskState::Working));
        gate.add_permits(1);
        let error = next(&mut stream).await.expect("an error").expect_err("no turn");
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "on node {other}");
        assert!(next(&mut stream).await.is_none());
        let late = stream_of(&engines[other], send(&task.id, "late")).await;
        let late = late.expect_err("known at admission").kind();
        assert_eq!(late, ErrorKind::UnsupportedOperation);
    }
}

//
#[tokio::test]
async fn snapshots_of_a_stream_respect_the_history_length() {
    let (engine, gate) = scene(MemoryStore::new(), EngineConfig::default());
    let task = task_of(&engine, send("", "park")).await;
    task_of(&engine, send(&task.id, "start park")).await;
    let limited = |mut call: Call<SendMessageRequest>, limit| {
        call.request.configuration.get_or_insert_default().history_length = limit;
        call
    };
    let negative = limited(send(&task.id, "park"), Some(-1));
    let refused = stream_of(&engine, negative).await.expect_err("it is negative");
    assert_eq!(refused.kind(), ErrorKind::InvalidParams);
    assert_eq!(refused.violations()[0].field, "configuration.historyLength");
    for (limit, expected) in [(Some(0), 0), (Some(1), 1)] {
        // At its turn, and queued behind another message.
        let call = limited(send(&task.id, "gate park"), limit);
        let mut first = stream_of(&engine, call).await.unwrap();
        let call = limited(send(&task.id, "start park"), limit);
        let mut queued = stream_of(&engine, call).await.unwrap();
        for stream in [&mut first, &mut queued] {
            let opening = next(stream).await.expect("an event").expect("no error");
            let history = opening.task().expect("a task").history.len();
            assert_eq!(history, expected, "with a limit of {limit:?}");
        }
        gate.add_permits(1);
        while next(&mut queued).await.is_some() {}
    }
    // The first event of a new task.
    let mut stream = stream_of(&engine, limited(send("", "park"), Some(0))).await.unwrap();
    let opening = next(&mut stream).await.expect("an event").expect("no error");
    assert_eq!(opening.task().expect("a task").history.len(), 0);
}

/// Delivers nothing.
#[derive(Debug)]
struct Silent;

#[async_trait]
impl PushSender for Silent {
    async fn check(&self, _: &TaskPushNotificationConfig) -> Result<()> {
        Ok(())
    }

    fn destination(&self, config: &TaskPushNotificationConfig) -> String {
        config.url.clone()
    }

    async fn deliver(&self, _: &Webhook, _: &Delivery) -> std::result::Result<(), PushError> {
        Ok(())
    }
}
