//! An engine with a failing store: transient failures, outages, and writes that succeed despite an
//! error.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    Artifact, ErrorKind, Message, Part, TaskState,
    v1::{
        AgentCard, CancelTaskRequest, GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest,
        stream_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, EngineConfig, Event, EventId, MemoryStore,
    Recovery, RequestContext, Scope, Store, TaskUpdater, UpdateError, intercept_store,
    store::{Committed, LeaseStore, NewTask, PushStore, StoreError, Sweep, TaskStore, Transition},
};
use async_trait::async_trait;
use futures_util::StreamExt as _;
use tokio::sync::Notify;

/// Injected faults.
#[derive(Debug, Default)]
struct Faults {
    /// Calls fail without effect.
    down: AtomicBool,
    /// This many writes are applied but reported as failed.
    lies: AtomicUsize,
    /// Inserts are rejected.
    full: AtomicBool,
    /// The disk is full.
    unwritable: AtomicBool,
    failures: AtomicUsize,
    /// An insert is applied, but returns only when this is notified.
    slow_insert: Mutex<Option<Arc<Notify>>>,
}

#[derive(Debug)]
struct Flaky {
    store: MemoryStore,
    faults: Arc<Faults>,
}

impl Flaky {
    fn new() -> (Self, Arc<Faults>) {
        let faults = Arc::new(Faults::default());
        (Self { store: MemoryStore::new(), faults: Arc::clone(&faults) }, faults)
    }

    fn up(&self) -> Result<&MemoryStore, StoreError> {
        if self.faults.down.load(Ordering::SeqCst) {
            self.faults.failures.fetch_add(1, Ordering::SeqCst);
            return Err(StoreError::failed("the store is down"));
        }
        Ok(&self.store)
    }

    async fn answer<T>(
        &self,
        _: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.up()?;
        call.await
    }

    fn lie<T>(&self, told: T) -> Result<T, StoreError> {
        let left = |left: usize| left.checked_sub(1);
        match self.faults.lies.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left) {
            Ok(_) => Err(StoreError::failed("the connection was lost")),
            Err(_) => Ok(told),
        }
    }
}

#[async_trait]
impl TaskStore for Flaky {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        if self.faults.full.load(Ordering::SeqCst) {
            return Err(StoreError::Full);
        }
        if self.faults.unwritable.load(Ordering::SeqCst) {
            return Err(StoreError::Unwritable("no space left on device".into()));
        }
        let committed = self.up()?.insert(scope, new).await?;
        let told = self.faults.slow_insert.lock().unwrap().clone();
        if let Some(told) = told {
            told.notified().await;
        }
        self.lie(committed)
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        let committed = self.up()?.commit(scope, transition).await?;
        self.lie(committed)
    }

    intercept_store! {
        answer, TaskStore: this => this.store;
        get, load, replay, list, usage, open_tasks, claim_key, take_over_key, release_key, probe,
    }

    /// Never returns: no lease renewal or takeover may wait for it.
    async fn sweep(&self, _sweep: Sweep) -> Result<Vec<Arc<str>>, StoreError> {
        std::future::pending().await
    }

    async fn close(&self) {}
}

impl LeaseStore for Flaky {
    intercept_store!(answer, LeaseStore: this => this.store);
}

impl PushStore for Flaky {
    intercept_store!(answer, PushStore: this => this.store);
}

/// Starts, waits, emits a chunk, and completes; a rerun continues.
#[derive(Default)]
struct Steps {
    go_on: Arc<Notify>,
    told: Arc<Mutex<Vec<Result<(), UpdateError>>>>,
}

