//! What a long run writes to its journal.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use a2a_core::{
    Message, TaskState,
    v1::{AgentCard, SendMessageRequest, send_message_response::Payload},
};
use a2a_kit_operations::{
    Agent as _, AgentExecutor, BoxError, Call, Engine, EngineConfig, MemoryStore, Recovery,
    RequestContext, Scope, Store, TaskLimits, TaskUpdater, forward_store,
    store::{Committed, LeaseStore, NewTask, PushStore, StoreError, TaskStore, Transition},
};
use async_trait::async_trait;

const STEPS: usize = 32;
const RESULT_BYTES: usize = 32 << 10;

/// Counts the bytes of journals that are written.
#[derive(Debug)]
struct Counted {
    store: MemoryStore,
    bytes: Arc<AtomicUsize>,
}

#[async_trait]
impl TaskStore for Counted {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        self.bytes.fetch_add(new.journal.len(), Ordering::Relaxed);
        self.store.insert(scope, new).await
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        self.bytes.fetch_add(transition.journal.bytes().len(), Ordering::Relaxed);
        self.store.commit(scope, transition).await
    }

    forward_store! {
        TaskStore: this => this.store;
        get, load, replay, list, usage, open_tasks, claim_key, take_over_key, release_key,
        sweep, probe, close,
    }
}

impl LeaseStore for Counted {
    forward_store!(LeaseStore: this => this.store);
}

impl PushStore for Counted {
    forward_store!(PushStore: this => this.store);
}

/// Does a number of steps with large results, and then asks.
struct Steps(Arc<AtomicUsize>);

impl AgentExecutor for Steps {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let mut total = 0;
        for step in 0..STEPS {
            let work = async {
                self.0.fetch_add(1, Ordering::Relaxed);
                Ok::<_, BoxError>("x".repeat(RESULT_BYTES))
            };
            total += updates.once(&format!("step/{step}"), work).await?.len();
        }
        let answer = updates.ask("go on?").await?.text();
        Ok(updates.complete(format!("{answer}, {total} bytes")).await?)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

#[tokio::test]
async fn each_result_is_written_once_and_recalled_by_the_next_run() {
    let (bytes, done) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let store = Counted { store: MemoryStore::new(), bytes: Arc::clone(&bytes) };
    let limits = TaskLimits::default().with_max_journal_bytes(8 << 20);
    // Drops the run at its question, so that the answer starts another one.
    let config = EngineConfig::default().with_task_limits(limits).with_max_input_waiters(0);
    let engine = Engine::builder(AgentCard::new("a", "b"), Steps(Arc::clone(&done)))
        .shared_store(Arc::new(store) as Arc<dyn Store>)
        .config(config)
        .build();
    let send = async |message: Message| {
        let request = SendMessageRequest { message: Some(message), ..Default::default() };
        match engine.send_message(Call::new(request)).await.expect("an answer").response.payload {
            Some(Payload::Task(task)) => task,
            other => panic!("not a task: {other:?}"),
        }
    };
    let task = send(Message::user("go")).await;
    assert_eq!(task.state(), TaskState::InputRequired);
    let written = bytes.load(Ordering::Relaxed);
    let results = STEPS * RESULT_BYTES;
    assert!((results..results + results / 10).contains(&written), "{written} bytes");
    let task = send(Message::user("yes").with_task_id(&task.id)).await;
    let text = task.status_message().map(|message| message.text());
    assert_eq!(text, Some(format!("yes, {results} bytes")));
    assert_eq!(done.load(Ordering::Relaxed), STEPS);
}
