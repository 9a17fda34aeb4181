//! Nodes whose store fails while they hold leases: a renewal that never returns, a takeover that is
//! slow and always full.
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
    Message, TaskState,
    v1::{
        AgentCard, CancelTaskRequest, GetTaskRequest, SendMessageConfiguration, SendMessageRequest,
        Task, send_message_response,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, EngineConfig, Recovery, RequestContext, Store,
    TaskUpdater, UpdateError, forward_store, intercept_store,
    store::{LeaseStore, Orphan, PushStore, StoreError, TaskStore},
};
use a2a_kit_store_testing::MemoryNode;
use async_trait::async_trait;
use tokio::time::Instant;

const LEASE: Duration = Duration::from_secs(10);
const PERIOD: Duration = Duration::from_secs(3);

/// What a link to a store does.
#[derive(Debug, Default)]
struct Faults {
    /// Renewals never return.
    renewal_hangs: AtomicBool,
    renewal_fails: AtomicBool,
    /// Nothing returns.
    all_hang: AtomicBool,
    /// Takeovers take half a lease.
    is_slow: AtomicBool,
    /// A round trip takes 300 ms.
    is_far: AtomicBool,
    /// How often each call yields.
    yields: AtomicUsize,
    renewals: Mutex<Vec<Instant>>,
    takeovers: AtomicUsize,
}

/// A store behind a link.
#[derive(Debug)]
struct Linked {
    store: MemoryNode,
    faults: Arc<Faults>,
}

impl Linked {
    fn new(store: MemoryNode) -> (Self, Arc<Faults>) {
        let faults = Arc::new(Faults::default());
        (Self { store, faults: Arc::clone(&faults) }, faults)
    }

    /// Half of a round trip.
    async fn travel(&self) {
        if self.faults.is_far.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    }

    async fn pass<T>(
        &self,
        _call: &'static str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        while self.faults.all_hang.load(Ordering::SeqCst) {
            tokio::time::sleep(PERIOD / 10).await;
        }
        self.travel().await;
        let result = work.await;
        self.travel().await;
        for _ in 0..self.faults.yields.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        result
    }
}

impl TaskStore for Linked {
    intercept_store!(pass, TaskStore: this => this.store);
}

#[async_trait]
impl LeaseStore for Linked {
    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError> {
        self.faults.renewals.lock().unwrap().push(Instant::now());
        let hangs = [&self.faults.renewal_hangs, &self.faults.all_hang];
        if hangs.iter().any(|hangs| hangs.load(Ordering::SeqCst)) {
            std::future::pending::<()>().await;
        }
        if self.faults.renewal_fails.load(Ordering::SeqCst) {
            return Err(StoreError::failed("no connection"));
        }
        self.pass("renew", self.store.renew(held)).await
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        self.faults.takeovers.fetch_add(1, Ordering::SeqCst);
        if self.faults.is_slow.load(Ordering::SeqCst) {
            tokio::time::sleep(LEASE / 2).await;
        }
        self.pass("take_over", self.store.take_over(limit)).await
    }

    forward_store! {
        LeaseStore: this => this.store;
        node, lease, signals,
    }
    intercept_store! {
        pass, LeaseStore: this => this.store;
        acquire, release, abandon, post_command, commands, answer_command, read_answer,
        delete_answer,
    }
}

impl PushStore for Linked {
    intercept_store!(pass, PushStore: this => this.store);
}

/// Works without end, and records when runs begin and are dropped.
#[derive(Clone, Default)]
struct Endless {
    begun: Arc<Mutex<Vec<Instant>>>,
    dropped: Arc<Mutex<Vec<Instant>>>,
}

struct Dropped(Arc<Mutex<Vec<Instant>>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(Instant::now());
    }
}