impl AgentExecutor for Steps {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let tell = |result| {
            self.told.lock().unwrap().push(result);
            result
        };
        if !context.is_rerun() {
            tell(updates.start().await)?;
        }
        self.go_on.notified().await;
        if context.task().artifacts.is_empty() {
            let artifact = Artifact::new("text", Part::text("chunk"));
            tell(updates.artifact(artifact).await)?;
        }
        tell(updates.complete(if context.is_rerun() { "again" } else { "at once" }).await)?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

struct Bench {
    engine: Engine,
    faults: Arc<Faults>,
    go_on: Arc<Notify>,
    told: Arc<Mutex<Vec<Result<(), UpdateError>>>>,
}

fn bench(retry_timeout: Duration) -> Bench {
    let (store, faults) = Flaky::new();
    let steps = Steps::default();
    let (go_on, told) = (Arc::clone(&steps.go_on), Arc::clone(&steps.told));
    let config = EngineConfig::default()
        .with_store_retry_timeout(retry_timeout)
        .with_lease_renewal(Duration::from_millis(100));
    let store: Arc<dyn Store> = Arc::new(store);
    let engine = Engine::builder(AgentCard::new("Test", "An agent under test"), steps)
        .shared_store(store)
        .config(config)
        .build();
    Bench { engine, faults, go_on, told }
}

fn send() -> Call<SendMessageRequest> {
    let message = Some(Message::user("go"));
    Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("it happens soon")
}

impl Bench {
    /// Sends, and returns the id of the task and the stream after its first status.
    async fn begin(&self) -> (String, a2a_kit_operations::EventStream) {
        let mut stream = self.engine.send_streaming_message(send()).await.unwrap().response;
        let id = soon(stream.next()).await.unwrap().unwrap().task().unwrap().id.clone();
        let started = soon(stream.next()).await.unwrap().unwrap();
        assert_eq!(started.state(), Some(TaskState::Working));
        (id, stream)
    }

    async fn state_of(&self, id: &str) -> (TaskState, String) {
        let request = GetTaskRequest { id: id.into(), ..GetTaskRequest::default() };
        let task = self.engine.get_task(Call::new(request)).await.unwrap().response;
        let message = task.status.as_ref().and_then(|status| status.message.as_ref());
        (task.state(), message.map(Message::text).unwrap_or_default())
    }
}

fn positions(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(Event::id).map(EventId::get).collect()
}

#[tokio::test(start_paused = true)]
async fn transient_store_failure_loses_nothing() {
    let bench = bench(Duration::from_secs(20));
    let (id, stream) = bench.begin().await;
    bench.faults.down.store(true, Ordering::SeqCst);
    bench.go_on.notify_one();
    let rest = tokio::spawn(stream.collect::<Vec<_>>());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!rest.is_finished(), "nothing is seen before it is stored");
    assert!(bench.faults.failures.load(Ordering::SeqCst) > 1, "it is tried again and again");
    bench.faults.down.store(false, Ordering::SeqCst);
    let events: Vec<Event> = soon(rest).await.unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(positions(&events), [3, 4]);
    assert!(matches!(events[0].payload(), Some(Payload::ArtifactUpdate(_))));
    assert_eq!(bench.state_of(&id).await, (TaskState::Completed, "at once".to_owned()));
    assert!(bench.told.lock().unwrap().iter().all(Result::is_ok), "the executor need not know");
}

#[tokio::test(start_paused = true)]
async fn write_that_succeeded_despite_an_error_is_not_repeated() {
    let bench = bench(Duration::from_secs(20));
    // Each write of the task is applied but reported as failed.
    bench.faults.lies.store(1, Ordering::SeqCst);
    let (id, stream) = bench.begin().await;
    bench.faults.lies.store(2, Ordering::SeqCst);
    bench.go_on.notify_one();
    let events: Vec<Event> =
        soon(stream.collect::<Vec<_>>()).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(positions(&events), [3, 4]);
    assert_eq!(bench.state_of(&id).await, (TaskState::Completed, "at once".to_owned()));
    let request = SubscribeToTaskRequest { id, ..SubscribeToTaskRequest::default() };
    let mut call = Call::new(request);
    call.context.last_event_id = EventId::new(1);
    let stored = bench.engine.subscribe_to_task(call).await.unwrap().response;
    let stored: Vec<Event> =
        soon(stored.collect::<Vec<_>>()).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(positions(&stored), [2, 3, 4], "the store has each event once");
}

