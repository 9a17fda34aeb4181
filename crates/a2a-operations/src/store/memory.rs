//! A store that lives as long as its process.

mod body;
mod claim;
mod command;
mod context;
mod data;
mod ended;
mod entry;
mod lease;
mod limits;
mod log;
mod member;
#[cfg(test)]
mod model;
mod order;
mod outbox;
mod owner;
mod plain;
mod push;
mod schedule;
mod scope;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use a2a_core::fresh_id;
use async_trait::async_trait;
use bytes::Bytes;

pub use self::limits::MemoryLimits;
use self::{data::Data, member::Mailbox};
use crate::{
    EventId, Scope, Webhook,
    store::{
        Acquired, Backlog, Claim, Command, Committed, DeadLetter, DeadLetterQuery, Due, LeaseStore,
        NewTask, Orphan, PushKey, PushOutcome, PushStore, Redelivery, Replay, Signals, StoreError,
        StoredTask, Sweep, TaskPage, TaskQuery, TaskStore, Transition, Usage,
    },
};

/// Keeps tasks in memory, for tests and for agents whose tasks may go when they go.
///
/// It is bounded by its [`MemoryLimits`]. Nothing in it waits: no method awaits, no lock is held
/// for longer than the work on one task or one page takes, and it grows in small steps. A task
/// that has ended and that nobody asked for lately is packed to its encoding.
///
/// ```
/// use a2a_operations::store::{MemoryLimits, MemoryStore};
///
/// let store = MemoryStore::with_limits(MemoryLimits::default().with_max_tasks(10_000));
/// ```
///
/// # Nodes
///
/// A store is one node, until [`join`](Self::join) makes another one that shares its data: then
/// leases run out by tokio's clock, and nodes are told of each other. All nodes join before the
/// first of them is given to an engine, which asks only once whether there are others.
///
/// ```
/// use a2a_operations::store::{LeaseStore as _, MemoryStore};
///
/// let one = MemoryStore::new();
/// assert!(one.signals().is_none());
/// let two = one.join("two");
/// assert!(one.signals().is_some());
/// ```
pub struct MemoryStore {
    data: Arc<Data>,
    node: Arc<str>,
    mailbox: Arc<Mailbox>,
}

impl MemoryStore {
    /// Creates an empty store with the default limits.
    pub fn new() -> Self {
        Self::with_limits(MemoryLimits::default())
    }

    /// Creates an empty store.
    pub fn with_limits(limits: MemoryLimits) -> Self {
        Self::node_of(Arc::new(Data::new(limits)), fresh_id().into())
    }

    /// Returns the same data in the hands of another node. No two nodes have the same name.
    #[must_use]
    pub fn join(&self, node: &str) -> Self {
        Self::node_of(Arc::clone(&self.data), node.into())
    }

    fn node_of(data: Arc<Data>, node: Arc<str>) -> Self {
        let mailbox = data.members.join(Arc::clone(&node));
        Self { data, node, mailbox }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.data.members.leave(&self.mailbox);
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("node", &self.node)
            .field("tasks", &self.data.count.load(Ordering::Relaxed))
            .field("limits", &self.data.limits)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TaskStore for MemoryStore {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        self.data.insert(&self.node, scope, new)
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        self.data.commit(&self.node, scope, transition)
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

    async fn claim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        Ok(self.data.claims.claim(scope, key, fingerprint, task_id))
    }

    async fn reclaim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        Ok(self.data.reclaim(scope, key, fingerprint, gone, task_id))
    }

    async fn unclaim(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError> {
        self.data.claims.unclaim(scope, key, task_id);
        Ok(())
    }

    async fn sweep(&self, sweep: Sweep) -> Result<usize, StoreError> {
        Ok(self.data.sweep(sweep))
    }

    async fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[async_trait]
impl LeaseStore for MemoryStore {
    fn node(&self) -> &str {
        &self.node
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError> {
        self.data.acquire(&self.node, scope, task_id)
    }

    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError> {
        Ok(self.data.renew(held))
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError> {
        Ok(self.data.release(&self.node, task_id, epoch))
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError> {
        self.data.abandon(&self.node, task_id, epoch);
        Ok(())
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        self.data.take_over(&self.node, limit)
    }

    async fn post(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        self.data.post(&self.node, scope, task_id, command)
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError> {
        Ok(self.data.commands(task_id))
    }

    async fn answer(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError> {
        self.data.answer(command_id, answer);
        Ok(())
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError> {
        Ok(self.data.commands.read(command_id))
    }

    async fn forget_answer(&self, command_id: &str) -> Result<(), StoreError> {
        self.data.commands.forget_answer(command_id);
        Ok(())
    }

    fn signals(&self) -> Option<Signals> {
        self.data.members.are_many().then(|| -> Signals { Box::pin(self.mailbox.open()) })
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

    async fn due(&self, limit: usize) -> Result<Due, StoreError> {
        self.data.due(limit)
    }

    async fn pushed(&self, key: &PushKey, outcome: PushOutcome) -> Result<bool, StoreError> {
        Ok(self.data.pushed(key, outcome))
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        Ok(self.data.dispatch.backlog(tokio::time::Instant::now()))
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(self.data.dispatch.dead(query))
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError> {
        Ok(self.data.redeliver(query))
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError> {
        Ok(self.data.dispatch.purge(query))
    }
}

/// Locks what no panic can leave half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