impl AgentExecutor for Endless {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let _dropped = Dropped(Arc::clone(&self.dropped));
        self.begun.lock().unwrap().push(Instant::now());
        updates.start().await?;
        std::future::pending().await
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

fn stores() -> (MemoryNode, MemoryNode) {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    (one, two)
}

fn engine(store: impl Store, executor: impl AgentExecutor) -> Engine {
    Engine::builder(AgentCard::new("Test", "An agent under test"), executor)
        .store(store)
        .config(EngineConfig::default().with_lease_renewal(PERIOD))
        .build()
}

async fn begin(engine: &Engine) -> Task {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let request = SendMessageRequest {
        message: Some(Message::user("go")),
        configuration: Some(configuration),
        ..SendMessageRequest::default()
    };
    let response = engine.send_message(Call::new(request)).await.expect("an answer").response;
    match response.payload {
        Some(send_message_response::Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

async fn state(engine: &Engine, id: &str) -> TaskState {
    let request = GetTaskRequest { id: id.into(), ..GetTaskRequest::default() };
    engine.get_task(Call::new(request)).await.expect("a task").response.state()
}

async fn executors_are_dropped_before_a_takeover(cut: fn(&Faults)) {
    let (one, two) = stores();
    let (one, faults) = Linked::new(one);
    let (first, second) = (Endless::default(), Endless::default());
    let one = engine(one, first.clone());
    begin(&one).await;
    tokio::time::sleep(PERIOD * 2).await;
    cut(&faults);
    let _two = engine(two, second.clone());
    tokio::time::sleep(LEASE * 3).await;
    let dropped = first.dropped.lock().unwrap().clone();
    let taken_over = second.begun.lock().unwrap().clone();
    assert_eq!((dropped.len(), taken_over.len()), (1, 1), "{dropped:?}, {taken_over:?}");
    assert!(dropped[0] < taken_over[0], "dropped {:?} late", dropped[0] - taken_over[0]);
}

#[tokio::test(start_paused = true)]
async fn executors_are_dropped_before_a_takeover_while_renewals_hang() {
    executors_are_dropped_before_a_takeover(|faults| {
        faults.renewal_hangs.store(true, Ordering::SeqCst);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn executors_are_dropped_before_a_takeover_while_renewals_fail() {
    executors_are_dropped_before_a_takeover(|faults| {
        faults.renewal_fails.store(true, Ordering::SeqCst);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn executors_are_dropped_before_a_takeover_while_the_store_answers_nothing() {
    executors_are_dropped_before_a_takeover(|faults| {
        faults.all_hang.store(true, Ordering::SeqCst);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn only_node_resumes_its_tasks_when_the_store_answers_again() {
    let (one, _two) = stores();
    let (one, faults) = Linked::new(one);
    let executor = Endless::default();
    let one = engine(one, executor.clone());
    let id = begin(&one).await.id;
    faults.all_hang.store(true, Ordering::SeqCst);
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!(executor.dropped.lock().unwrap().len(), 1);
    faults.all_hang.store(false, Ordering::SeqCst);
    tokio::time::sleep(PERIOD * 3).await;
    assert_eq!(executor.begun.lock().unwrap().len(), 2, "it is rerun, once");
    assert_eq!(state(&one, &id).await, TaskState::Working);
}

/// Blocks the thread of its node for two leases, and then does something once.
struct Paused {
    effects: Arc<AtomicUsize>,
    outcome: std::sync::mpsc::Sender<Option<UpdateError>>,
}

/// A lease that a blocked thread can outlast in a test.
const SHORT: Duration = Duration::from_millis(200);

impl AgentExecutor for Paused {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        std::thread::sleep(SHORT * 2);
        assert_eq!(updates.check_lease(), Err(UpdateError::Superseded));
        let effect = async {
            self.effects.fetch_add(1, Ordering::SeqCst);
            Ok::<_, BoxError>(())
        };
        let error = updates.once("effect", effect).await.err();
        let _ = self.outcome.send(error.and_then(|error| error.downcast_ref().cloned()));
        Ok(())
    }
}

#[test]
fn node_that_was_paused_past_its_lease_begins_nothing_once() {
    let one = MemoryNode::with_lease(SHORT);
    let _two = one.join("two");
    let effects = Arc::new(AtomicUsize::new(0));
    let (outcome, outcomes) = std::sync::mpsc::channel();
    let paused = Paused { effects: Arc::clone(&effects), outcome };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config = EngineConfig::default().with_lease_renewal(SHORT / 4);
        let engine = Engine::builder(AgentCard::new("Test", "An agent under test"), paused)
            .store(one)
            .config(config)
            .build();
        begin(&engine).await;
        tokio::time::sleep(SHORT).await;
    });
    let outcome = outcomes.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(outcome, Some(UpdateError::Superseded));
    assert_eq!(effects.load(Ordering::SeqCst), 0);
}

/// Waits for an approval, and counts its runs.
#[derive(Clone, Default)]
struct Waits {
    runs: Arc<AtomicUsize>,
}

impl AgentExecutor for Waits {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        updates.start().await?;
        let answer = updates.ask_auth("?").await?;
        updates.complete(answer.text()).await?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

#[tokio::test]
async fn calls_during_a_takeover_are_handled_once() {
    for round in 0..100 {
        let one = MemoryNode::with_lease(LEASE);
        let (two, faults) = Linked::new(one.join("two"));
        faults.yields.store(round % 8, Ordering::SeqCst);
        let one = engine(one, Waits::default());
        let id = begin(&one).await.id;
        while state(&one, &id).await != TaskState::AuthRequired {
            tokio::task::yield_now().await;
        }
        one.shutdown(Duration::ZERO).await;
        let waits = Waits::default();
        let two = engine(two, waits.clone());
        for _ in 0..round / 8 {
            tokio::task::yield_now().await;
        }
        let limit = Duration::from_secs(5);
        let state = if round % 2 == 0 {
            let request = CancelTaskRequest { id, ..CancelTaskRequest::default() };
            let canceled = tokio::time::timeout(limit, two.cancel_task(Call::new(request))).await;
            canceled.expect("an answer").expect("a task").response.state()
        } else {
            let message = Some(Message::user("yes").with_task_id(id));
            let request = SendMessageRequest { message, ..SendMessageRequest::default() };
            let answered = tokio::time::timeout(limit, two.send_message(Call::new(request))).await;
            match answered.expect("an answer").expect("a task").response.payload {
                Some(send_message_response::Payload::Task(task)) => task.state(),
                other => panic!("not a task: {other:?}"),
            }
        };
        let expected = if round % 2 == 0 { TaskState::Canceled } else { TaskState::Completed };
        assert_eq!(state, expected, "round {round}");
        assert!(waits.runs.load(Ordering::SeqCst) <= 1, "round {round} ran twice");
    }
}

/// Tasks of a node that has failed, as many as fill a few batches.
async fn orphans(store: MemoryNode) {
    let gone = engine(store, Endless::default());
    for _ in 0..300 {
        begin(&gone).await;
    }
    gone.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn renewals_do_not_wait_for_a_takeover() {
    let (one, two) = stores();
    let (one, faults) = Linked::new(one);
    faults.is_slow.store(true, Ordering::SeqCst);
    orphans(two).await;
    let executor = Endless::default();
    let one = engine(one, executor.clone());
    begin(&one).await;
    tokio::time::sleep(LEASE * 10).await;
    let renewals = faults.renewals.lock().unwrap().clone();
    let longest = renewals.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(longest <= PERIOD * 3 / 2, "{longest:?} without a renewal");
    assert!(executor.dropped.lock().unwrap().is_empty(), "no lease was lost");
    assert_eq!(executor.begun.lock().unwrap().len(), 301, "each task runs once");
}

#[tokio::test(start_paused = true)]
async fn tasks_keep_their_leases_over_a_slow_link_while_others_are_taken_over() {
    const OWN: usize = 1_200;
    const ORPHANS: usize = 2_400;
    let (one, two) = stores();
    let (one, faults) = Linked::new(one);
    let gone = engine(two, Endless::default());
    for _ in 0..ORPHANS {
        begin(&gone).await;
    }
    let executor = Endless::default();
    let one = engine(one, executor.clone());
    for _ in 0..OWN {
        begin(&one).await;
    }
    faults.is_far.store(true, Ordering::SeqCst);
    gone.shutdown(Duration::ZERO).await;
    let all = async {
        while executor.begun.lock().unwrap().len() < OWN + ORPHANS {
            tokio::time::sleep(PERIOD).await;
        }
        tokio::time::sleep(LEASE * 3).await;
    };
    tokio::time::timeout(Duration::from_secs(300), all).await.expect("all are taken over");
    assert_eq!(executor.begun.lock().unwrap().len(), OWN + ORPHANS, "each runs once");
    assert!(executor.dropped.lock().unwrap().is_empty(), "no lease was lost");
}

#[tokio::test(start_paused = true)]
async fn node_that_cannot_renew_takes_nothing_over() {
    let (one, two) = stores();
    let (one, faults) = Linked::new(one);
    faults.renewal_fails.store(true, Ordering::SeqCst);
    let _one = engine(one, Endless::default());
    tokio::time::sleep(PERIOD * 3).await;
    let before = faults.takeovers.load(Ordering::SeqCst);
    orphans(two).await;
    tokio::time::sleep(PERIOD * 3).await;
    assert_eq!(faults.takeovers.load(Ordering::SeqCst), before);
    faults.renewal_fails.store(false, Ordering::SeqCst);
    tokio::time::sleep(PERIOD * 2).await;
    assert!(faults.takeovers.load(Ordering::SeqCst) > before);
}