#[tokio::test(start_paused = true)]
async fn store_outage_fails_waiters_and_the_task_resumes_later() {
    let bench = bench(Duration::from_secs(2));
    let (id, stream) = bench.begin().await;
    bench.faults.down.store(true, Ordering::SeqCst);
    bench.go_on.notify_one();
    let last = soon(stream.collect::<Vec<_>>()).await.pop().unwrap().unwrap_err();
    assert_eq!(last.kind(), ErrorKind::Unavailable);
    let refused = bench.engine.send_message(send()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    assert_eq!(bench.told.lock().unwrap().last(), Some(&Err(UpdateError::Store)));
    let request = GetTaskRequest { id: id.clone(), ..GetTaskRequest::default() };
    let unread = bench.engine.get_task(Call::new(request)).await;
    assert!(
        unread.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unavailable)
            || unread.is_ok_and(|reply| reply.response.state() == TaskState::Working),
        "the task does not lie"
    );

    bench.faults.down.store(false, Ordering::SeqCst);
    let request = SubscribeToTaskRequest { id: id.clone(), ..SubscribeToTaskRequest::default() };
    let mut call = Call::new(request);
    call.context.last_event_id = EventId::new(2);
    bench.go_on.notify_one();
    let stream = bench.engine.subscribe_to_task(call).await.unwrap().response;
    let events: Vec<Event> =
        soon(stream.collect::<Vec<_>>()).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(positions(&events), [3, 4]);
    assert_eq!(bench.state_of(&id).await, (TaskState::Completed, "again".to_owned()));
}

#[tokio::test]
async fn full_store_returns_resource_exhausted() {
    let bench = bench(Duration::from_secs(2));
    bench.faults.full.store(true, Ordering::SeqCst);
    let refused = bench.engine.send_message(send()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ResourceExhausted);
}

/// A retry would only delay the caller.
#[tokio::test(start_paused = true)]
async fn unwritable_store_fails_sends_at_once_as_unavailable() {
    let bench = bench(Duration::from_secs(20));
    bench.faults.unwritable.store(true, Ordering::SeqCst);
    let begun = tokio::time::Instant::now();
    let refused = bench.engine.send_message(send()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

/// Others may see a new task in the store before the engine knows that it is stored.
#[tokio::test(start_paused = true)]
async fn listed_task_can_be_read_subscribed_to_and_canceled() {
    let bench = bench(Duration::from_secs(20));
    let told = Arc::new(Notify::new());
    *bench.faults.slow_insert.lock().unwrap() = Some(Arc::clone(&told));
    let engine = bench.engine.clone();
    let sending = tokio::spawn(async move { engine.send_message(send()).await });
    let id = soon(async {
        loop {
            let listed = bench.engine.list_tasks(Call::default()).await.unwrap().response;
            match listed.tasks.first() {
                Some(task) => break task.id.clone(),
                None => tokio::task::yield_now().await,
            }
        }
    })
    .await;
    assert_eq!(bench.state_of(&id).await.0, TaskState::Working);
    let request = SubscribeToTaskRequest { id: id.clone(), ..SubscribeToTaskRequest::default() };
    let engine = bench.engine.clone();
    let watching = tokio::spawn(async move { engine.subscribe_to_task(Call::new(request)).await });
    let request = CancelTaskRequest { id: id.clone(), ..CancelTaskRequest::default() };
    let engine = bench.engine.clone();
    let cancelling = tokio::spawn(async move { engine.cancel_task(Call::new(request)).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    told.notify_one();
    let stream = soon(watching).await.unwrap().unwrap().response;
    assert_eq!(soon(cancelling).await.unwrap().unwrap().response.state(), TaskState::Canceled);
    let last = soon(stream.collect::<Vec<_>>()).await.pop().unwrap().unwrap();
    assert_eq!(last.state(), Some(TaskState::Canceled));
    assert!(soon(sending).await.unwrap().is_ok());
}
