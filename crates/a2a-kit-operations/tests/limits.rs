//! Limits per caller, per task and per run.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    AgentCard, Artifact, Error, ErrorKind, Message, Part, TaskState,
    v1::{
        GetTaskRequest, SendMessageConfiguration, SendMessageRequest, Task,
        send_message_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Caller, CallerLimits, Engine, EngineConfig, EventId,
    ExceededLimit, MemoryStore, RequestContext, RunLimits, TaskLimits, TaskUpdater, UpdateError,
    extension::IDEMPOTENCY_KEY,
    forward_store,
    store::{LeaseStore, PushStore, StoreError, Sweep, TaskStore, Usage},
};
use async_trait::async_trait;
use tokio::{sync::Semaphore, time::timeout};

/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);

/// Follows the instructions in the message.
#[derive(Clone, Debug, Default)]
struct Actor {
    gate: Arc<Gate>,
    limits: RunLimits,
}

#[derive(Debug)]
struct Gate {
    open: Semaphore,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Default for Gate {
    fn default() -> Self {
        Self { open: Semaphore::new(0), running: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }
}

/// Counts an executor until dropped.
struct Running<'a>(&'a Gate);

impl<'a> Running<'a> {
    fn new(gate: &'a Gate) -> Self {
        let running = gate.running.fetch_add(1, Ordering::SeqCst) + 1;
        gate.most.fetch_max(running, Ordering::SeqCst);
        Self(gate)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl AgentExecutor for Actor {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let text = context.text();
        let (verb, rest) = text.split_once(' ').unwrap_or((&text, ""));
        match verb {
            "work" => {
                let _running = Running::new(&self.gate);
                let _through = self.gate.open.acquire().await?;
                updates.complete("done").await?;
            }
            "ask" => {
                updates.ask("what?").await?;
                let _running = Running::new(&self.gate);
                let _through = self.gate.open.acquire().await?;
                updates.complete("done").await?;
            }
            "wait" => updates.require_input("what?").await?,
            "say" => {
                updates.reply(format!("you said {rest}")).await?;
            }
            "recall" => {
                let said = context.replies_in_context();
                let said: Vec<_> = said
                    .iter()
                    .map(|exchange| {
                        format!("{} -> {}", exchange.message.text(), exchange.reply.text())
                    })
                    .collect();
                updates.reply(said.join("; ")).await?;
            }
            "fill" => {
                updates.start().await?;
                let bytes: usize = rest.parse()?;
                for number in 0.. {
                    let part = Part::text("x".repeat(bytes));
                    let artifact = Artifact::new("a", part).with_id("a");
                    let added = if number == 0 {
                        updates.begin(artifact).await
                    } else {
                        updates.append(artifact).await
                    };
                    match added {
                        Ok(()) => {}
                        Err(UpdateError::Limit(ExceededLimit::ArtifactBytes)) => {
                            let after = updates.complete("well").await;
                            assert_eq!(after, Err(UpdateError::Ended));
                            return Ok(());
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            "chatter" => loop {
                updates.status(TaskState::Working, "still at it").await?;
            },
            "hang" => {
                let _running = Running::new(&self.gate);
                updates.start().await?;
                std::future::pending::<()>().await;
            }
            "tick" => loop {
                updates.start().await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            },
            "linger" => {
                let _running = Running::new(&self.gate);
                updates.complete("done").await?;
                std::future::pending::<()>().await;
            }
            "queue" => {
                context.wait_for(tokio::time::sleep(Duration::from_secs(1_000))).await;
                updates.complete("had to wait").await?;
            }
            "think" => {
                let answer = updates.ask("what?").await?;
                updates.complete(answer.text()).await?;
            }
            _ => updates.complete(text).await?,
        }
        Ok(())
    }

    fn run_limits(&self) -> RunLimits {
        self.limits
    }
}

fn card() -> AgentCard {
    AgentCard::new("Actor", "Does what it is told")
}

fn engine(config: EngineConfig) -> (Engine, Arc<Gate>) {
    let actor = Actor::default();
    let gate = Arc::clone(&actor.gate);
    (Engine::builder(card(), actor).config(config).build(), gate)
}

fn callers(limits: CallerLimits) -> EngineConfig {
    EngineConfig::default().with_caller_limits(limits)
}

fn most(number: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(number)
}

fn send(who: &str, text: &str) -> Call<SendMessageRequest> {
    let message = Some(Message::user(text));
    let mut call = Call::new(SendMessageRequest { message, ..SendMessageRequest::default() });
    if !who.is_empty() {
        call.context.caller = Caller::authenticated(who);
    }
    call
}

fn at_once(who: &str, text: &str) -> Call<SendMessageRequest> {
    let mut call = send(who, text);
    call.request.configuration = Some(SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    call
}

fn to(mut call: Call<SendMessageRequest>, task: &Task) -> Call<SendMessageRequest> {
    if let Some(message) = &mut call.request.message {
        message.task_id.clone_from(&task.id);
    }
    call
}

async fn task(engine: &Engine, call: Call<SendMessageRequest>) -> Result<Task, Error> {
    match engine.send_message(call).await?.response.payload {
        Some(Payload::Task(task)) => Ok(task),
        other => panic!("a task, and not {other:?}"),
    }
}

async fn reply(engine: &Engine, call: Call<SendMessageRequest>) -> String {
    match engine.send_message(call).await.expect("an answer").response.payload {
        Some(Payload::Message(message)) => message.text(),
        other => panic!("a message, and not {other:?}"),
    }
}

async fn state(engine: &Engine, who: &str, id: &str) -> Task {
    let request = GetTaskRequest { id: id.into(), ..GetTaskRequest::default() };
    let context = send(who, "").context;
    let reply = engine.get_task(Call::from_parts(context, request)).await.expect("the task");
    Task::clone(&reply.response)
}

async fn until(is_so: impl AsyncFn() -> bool) {
    let so = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, so).await.expect("it comes to that");
}

fn refused<T>(result: Result<T, Error>, limit: &str) {
    let error = result.err().expect("beyond the limit");
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{error}");
    assert_eq!(error.metadata()["limit"], limit, "{error}");
}

#[tokio::test]
async fn running_tasks_per_caller_are_limited_for_every_send_mode() {
    let card = |streams| card().with_streaming(streams);
    for streams in [true, false] {
        for position in [None, EventId::new(999_999)] {
            let actor = Actor::default();
            let gate = Arc::clone(&actor.gate);
            let config = callers(CallerLimits::default().with_running_tasks(most(3)));
            let engine = Engine::builder(card(streams), actor).config(config).build();
            let mut open = Vec::new();
            for number in 0..20 {
                let mut call = at_once("ann", "work");
                call.context.last_event_id = position;
                if number % 3 == 1 && streams {
                    match engine.send_streaming_message(call).await {
                        Ok(reply) => open.push(reply.response),
                        Err(error) => refused(Err::<(), _>(error), "running tasks"),
                    }
                } else if number >= 3 {
                    refused(engine.send_message(call).await, "running tasks");
                } else {
                    task(&engine, call).await.expect("within the limit");
                }
                // Disconnecting does not stop a task.
                open.clear();
            }
            until(async || gate.running.load(Ordering::SeqCst) == 3).await;
            task(&engine, at_once("bob", "work")).await.expect("another caller has its own");
            gate.open.add_permits(100);
            until(async || engine.send_message(at_once("ann", "done")).await.is_ok()).await;
            assert_eq!(gate.most.load(Ordering::SeqCst), 4);
        }
    }
}

#[tokio::test]
async fn waiting_tasks_count_again_when_resumed() {
    let limits = CallerLimits::default().with_running_tasks(most(2));
    let (engine, gate) = engine(callers(limits));
    let mut waiting = Vec::new();
    for _ in 0..5 {
        waiting.push(task(&engine, send("ann", "ask")).await.expect("it waits, and does not run"));
    }
    for task_id in &waiting[..2] {
        task(&engine, to(at_once("ann", "on"), task_id)).await.expect("within the limit");
    }
    for task_id in &waiting[2..] {
        refused(engine.send_message(to(at_once("ann", "on"), task_id)).await, "running tasks");
    }
    refused(engine.send_message(at_once("ann", "work")).await, "running tasks");
    until(async || gate.running.load(Ordering::SeqCst) == 2).await;
    gate.open.add_permits(100);
    for task_id in &waiting[2..] {
        until(async || engine.send_message(to(send("ann", "on"), task_id)).await.is_ok()).await;
    }
    assert!(gate.most.load(Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn last_slots_are_reserved_for_callers_with_none_running() {
    let (engine, _gate) = engine(EngineConfig::default().with_max_running(32));
    for _ in 0..30 {
        task(&engine, at_once("ann", "work")).await.expect("there is room");
    }
    let error = engine.send_message(at_once("ann", "work")).await.expect_err("no more for ann");
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    task(&engine, at_once("bob", "work")).await.expect("the first one of bob");
    task(&engine, at_once("cid", "work")).await.expect("the first one of cid");
    engine.send_message(at_once("dan", "work")).await.expect_err("there is no room");
}

#[tokio::test]
async fn open_tasks_per_caller_are_limited_across_tenants() {
    let (engine, _gate) = engine(callers(CallerLimits::default().with_open_tasks(most(10))));
    let mut first = None;
    for number in 0..10 {
        let mut call = send("ann", "wait");
        call.request.tenant = format!("t{}", number % 3);
        first = Some(task(&engine, call).await.expect("within the limit"));
    }
    refused(engine.send_message(send("ann", "wait")).await, "open tasks");
    task(&engine, send("bob", "wait")).await.expect("another caller has its own");
    let mut call = to(send("ann", "done"), &first.expect("a task"));
    call.request.tenant = "t0".into();
    task(&engine, call).await.expect("a task that is there goes on, and ends");
    task(&engine, send("ann", "wait")).await.expect("room again");
    refused(engine.send_message(send("ann", "wait")).await, "open tasks");
}

/// A shared store that does not know yet what other nodes have ended.
#[derive(Debug)]
struct StaleUsage(MemoryStore);

#[async_trait]
impl TaskStore for StaleUsage {
    async fn usage(&self, _owner: &str) -> Result<Usage, StoreError> {
        Ok(Usage::new(100, 0))
    }

    forward_store! {
        TaskStore: this => this.0;
        insert, commit, get, load, replay, list, open_tasks, claim_key, take_over_key,
        release_key, sweep, probe, close,
    }
}

impl LeaseStore for StaleUsage {
    forward_store!(LeaseStore: this => this.0);
}

impl PushStore for StaleUsage {
    forward_store!(PushStore: this => this.0);
}

#[tokio::test]
async fn open_tasks_are_counted_again_before_a_caller_is_refused() {
    let config = callers(CallerLimits::default().with_open_tasks(most(2)));
    let store = StaleUsage(MemoryStore::new());
    let engine = Engine::builder(card(), Actor::default()).store(store).config(config).build();
    for _ in 0..5 {
        task(&engine, send("ann", "done")).await.expect("nothing is open");
    }
    for _ in 0..2 {
        task(&engine, send("ann", "wait")).await.expect("within the limit");
    }
    refused(engine.send_message(send("ann", "wait")).await, "open tasks");
}

#[tokio::test]
async fn open_tasks_count_before_they_are_stored() {
    let (engine, gate) = engine(callers(CallerLimits::default().with_open_tasks(most(5))));
    let sent: Vec<_> = (0..50)
        .map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.send_message(send("ann", "work")).await.is_ok() })
        })
        .collect();
    until(async || gate.running.load(Ordering::SeqCst) == 5).await;
    gate.open.add_permits(100);
    let mut done = 0;
    for sent in sent {
        done += usize::from(sent.await.expect("no panic"));
    }
    assert_eq!((done, gate.most.load(Ordering::SeqCst)), (5, 5));
    // Sends answered without a task are not counted permanently.
    for _ in 0..20 {
        reply(&engine, send("ann", "say x")).await;
    }
}

#[tokio::test]
async fn anonymous_callers_can_be_exempt() {
    let limits = CallerLimits::default().with_open_tasks(most(1)).with_running_tasks(most(1));
    let (engine, _gate) = engine(callers(limits.with_anonymous_exempt(true)));
    for _ in 0..5 {
        task(&engine, at_once("", "work")).await.expect("no limit");
    }
    task(&engine, at_once("ann", "work")).await.expect("within the limit");
    engine.send_message(at_once("ann", "work")).await.expect_err("beyond it");
}

#[tokio::test]
async fn stored_bytes_per_caller_are_limited() {
    let (engine, _gate) = engine(callers(CallerLimits::default().with_stored_bytes(1 << 20)));
    let text = format!("wait {}", "x".repeat(100_000));
    let mut taken = 0;
    let mut last = None;
    while let Ok(sent) = task(&engine, send("ann", &text)).await {
        taken += 1;
        last = Some(sent);
        assert!(taken < 20);
    }
    assert!(taken >= 3, "{taken}");
    refused(engine.send_message(send("ann", "wait")).await, "stored bytes");
    let last = last.expect("a task");
    refused(engine.send_message(to(send("ann", "more"), &last)).await, "stored bytes");
    task(&engine, send("bob", &text)).await.expect("another caller has its own");
}

#[tokio::test]
async fn removed_tasks_free_stored_bytes() {
    let store = Arc::new(MemoryStore::new());
    let config = callers(CallerLimits::default().with_stored_bytes(300_000));
    let engine =
        Engine::builder(card(), Actor::default()).store(Arc::clone(&store)).config(config).build();
    let text = format!("echo {}", "x".repeat(100_000));
    while task(&engine, send("ann", &text)).await.is_ok() {}
    tokio::time::sleep(Duration::from_millis(20)).await;
    let mut sweep = Sweep::default();
    sweep.tasks = Some(Duration::ZERO);
    store.sweep(sweep).await.expect("the store succeeds");
    task(&engine, send("ann", &text)).await.expect("room again");
}

#[tokio::test]
async fn messages_are_rejected_at_each_task_limit() {
    let limits = TaskLimits::default();
    let long = "x".repeat(10_000);
    for (limits, text, fits, name) in [
        (limits.with_max_turns(4), "wait", 4, "max_turns"),
        (limits.with_max_messages(9), "wait", 4, "max_messages"),
        (limits.with_max_history_bytes(50_000), long.as_str(), 4, "max_history_bytes"),
    ] {
        let (engine, _gate) = engine(EngineConfig::default().with_task_limits(limits));
        let text = format!("wait {text}");
        let first = task(&engine, send("ann", &text)).await.expect("the first message");
        let mut turns = 1;
        let refusal = loop {
            match task(&engine, to(send("ann", &text), &first)).await {
                Ok(_) => turns += 1,
                Err(error) => break error,
            }
            assert!(turns < 100, "{name}");
        };
        refused(Err::<(), _>(refusal), name);
        assert_eq!(turns, fits, "{name}");
        let known = state(&engine, "ann", &first.id).await;
        assert_eq!(known.state(), TaskState::InputRequired, "{name}");
        task(&engine, send("ann", "another")).await.expect("only that task is at its limit");
    }
}

#[tokio::test]
async fn executor_exceeding_a_task_limit_fails_the_task() {
    let limits = TaskLimits::default().with_max_artifact_bytes(100_000).with_max_messages(50);
    let (engine, _gate) = engine(EngineConfig::default().with_task_limits(limits));
    for (text, reason) in [
        ("fill 10000", "the task reached its limit max_artifact_bytes (100000)"),
        ("chatter", "the task reached its limit max_messages (50)"),
    ] {
        let ended = timeout(LONG, task(&engine, send("ann", text))).await;
        let ended = ended.expect("it ends").expect("a task");
        assert_eq!(ended.state(), TaskState::Failed, "{text}");
        assert_eq!(ended.status_message().map(Message::text).as_deref(), Some(reason));
        let bytes: usize = ended.artifacts.iter().map(|artifact| artifact.text().len()).sum();
        assert!(bytes <= 100_000 && ended.history.len() <= 52, "{text}: {bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn run_limits_drop_the_executor_and_fail_the_task() {
    let second = Duration::from_secs(1);
    let time = RunLimits::default().with_max_run_time(second * 30);
    let silence = RunLimits::default().with_max_silence(second * 10);
    let worked = "the agent worked on this message for longer than 30s";
    let silent = "the agent reported no progress for 10s";
    let none = RunLimits::default();
    for (of_engine, of_executor, text, reason, after) in [
        (time, none, "hang", worked, 30),
        (none, time, "hang", worked, 30),
        (time, RunLimits::default().with_max_run_time(second * 60), "tick", worked, 30),
        (silence, none, "hang", silent, 10),
        (time, silence, "hang", silent, 10),
        (silence, time, "tick", worked, 30),
    ] {
        let actor = Actor { limits: of_executor, ..Actor::default() };
        let gate = Arc::clone(&actor.gate);
        let config = EngineConfig::default().with_run_limits(of_engine);
        let engine = Engine::builder(card(), actor).config(config).build();
        let begun = tokio::time::Instant::now();
        let ended = task(&engine, send("ann", text)).await.expect("a task");
        assert_eq!(ended.state(), TaskState::Failed);
        let text_of = ended.status_message().map(Message::text).unwrap_or_default();
        assert!(text_of.starts_with(&format!("{reason} (error ")), "{text_of}");
        assert_eq!(begun.elapsed().as_secs(), after, "{text}");
        assert_eq!(gate.running.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn run_limits_apply_after_the_task_ends() {
    let second = Duration::from_secs(1);
    let limits = RunLimits::default().with_max_run_time(second * 30);
    let (engine, gate) = engine(EngineConfig::default().with_run_limits(limits));
    let ended = task(&engine, send("ann", "linger")).await.expect("a task");
    assert_eq!(ended.state(), TaskState::Completed);
    tokio::time::sleep(second * 20).await;
    assert_eq!(gate.running.load(Ordering::SeqCst), 1);
    tokio::time::sleep(second * 11).await;
    assert_eq!(gate.running.load(Ordering::SeqCst), 0);
    assert_eq!(state(&engine, "ann", &ended.id).await.state(), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn waiting_time_does_not_count_toward_run_limits() {
    let second = Duration::from_secs(1);
    let limits = RunLimits::default().with_max_run_time(second * 30).with_max_silence(second * 20);
    let (engine, _gate) = engine(EngineConfig::default().with_run_limits(limits));
    let asked = task(&engine, send("ann", "think")).await.expect("a task");
    assert_eq!(asked.state(), TaskState::InputRequired);
    tokio::time::sleep(second * 1_000).await;
    let done = task(&engine, to(send("ann", "an answer"), &asked)).await.expect("a task");
    assert_eq!(done.state(), TaskState::Completed);
    let queued = task(&engine, send("ann", "queue")).await.expect("a task");
    assert_eq!(queued.state(), TaskState::Completed, "{queued:?}");
}

#[tokio::test(start_paused = true)]
async fn parked_tasks_are_removed_after_their_retention() {
    let hour = Duration::from_secs(3_600);
    let config = EngineConfig::default().with_parked_retention(Some(hour * 2));
    // One waits without its executor, the other with it.
    let (engine, _gate) = engine(config.with_ask_timeout(hour * 1_000));
    for text in ["wait", "think"] {
        let waits = task(&engine, send("ann", text)).await.expect("a task");
        tokio::time::sleep(hour).await;
        assert_eq!(state(&engine, "ann", &waits.id).await.state(), TaskState::InputRequired);
        tokio::time::sleep(hour + Duration::from_secs(180)).await;
        let request = GetTaskRequest { id: waits.id, ..GetTaskRequest::default() };
        let call = Call::from_parts(send("ann", "").context, request);
        let error = engine.get_task(call).await.expect_err("it is forgotten");
        assert_eq!(error.kind(), ErrorKind::TaskNotFound, "{text}");
    }
}

#[tokio::test]
async fn direct_replies_can_be_read_in_their_conversation() {
    let (engine, _gate) = engine(EngineConfig::default());
    let talk = |who: &str, text: &str| {
        let mut call = send(who, text);
        if let Some(message) = &mut call.request.message {
            message.context_id = "talk".into();
        }
        call
    };
    for text in ["say one", "say two"] {
        reply(&engine, talk("ann", text)).await;
    }
    reply(&engine, send("ann", "say elsewhere")).await;
    let recalled = reply(&engine, talk("ann", "recall")).await;
    assert_eq!(recalled, "say one -> you said one; say two -> you said two");
    assert_eq!(reply(&engine, talk("bob", "recall")).await, "", "of another caller");
}

#[tokio::test]
async fn cards_declare_idempotency_unless_disabled() {
    let declares = |engine: &Engine| {
        engine.card().extensions().iter().filter(|known| known.uri == IDEMPOTENCY_KEY).count()
    };
    let builder = || Engine::builder(card(), Actor::default());
    assert_eq!(declares(&Engine::new(card(), Actor::default())), 1);
    assert_eq!(declares(&builder().without_idempotency_key().build()), 0);
    let again = Engine::new(builder().build().card().clone(), Actor::default());
    assert_eq!(declares(&again), 1);
}
