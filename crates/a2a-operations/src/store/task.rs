use std::{fmt, sync::Arc, time::Duration};

use a2a_core::v1::Task;
use async_trait::async_trait;
use bytes::Bytes;

use super::{StoreError, TaskPage, TaskQuery};
use crate::{Event, EventId, Scope, Webhook};

/// A task as it is stored.
#[derive(Clone, Debug)]
pub struct StoredTask {
    /// The task itself.
    pub task: Arc<Task>,
    /// How often the task was written; the next write names it.
    pub version: u64,
    /// How often a node took hold of the task; the next write names it too.
    pub epoch: u64,
    /// The node that works on the task, if one does.
    pub node: Option<Arc<str>>,
    /// The position of the newest event.
    pub last_event: EventId,
}

/// A task to store for the first time. Its version is then 1, its epoch too.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// The task, after its events.
    pub task: Arc<Task>,
    /// The idempotency key that is tied to it.
    pub key: Option<String>,
    /// Its first events, from position 1 on.
    pub events: Vec<Event>,
    /// Which of the events go to webhooks, in order.
    pub pushes: Vec<EventId>,
    /// The webhooks that were registered with the first message. They get every pushed event.
    pub webhooks: Vec<Webhook>,
    /// What this node works on, for whoever has to go on with it; `None` leaves the task to
    /// anybody.
    pub execution: Option<Bytes>,
}

/// One write to a task: events that follow each other without a gap, and the task as it is
/// after them where its status or history changed.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The task to write to.
    pub task_id: Arc<str>,
    /// The version that the writer has seen; another one refuses the write.
    pub version: u64,
    /// The epoch under which the writer holds the task; another one refuses the write.
    pub epoch: u64,
    /// The events, in order.
    pub events: Vec<Event>,
    /// The task after the events; `None` where only artifact chunks came.
    pub snapshot: Option<Arc<Task>>,
    /// Which of the events go to webhooks, in order.
    pub pushes: Vec<EventId>,
    /// What becomes of this node's hold on the task.
    pub hold: Hold,
    /// Commands that are done with this write, by their ids, and what is said to those who
    /// posted them.
    pub answers: Vec<(Arc<str>, Bytes)>,
}

/// What becomes of a node's hold on a task with a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// It stays as it is.
    #[default]
    Keep,
    /// The node works on something new; this is for whoever has to go on with it.
    Record(Bytes),
    /// The node lets go, and what it recorded is forgotten. Commands that were posted meanwhile stay for [`acquire`] and find the
    /// task as it is.
    ///
    /// [`acquire`]: super::LeaseStore::acquire
    Release,
}

/// What a write has found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Whether a webhook now waits for an event.
    pub has_pushes: bool,
}

impl Committed {
    /// Says whether a webhook now waits for an event.
    pub fn new(has_pushes: bool) -> Self {
        Self { has_pushes }
    }
}

/// What is left of a task's events behind a position.
#[derive(Clone, Debug)]
pub enum Replay {
    /// Exactly the events behind the position; none where it is the newest.
    Events(Vec<Event>),
    /// The log no longer reaches back so far.
    Trimmed,
}

/// Whether an idempotency key is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The key is now tied to the task id that was given.
    New,
    /// The key was tied before.
    Known {
        /// The task that the first request with this key made.
        task_id: String,
        /// The fingerprint of that request.
        fingerprint: u64,
    },
}

/// What is old enough to be forgotten.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sweep {
    /// Tasks that ended longer ago than this, with their events and webhooks; `None` keeps all.
    pub tasks: Option<Duration>,
    /// Tasks that have waited for their user or for an authorization for longer than this, and
    /// that no node holds, likewise; `None` keeps all.
    pub parked: Option<Duration>,
    /// Idempotency keys that were claimed longer ago than this.
    pub claims: Duration,
    /// The most tasks, and the most keys, to forget at once.
    pub limit: usize,
}

impl Default for Sweep {
    fn default() -> Self {
        Self { tasks: None, parked: None, claims: Duration::from_secs(24 * 3600), limit: 1_000 }
    }
}

/// What a caller has in a store, in all tenants together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tasks that are not in a terminal state.
    pub open_tasks: usize,
    /// Bytes of its tasks and their events, about as the store keeps them.
    pub stored_bytes: u64,
}

impl Usage {
    /// Says what a caller has.
    pub fn new(open_tasks: usize, stored_bytes: u64) -> Self {
        Self { open_tasks, stored_bytes }
    }
}

/// Tasks and their event logs.
///
/// # Laws
///
/// - What a method returned is kept, as long as the store promises to keep anything.
/// - [`commit`](Self::commit) writes all of a transition or nothing, and refuses one that names
///   another version or another epoch than the stored ones.
/// - A task of another scope is like one that does not exist.
#[async_trait]
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a new task. With an `execution`, this node holds it.
    ///
    /// # Errors
    ///
    /// [`Conflict`](StoreError::Conflict) for an id that is taken, in any scope;
    /// [`Claimed`](StoreError::Claimed) for a key that is tied to another task.
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError>;

    /// Writes a transition. The new version is the old one plus one.
    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError>;

    /// Returns a task.
    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError>;

    /// Returns a task and its events behind a position, both as they are at one moment.
    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError>;

    /// Returns the events of a task behind a position; `None` for a task that is not there.
    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError>;

    /// Returns a page of the tasks of a scope. It ends before [`TaskQuery::limit`] where its tasks
    /// would have more than [`TaskQuery::max_bytes`], but never without a task if there is one;
    /// a store may count what it reads of them instead of what is shown. The total is that of all
    /// pages all the same.
    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError>;

    /// Returns what a caller has, all tenants together. A store that nodes share may answer with
    /// what it was up to ten seconds ago, and what this node has added since.
    async fn usage(&self, owner: &str) -> Result<Usage, StoreError>;

    /// Ties an idempotency key to a task id, unless it is tied already. The key of a task that
    /// is not there yet is [named](NewTask::key) when it is stored.
    async fn claim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError>;

    /// Ties an idempotency key to another task id than `gone`, unless there is a task `gone`, or
    /// the key is tied to a third one. From then on `gone` is not stored under the key any more.
    async fn reclaim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError>;

    /// Forgets an idempotency key, if it is tied to this task id.
    async fn unclaim(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError>;

    /// Forgets what is old, and returns how many tasks that were. Fewer than the limit means
    /// that no more are old enough.
    async fn sweep(&self, sweep: Sweep) -> Result<usize, StoreError>;

    /// Checks that the store answers and takes writes, for health checks. Where no write has
    /// failed since the last one that worked, reading is enough.
    ///
    /// # Errors
    ///
    /// [`Unwritable`](StoreError::Unwritable) while writes fail, and
    /// [`Failed`](StoreError::Failed).
    async fn probe(&self) -> Result<(), StoreError>;
}
