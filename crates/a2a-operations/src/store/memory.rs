//! A store that lives as long as its process.

mod body;
mod claim;
mod context;
mod ended;
mod entry;
mod limits;
mod log;
#[cfg(test)]
mod model;
mod order;
mod scope;
mod table;
#[cfg(test)]
mod tests;
mod warm;
mod webhook;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use a2a_core::{v1::Task, well_known::Timestamp};
use async_trait::async_trait;
use hashbrown::hash_table::Entry as Slot;

pub use self::limits::MemoryLimits;
use self::{
    claim::Claims,
    context::Contexts,
    ended::Ended,
    entry::{Entry, Record, Standing},
    log::Weight,
    order::{Filter, Ordered, Run},
    scope::Scopes,
    table::Table,
    warm::Warm,
    webhook::Put,
};
use crate::{
    Event, EventId, Scope, Webhook,
    store::{
        Claim, PageKey, PushConfigStore, Replay, StoreError, StoredTask, TaskPage, TaskQuery,
        TaskStore, Transition,
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
pub struct MemoryStore {
    tasks: Table<Arc<Entry>>,
    contexts: Contexts,
    scopes: Scopes,
    ended: Ended,
    warm: Warm,
    claims: Claims,
    /// How many tasks there are, counting those that are about to be put in.
    count: AtomicUsize,
    limits: MemoryLimits,
}

// The order of the locks: that of an entry comes first, all others are taken one at a time and
// held while nothing else is. So a list is made without the locks of its tasks, and a task that
// has moved before it is read is passed over: it stands further ahead now.
impl MemoryStore {
    /// Creates an empty store with the default limits.
    pub fn new() -> Self {
        Self::with_limits(MemoryLimits::default())
    }

    /// Creates an empty store.
    pub fn with_limits(limits: MemoryLimits) -> Self {
        let max_ended = Weight { events: limits.max_ended_events, bytes: limits.max_ended_bytes };
        Self {
            tasks: Table::new(),
            contexts: Contexts::new(),
            scopes: Scopes::new(),
            ended: Ended::new(max_ended),
            warm: Warm::default(),
            claims: Claims::new(limits.max_idempotency_keys, limits.max_idempotency_age),
            count: AtomicUsize::new(0),
            limits,
        }
    }

    fn find(&self, scope: &Scope, task_id: &str) -> Option<Arc<Entry>> {
        self.tasks.at(scope, task_id).get().cloned()
    }

    fn insert_task(
        &self,
        scope: &Scope,
        task: Arc<Task>,
        events: Vec<Event>,
    ) -> Result<(), StoreError> {
        if self.find(scope, &task.id).is_some() {
            return Err(conflict(&task.id));
        }
        self.reserve()?;
        let entry = Arc::new(Entry::new(self.scopes.acquire(scope), task, events));
        // Nobody gets at the task before it is in every list.
        let mut record = entry.lock();
        if !self.put_in_table(&entry) {
            self.forget_use(scope);
            return Err(conflict(entry.task_id()));
        }
        let standing = record.standing();
        lock(&entry.scoped().order).insert(standing, &entry);
        self.contexts.insert(standing, &entry);
        let shrunk = self.settle(&entry, &mut record);
        drop(record);
        shrunk.shrink();
        Ok(())
    }

    fn put_in_table(&self, entry: &Arc<Entry>) -> bool {
        match self.tasks.at(&entry.scoped().scope, entry.task_id()).entry() {
            Slot::Occupied(_) => false,
            Slot::Vacant(slot) => {
                slot.insert(Arc::clone(entry));
                true
            }
        }
    }

    fn commit_transition(&self, scope: &Scope, transition: Transition) -> Result<(), StoreError> {
        let Transition { task_id, version, events, snapshot } = transition;
        let entry = self.find(scope, &task_id).ok_or_else(|| conflict(&task_id))?;
        let mut record = entry.lock();
        let before = record.standing();
        if record.commit(version, events, snapshot).is_err() {
            return Err(conflict(&task_id));
        }
        let now = record.standing();
        if now != before {
            self.move_to(before, now, &entry);
        }
        let shrunk = self.settle(&entry, &mut record);
        drop(record);
        shrunk.shrink();
        Ok(())
    }

    fn move_to(&self, before: Standing, now: Standing, entry: &Arc<Entry>) {
        {
            let mut order = lock(&entry.scoped().order);
            order.remove(before, entry);
            order.insert(now, entry);
        }
        self.contexts.move_to(before, now, entry);
    }

    /// Keeps the log of a task in its bounds, and returns the tasks of which less is kept
    /// because this one has ended.
    fn settle(&self, entry: &Arc<Entry>, record: &mut Record) -> Shrunk {
        let MemoryLimits { max_log_events: events, max_log_bytes: bytes, .. } = self.limits;
        record.trim(Weight { events, bytes });
        record.end().map_or_else(Shrunk::default, |log| Shrunk {
            without_log: self.ended.push(entry, log),
            cooled: self.warm.push(entry),
        })
    }

    /// Makes room for one more task.
    fn reserve(&self) -> Result<(), StoreError> {
        if self.count.fetch_add(1, Ordering::Relaxed) < self.limits.max_tasks {
            return Ok(());
        }
        while let Some(entry) = self.ended.pop() {
            if self.remove(&entry) {
                return Ok(());
            }
        }
        self.count.fetch_sub(1, Ordering::Relaxed);
        Err(StoreError::Full)
    }

    /// Removes a task that has ended, with its webhooks.
    fn remove(&self, entry: &Arc<Entry>) -> bool {
        let scoped = entry.scoped();
        let mut record = entry.lock();
        let standing = record.standing();
        if !record.remove() {
            return false;
        }
        if let Slot::Occupied(slot) = self.tasks.at(&scoped.scope, entry.task_id()).entry() {
            slot.remove();
        }
        lock(&scoped.order).remove(standing, entry);
        self.contexts.remove(standing, entry);
        let webhooks = lock(&scoped.webhooks).delete_all(entry.task_id());
        self.scopes.release(&scoped.scope, webhooks);
        self.forget_use(&scoped.scope);
        true
    }

    /// Notes that a task that was reserved or stored is not there any more.
    fn forget_use(&self, scope: &Scope) {
        self.scopes.release(scope, 1);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    fn read(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(None) };
        let stored = entry.lock().stored()?;
        let Some((stored, was_cold)) = stored else { return Ok(None) };
        if was_cold && let Some(cooled) = self.warm.push(&entry) {
            cooled.lock().cool();
        }
        Ok(Some(stored))
    }

    fn page(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        let filter =
            Filter { state: query.state, since_millis: query.since.map(Timestamp::as_millis) };
        let mut page = TaskPage {
            total: self.ordered(scope, query, |order| order.count(filter)).unwrap_or_default(),
            ..TaskPage::default()
        };
        let mut after = query.after.clone();
        loop {
            let wanted = query.limit - page.tasks.len();
            let run = self.ordered(scope, query, |order| order.run(filter, after.as_ref(), wanted));
            let Run { keys, has_more } = run.unwrap_or_default();
            if let Some(last) = keys.last() {
                let task_id = last.entry.task_id().to_owned();
                after = Some(PageKey { millis: last.millis, task_id });
            }
            for key in &keys {
                let mut record = key.entry.lock();
                let standing = record.standing();
                let moved = standing.millis != key.millis
                    || query.state.is_some_and(|state| state != standing.state);
                if !moved && !record.is_gone() {
                    page.tasks.push(record.task()?);
                }
            }
            page.has_more = has_more;
            if page.tasks.len() == query.limit || !has_more {
                return Ok(page);
            }
        }
    }

    /// Lets somebody look at the set of tasks that a query is about, unless it is empty.
    fn ordered<T>(
        &self,
        scope: &Scope,
        query: &TaskQuery,
        read: impl FnOnce(&Ordered) -> T,
    ) -> Option<T> {
        match &query.context_id {
            Some(context_id) => self.contexts.read(scope, context_id, read),
            None => Some(read(&lock(&self.scopes.find(scope)?.order))),
        }
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
            .field("tasks", &self.count.load(Ordering::Relaxed))
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TaskStore for MemoryStore {
    async fn insert(
        &self,
        scope: &Scope,
        task: Arc<Task>,
        events: Vec<Event>,
    ) -> Result<(), StoreError> {
        self.insert_task(scope, task, events)
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<(), StoreError> {
        self.commit_transition(scope, transition)
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        self.read(scope, task_id)
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        self.page(scope, query)
    }

    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError> {
        Ok(self.find(scope, task_id).and_then(|entry| entry.lock().replay(after)))
    }

    async fn claim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        Ok(self.claims.claim(scope, key, fingerprint, task_id))
    }

    async fn release(&self, scope: &Scope, key: &str) -> Result<(), StoreError> {
        self.claims.release(scope, key);
        Ok(())
    }
}

#[async_trait]
impl PushConfigStore for MemoryStore {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError> {
        let scoped = self.scopes.acquire(scope);
        let put = lock(&scoped.webhooks).put(webhook, self.limits.max_push_configs);
        if put != Put::Added {
            self.scopes.release(scope, 1);
        }
        if put == Put::Full { Err(StoreError::Full) } else { Ok(()) }
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError> {
        let scoped = self.scopes.find(scope);
        Ok(scoped.map(|scoped| lock(&scoped.webhooks).of(task_id)).unwrap_or_default())
    }

    async fn delete_config(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        if let Some(scoped) = self.scopes.find(scope)
            && lock(&scoped.webhooks).delete(task_id, id)
        {
            self.scopes.release(scope, 1);
        }
        Ok(())
    }
}

/// Ended tasks of which less is kept from now on.
#[derive(Default)]
struct Shrunk {
    without_log: Vec<Arc<Entry>>,
    cooled: Option<Arc<Entry>>,
}

impl Shrunk {
    /// Lets go of what is not kept; no lock may be held.
    fn shrink(self) {
        self.without_log.iter().for_each(|entry| entry.lock().drop_log());
        self.cooled.iter().for_each(|entry| entry.lock().cool());
    }
}

fn conflict(task_id: &str) -> StoreError {
    StoreError::Conflict { task_id: task_id.to_owned() }
}

/// Locks what no panic can leave half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
