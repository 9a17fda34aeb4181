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
};

use async_trait::async_trait;

use self::changes::Changes;
pub use self::{data::MemoryStore, limits::MemoryLimits};
use crate::{
    EventId, Scope,
    store::{
        Claim, Committed, NewTask, Replay, StoreError, StoredTask, Sweep, TaskPage, TaskQuery,
        TaskStore, Transition, Usage,
    },
};

impl MemoryStore {
    /// Creates an empty store with the default limits.
    pub fn new() -> Self {
        Self::with_limits(MemoryLimits::default())
    }

    /// Creates an empty store.
    pub fn with_limits(limits: MemoryLimits) -> Self {
        Self::with_changes(limits, Changes::default())
    }

    /// The changes that have not been written.
    pub(in crate::store) fn changes(&self) -> &Changes {
        &self.changes
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
            .field("node", &self.node)
            .field("tasks", &self.count.load(Ordering::Relaxed))
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TaskStore for MemoryStore {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        self.insert_task(scope, new)
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        self.commit_transition(scope, transition)
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(None) };
        entry.lock().stored(&entry)
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(None) };
        let mut record = entry.lock();
        let Some(stored) = record.stored(&entry)? else { return Ok(None) };
        Ok(record.replay(after).map(|replay| (stored, replay)))
    }

    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError> {
        Ok(self.find(scope, task_id).and_then(|entry| entry.lock().replay(after)))
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        self.page(scope, query)
    }

    async fn usage(&self, owner: &str) -> Result<Usage, StoreError> {
        Ok(self.scopes.usage(owner))
    }

    async fn open_tasks(&self, owner: &str) -> Result<usize, StoreError> {
        Ok(self.scopes.usage(owner).open_tasks)
    }

    async fn claim_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        Ok(self.idempotency_keys.claim(scope, key, fingerprint, task_id))
    }

    async fn take_over_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        let is_free = |known: &str| known == gone && self.find(scope, gone).is_none();
        Ok(self.idempotency_keys.claim_if(scope, key, fingerprint, task_id, is_free))
    }

    async fn release_key(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError> {
        self.idempotency_keys.release_key(scope, key, task_id);
        Ok(())
    }

    async fn sweep(&self, sweep: Sweep) -> Result<Vec<Arc<str>>, StoreError> {
        Ok(self.sweep_tasks(sweep))
    }

    async fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(&self) {}
}
