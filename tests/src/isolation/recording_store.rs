//! A store wrapper that records calls.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use a2a_kit_operations::{
    EventId, Scope, Store, Webhook,
    store::{
        Acquired, Backlog, Claim, ClaimedDeliveries, Command, Committed, DeadLetter,
        DeadLetterQuery, DeliveryKey, DeliveryOutcome, LeaseStore, NewTask, Orphan, PushStore,
        Redelivery, Replay, Signals, StoreError, StoredTask, Sweep, TaskPage, TaskQuery, TaskStore,
        Transition, Usage,
    },
};
use async_trait::async_trait;
use bytes::Bytes;

/// The recorded calls, without those of the engine's background work.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(Arc<Mutex<Vec<&'static str>>>);

impl Calls {
    fn note(&self, name: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }

    /// The calls since the last time.
    pub(super) fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Forwards every call.
#[derive(Debug)]
pub(super) struct RecordingStore {
    store: Arc<dyn Store>,
    calls: Calls,
}

impl RecordingStore {
    pub(super) fn new(store: Arc<dyn Store>) -> (Self, Calls) {
        let calls = Calls::default();
        (Self { store, calls: calls.clone() }, calls)
    }
}

type Stored<T> = Result<T, StoreError>;

macro_rules! recording_store {
    (
        $store:ident,
        noted { $($method:ident($($name:ident: $type:ty),*) -> $result:ty;)* }
        not { $($quiet:ident($($quiet_name:ident: $quiet_type:ty),*) -> $quiet_result:ty;)* }
        plain { $($plain:tt)* }
    ) => {
        #[async_trait]
        impl $store for RecordingStore {
            $(
                async fn $method(&self, $($name: $type),*) -> Stored<$result> {
                    self.calls.note(stringify!($method));
                    self.store.$method($($name),*).await
                }
            )*
            $(
                async fn $quiet(&self, $($quiet_name: $quiet_type),*) -> Stored<$quiet_result> {
                    self.store.$quiet($($quiet_name),*).await
                }
            )*
            $($plain)*
        }
    };
}

recording_store! {
    TaskStore,
    noted {
    insert(scope: &Scope, new: NewTask) -> Committed;
    commit(scope: &Scope, transition: Transition) -> Committed;
    get(scope: &Scope, task_id: &str) -> Option<StoredTask>;
    load(scope: &Scope, task_id: &str, after: EventId) -> Option<(StoredTask, Replay)>;
    replay(scope: &Scope, task_id: &str, after: EventId) -> Option<Replay>;
    list(scope: &Scope, query: &TaskQuery) -> TaskPage;
    usage(owner: &str) -> Usage;
    open_tasks(owner: &str) -> usize;
    claim_key(scope: &Scope, key: &str, fingerprint: u64, task_id: &str) -> Claim;
    take_over_key(scope: &Scope, key: &str, fingerprint: u64, gone: &str, task_id: &str) -> Claim;
    release_key(scope: &Scope, key: &str, task_id: &str) -> ();
    }
    not {
    sweep(sweep: Sweep) -> Vec<Arc<str>>;
    probe() -> ();
    }
    plain {
    async fn close(&self) {
        self.store.close().await;
    }
    }
}

recording_store! {
    PushStore,
    noted {
    put_config(scope: &Scope, webhook: Webhook) -> ();
    configs(scope: &Scope, task_id: &str) -> Vec<Webhook>;
    delete_config(scope: &Scope, task_id: &str, id: &str) -> ();
    }
    not {
    claim_deliveries(limit: usize) -> ClaimedDeliveries;
    record_delivery(key: &DeliveryKey, outcome: DeliveryOutcome) -> bool;
    dead_letters(query: &DeadLetterQuery) -> Vec<DeadLetter>;
    redeliver(query: &DeadLetterQuery) -> Redelivery;
    purge_dead_letters(query: &DeadLetterQuery) -> u64;
    backlog() -> Backlog;
    }
    plain {}
}

#[async_trait]
impl LeaseStore for RecordingStore {
    fn node(&self) -> &str {
        self.store.node()
    }

    fn lease(&self) -> Option<Duration> {
        self.store.lease()
    }

    fn signals(&self) -> Option<Signals> {
        self.store.signals()
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Stored<Option<Acquired>> {
        self.calls.note("acquire");
        self.store.acquire(scope, task_id).await
    }

    async fn post_command(&self, scope: &Scope, task_id: &str, command: Command) -> Stored<bool> {
        self.calls.note("post");
        self.store.post_command(scope, task_id, command).await
    }

    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Stored<Vec<Arc<str>>> {
        self.store.renew(held).await
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Stored<bool> {
        self.store.release(task_id, epoch).await
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Stored<()> {
        self.store.abandon(task_id, epoch).await
    }

    async fn take_over(&self, limit: usize) -> Stored<Vec<Orphan>> {
        self.store.take_over(limit).await
    }

    async fn commands(&self, task_id: &str) -> Stored<Vec<Command>> {
        self.store.commands(task_id).await
    }

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Stored<()> {
        self.store.answer_command(command_id, answer).await
    }

    async fn read_answer(&self, command_id: &str) -> Stored<Option<Bytes>> {
        self.store.read_answer(command_id).await
    }

    async fn delete_answer(&self, command_id: &str) -> Stored<()> {
        self.store.delete_answer(command_id).await
    }
}
