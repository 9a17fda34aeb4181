use std::{fmt, sync::Arc, time::Duration};

use a2a_core::v1::Task;
use async_trait::async_trait;
use bytes::Bytes;
use derive_setters::Setters;

use super::{StoreError, TaskPage, TaskQuery};
use crate::{Event, EventId, Scope, Webhook};

/// A task as it is stored.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct StoredTask {
    /// The task itself.
    pub task: Arc<Task>,
    /// The number of writes so far; the next write names it.
    pub version: u64,
    /// The number of times the lease was acquired; the next write names it too.
    pub epoch: u64,
    /// The node that holds the lease, if any.
    pub node: Option<Arc<str>>,
    /// The position of the newest event.
    pub last_event: EventId,
    /// What the run of its executor has awaited, opaque to the store; empty if nothing. It outlives
    /// the lease.
    pub journal: Bytes,
}

impl StoredTask {
    /// An unleased task without a journal.
    pub fn new(task: Arc<Task>, version: u64, epoch: u64, last_event: EventId) -> Self {
        Self { task, version, epoch, node: None, last_event, journal: Bytes::new() }
    }
}

/// A task to insert. It starts with version 1 and epoch 1.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct NewTask {
    /// The task with its events applied.
    pub task: Arc<Task>,
    /// The idempotency key to bind to the task.
    pub key: Option<String>,
    /// Its first events, from position 1.
    pub events: Vec<Event>,
    /// The positions of the events to push to webhooks, in order.
    pub pushes: Vec<EventId>,
    /// The webhooks registered with the first message. They receive every pushed event.
    pub webhooks: Vec<Webhook>,
    /// The checkpoint of the work on this node, for a later takeover; `None` leaves the task
    /// unleased.
    pub checkpoint: Option<Bytes>,
    /// Its [journal](StoredTask::journal).
    pub journal: Bytes,
}

impl NewTask {
    /// A task with its first events. It is unleased, and none of them is pushed.
    pub fn new(task: Arc<Task>, events: Vec<Event>) -> Self {
        let (pushes, webhooks) = Default::default();
        Self { task, key: None, events, pushes, webhooks, checkpoint: None, journal: Bytes::new() }
    }
}

/// One write to a task: consecutive events, and a snapshot if the status or the history changed.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct Transition {
    /// The task to write to.
    pub task_id: Arc<str>,
    /// The expected version; a mismatch rejects the write.
    pub version: u64,
    /// The epoch of the writer's lease; a mismatch rejects the write.
    pub epoch: u64,
    /// The events, in order.
    pub events: Vec<Event>,
    /// The task after the events; `None` if there are only artifact chunks.
    pub snapshot: Option<Arc<Task>>,
    /// The positions of the events to push to webhooks, in order.
    pub pushes: Vec<EventId>,
    /// The change to the writer's lease.
    pub lease: LeaseUpdate,
    /// The change to the [journal](StoredTask::journal).
    pub journal: JournalUpdate,
    /// Answers to commands, by command id.
    pub answers: Vec<(Arc<str>, Bytes)>,
}

impl Transition {
    /// A write of events by the lease of an epoch, which keeps the lease and the journal.
    pub fn new(task_id: impl Into<Arc<str>>, version: u64, epoch: u64, events: Vec<Event>) -> Self {
        Self {
            task_id: task_id.into(),
            version,
            epoch,
            events,
            snapshot: None,
            pushes: Vec::new(),
            lease: LeaseUpdate::Keep,
            journal: JournalUpdate::Keep,
            answers: Vec::new(),
        }
    }
}

/// A change to a lease, made together with a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LeaseUpdate {
    /// No change.
    #[default]
    Keep,
    /// Replaces the checkpoint.
    Checkpoint(Bytes),
    /// Releases the lease and deletes its checkpoint. Commands posted in the meantime stay pending
    /// for the next [`acquire`].
    ///
    /// [`acquire`]: super::LeaseStore::acquire
    Release,
}

/// A change to a [journal](StoredTask::journal), made together with a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum JournalUpdate {
    /// No change.
    #[default]
    Keep,
    /// Adds bytes to the end. A journal grows with each step of a run, so that a store should write
    /// no more than these.
    Append(Bytes),
    /// Replaces it; empty deletes it.
    Replace(Bytes),
}

impl JournalUpdate {
    /// The bytes to write.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Keep => &[],
            Self::Append(bytes) | Self::Replace(bytes) => bytes,
        }
    }
}

/// The result of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Whether a webhook now has an event to deliver.
    pub has_pushes: bool,
}

impl Committed {
    /// Creates the result of a write.
    pub fn new(has_pushes: bool) -> Self {
        Self { has_pushes }
    }
}

/// The events of a task after a position.
#[derive(Clone, Debug)]
pub enum Replay {
    /// All events after the position; empty if there are none.
    Events(Vec<Event>),
    /// The log no longer contains all of them.
    Trimmed,
}

