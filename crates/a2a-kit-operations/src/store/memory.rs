//! A store in memory.

mod changes;
mod command;
mod context;
mod data;
mod entry;
mod idempotency_key;
mod lease;
mod limits;
mod log;
mod lossless;
mod outbox;
mod packed_task;
mod push;
mod restore;
mod retention;
mod save;
mod saved;
mod scope;
mod status_index;
mod timer_queue;
mod usage;

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;

pub use self::limits::MemoryLimits;
use self::{changes::Changes, data::Data};
use crate::{
    EventId, Scope, Webhook,
    store::{
        Acquired, Backlog, Claim, ClaimedDeliveries, Command, Committed, DeadLetter,
        DeadLetterQuery, DeliveryKey, DeliveryOutcome, LeaseStore, NewTask, Orphan, PushStore,
        Redelivery, Replay, Signals, StoreError, StoredTask, Sweep, TaskPage, TaskQuery, TaskStore,
        Transition, Usage,
    },
};

/// Stores tasks in memory, for tests and for agents whose tasks may be lost on a restart.
///
/// Bounded by [`MemoryLimits`]. No method waits: locks are held only for the work on one task or
/// one page, and the tables grow incrementally. Ended tasks are packed to their encoding.
///
/// ```
/// use a2a_kit_operations::store::{MemoryLimits, MemoryStore};
///
/// let store = MemoryStore::with_limits(MemoryLimits::default().with_max_tasks(10_000));
/// ```
pub struct MemoryStore {
    data: Data,
}

impl MemoryStore {
    /// Creates an empty store with the default limits.
    pub fn new() -> Self {
        Self::with_limits(MemoryLimits::default())
    }

    /// Creates an empty store.
    pub fn with_limits(limits: MemoryLimits) -> Self {
        Self { data: Data::new(limits, Changes::default()) }
    }

    /// Restores a store from saved pairs, and records its changes from now on.
    pub(in crate::store) fn restore(
        limits: MemoryLimits,
        pairs: Vec<(String, Bytes)>,
    ) -> Result<Self, StoreError> {
        Ok(Self { data: Data::restore(limits, pairs)? })
    }

    /// The changes that have not been written.
    pub(in crate::store) fn changes(&self) -> &Changes {
        &self.data.changes
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("node", &self.data.node)
            .field("tasks", &self.data.count.load(Ordering::Relaxed))
            .field("limits", &self.data.limits)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TaskStore for MemoryStore {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        self.data.insert(scope, new)
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        self.data.commit(scope, transition)
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        self.data.read(scope, task_id)
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError> {
        self.data.load(scope, task_id, after)
    }

    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError> {
        Ok(self.data.find(scope, task_id).and_then(|entry| entry.lock().replay(after)))
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        self.data.page(scope, query)
    }

    async fn usage(&self, owner: &str) -> Result<Usage, StoreError> {
        Ok(self.data.scopes.usage(owner))
    }

    async fn open_tasks(&self, owner: &str) -> Result<usize, StoreError> {
        Ok(self.data.scopes.usage(owner).open_tasks)
    }

    async fn claim_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        Ok(self.data.idempotency_keys.claim(scope, key, fingerprint, task_id))
    }

    async fn take_over_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        Ok(self.data.take_over_key(scope, key, fingerprint, gone, task_id))
    }

    async fn release_key(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError> {
        self.data.idempotency_keys.release_key(scope, key, task_id);
        Ok(())
    }

    async fn sweep(&self, sweep: Sweep) -> Result<Vec<Arc<str>>, StoreError> {
        Ok(self.data.sweep(sweep))
    }

    async fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(&self) {}
}

#[async_trait]
impl LeaseStore for MemoryStore {
    fn node(&self) -> &str {
        &self.data.node
    }

    fn lease(&self) -> Option<Duration> {
        None
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError> {
        self.data.acquire(scope, task_id)
    }

    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError> {
        Ok(self.data.renew(held))
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError> {
        Ok(self.data.release(task_id, epoch))
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError> {
        self.data.abandon(task_id, epoch);
        Ok(())
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        self.data.take_over(limit)
    }

    async fn post_command(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        self.data.post_command(scope, task_id, command)
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError> {
        Ok(self.data.commands(task_id))
    }

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError> {
        self.data.answer_command(command_id, answer);
        Ok(())
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError> {
        Ok(self.data.commands.read(command_id))
    }

    async fn delete_answer(&self, command_id: &str) -> Result<(), StoreError> {
        self.data.commands.delete_answer(command_id);
        Ok(())
    }

    fn signals(&self) -> Option<Signals> {
        None
    }
}

#[async_trait]
impl PushStore for MemoryStore {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError> {
        self.data.put_config(scope, webhook)
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError> {
        Ok(self.data.configs(scope, task_id))
    }

    async fn delete_config(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        self.data.delete_config(scope, task_id, id);
        Ok(())
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError> {
        self.data.claim_deliveries(limit)
    }

    async fn record_delivery(
        &self,
        key: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError> {
        Ok(self.data.record_delivery(key, outcome))
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        Ok(self.data.dispatch.backlog(tokio::time::Instant::now()))
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(self.data.dispatch.dead_letters(query))
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError> {
        Ok(self.data.redeliver(query))
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError> {
        Ok(self.data.dispatch.purge(query))
    }
}