/// The result of claiming an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The key is now bound to the given task id.
    New,
    /// The key was bound before.
    Known {
        /// The task of the first request with this key.
        task_id: String,
        /// The fingerprint of that request.
        fingerprint: u64,
    },
}

/// What a sweep removes.
#[derive(Clone, Copy, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct Sweep {
    /// Tasks that ended longer ago than this, with their events and webhooks; `None` keeps all.
    pub tasks: Option<Duration>,
    /// Unleased tasks that have been waiting for user input or authorization for longer than this;
    /// `None` keeps all.
    pub parked: Option<Duration>,
    /// Idempotency keys claimed longer ago than this.
    pub claims: Duration,
    /// Maximum number of tasks, and of keys, to remove in one call.
    #[setters(into = false)]
    pub limit: usize,
}

impl Default for Sweep {
    fn default() -> Self {
        Self { tasks: None, parked: None, claims: Duration::from_secs(24 * 3600), limit: 1_000 }
    }
}

/// The usage of one owner, across all tenants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tasks in a non-terminal state.
    pub open_tasks: usize,
    /// Stored bytes of tasks and events, approximately.
    pub stored_bytes: u64,
}

impl Usage {
    /// Creates a usage value.
    pub fn new(open_tasks: usize, stored_bytes: u64) -> Self {
        Self { open_tasks, stored_bytes }
    }
}

/// Tasks and their event logs.
///
/// # Laws
///
/// - A write that returned is durable, as far as the store is.
/// - [`commit`](Self::commit) applies all of a transition or nothing, and rejects a stale version
///   or epoch.
/// - A task of another scope is indistinguishable from one that does not exist.
#[async_trait]
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Inserts a new task. With a checkpoint, this node holds its lease.
    ///
    /// # Errors
    ///
    /// [`Conflict`](StoreError::Conflict) if the id exists, in any scope;
    /// [`Claimed`](StoreError::Claimed) if the key is bound to another task;
    /// [`Rejected`](StoreError::Rejected) if a value can never be stored. Ids within
    /// [`MAX_ID_BYTES`](super::MAX_ID_BYTES), [`MAX_TASK_ID_BYTES`](super::MAX_TASK_ID_BYTES) and
    /// [`MAX_TENANT_BYTES`](super::MAX_TENANT_BYTES) can, unless they contain NUL.
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError>;

    /// Commits a transition, and increments the version.
    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError>;

    /// Returns a task.
    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError>;

    /// Returns a task and its events after a position, as one consistent snapshot.
    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError>;

    /// Returns the events of a task after a position; `None` for an unknown task.
    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError>;

    /// Returns a page of the tasks of a scope. It may end before [`TaskQuery::limit`] to stay
    /// within [`TaskQuery::max_bytes`], but has at least one task if any match; a store may count
    /// the bytes it reads instead of those in the view. The total covers all pages.
    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError>;

    /// Returns the usage of an owner across all tenants. A shared store may return a value up to
    /// ten seconds old plus the writes of this node since: a new task counts as open unless it is
    /// inserted in a terminal state, until the commit that ends it returns.
    async fn usage(&self, owner: &str) -> Result<Usage, StoreError>;

    /// Counts the open tasks of an owner across all tenants, including the writes of all nodes
    /// that returned before the call.
    async fn open_tasks(&self, owner: &str) -> Result<usize, StoreError>;

    /// Binds an idempotency key to a task id, unless it is bound already. The key of a task that is
    /// not stored yet is [named](NewTask::key) when it is inserted.
    async fn claim_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError>;

    /// Binds an idempotency key to another task id in place of `gone`, unless task `gone` exists,
    /// or the key is bound to a third task. Afterwards `gone` can no longer be inserted with the
    /// key.
    async fn take_over_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError>;

    /// Deletes an idempotency key, if it is bound to this task id.
    async fn release_key(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError>;

    /// Removes old tasks and keys, and returns the ids of the removed tasks. Fewer than the limit
    /// mean that none are left.
    async fn sweep(&self, sweep: Sweep) -> Result<Vec<Arc<str>>, StoreError>;

    /// Checks that the store responds and accepts writes, for health checks. A read is sufficient
    /// unless a write has failed, and none of at least its size has succeeded since: then another
    /// write of that size is made. Dropping the future does not abort it.
    ///
    /// # Errors
    ///
    /// [`Unwritable`](StoreError::Unwritable) while writes fail, and
    /// [`Failed`](StoreError::Failed).
    async fn probe(&self) -> Result<(), StoreError>;

    /// Waits for calls in progress, and releases files and connections. Later calls may fail; a
    /// second close does nothing. The engine closes its store when it shuts down.
    async fn close(&self);
}
