//! Where tasks, their events and their webhooks are kept.

mod memory;

use std::{fmt, sync::Arc};

use a2a_core::{
    Error, ErrorKind,
    v1::{Task, TaskState},
    well_known::Timestamp,
};
use async_trait::async_trait;

pub use memory::{MemoryLimits, MemoryStore};

use crate::{Event, EventId, Scope, Webhook};

/// Everything that an [`Engine`](crate::Engine) keeps.
pub trait Store: TaskStore + PushConfigStore {}

impl<S: TaskStore + PushConfigStore + ?Sized> Store for S {}

/// A task as it is stored.
#[derive(Clone, Debug)]
pub struct StoredTask {
    /// The task itself.
    pub task: Arc<Task>,
    /// How often the task was written; the next write names it.
    pub version: u64,
    /// The position of the newest event.
    pub last_event: EventId,
}

/// One write to a task: events that follow each other without a gap, and the task as it is
/// after them where its status or history changed.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The task to write to.
    pub task_id: Arc<str>,
    /// The version that the writer has seen; another one refuses the write.
    pub version: u64,
    /// The events, in order.
    pub events: Vec<Event>,
    /// The task after the events; `None` where only artifact chunks came.
    pub snapshot: Option<Arc<Task>>,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TaskQuery {
    /// Only tasks of this conversation.
    pub context_id: Option<String>,
    /// Only tasks in this state.
    pub state: Option<TaskState>,
    /// Only tasks whose status has this time or a later one, both taken in whole milliseconds.
    pub since: Option<Timestamp>,
    /// Only tasks behind this one in the order of the list.
    pub after: Option<PageKey>,
    /// The most tasks to return.
    pub limit: usize,
}

/// A place in the list of tasks, which goes from the newest status time to the oldest, and from
/// the greatest id to the smallest where times are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKey {
    /// The status time, in milliseconds since 1970.
    pub millis: i64,
    /// The id of the task.
    pub task_id: String,
}

impl PageKey {
    /// The place of a task.
    pub fn of(task: &Task) -> Self {
        Self { millis: Self::millis_of(task), task_id: task.id.clone() }
    }

    /// The status time of a task, in milliseconds since 1970; 0 without one.
    pub fn millis_of(task: &Task) -> i64 {
        let time = task.status.as_ref().and_then(|status| status.timestamp);
        time.map_or(0, Timestamp::as_millis)
    }
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct TaskPage {
    /// The tasks, newest status first.
    pub tasks: Vec<Arc<Task>>,
    /// How many tasks the query matches, paging aside: exact, but with [`TaskQuery::since`] a
    /// store may stop to count at 10,000.
    pub total: usize,
    /// Whether more tasks follow.
    pub has_more: bool,
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

/// Tasks and their event logs.
///
/// # Laws
///
/// - What a method returned is kept, as long as the store promises to keep anything.
/// - [`commit`](Self::commit) writes all of a transition or nothing, and refuses one that names
///   another version than the stored one.
/// - A task of another scope is like one that does not exist.
#[async_trait]
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a new task with its first events.
    async fn insert(
        &self,
        scope: &Scope,
        task: Arc<Task>,
        events: Vec<Event>,
    ) -> Result<(), StoreError>;

    /// Writes a transition. The new version is the old one plus one.
    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<(), StoreError>;

    /// Returns a task.
    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError>;

    /// Returns a page of the tasks of a scope.
    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError>;

    /// Returns the events of a task behind a position; `None` for a task that is not there.
    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError>;

    /// Ties an idempotency key to a task id, unless it is tied already.
    async fn claim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError>;

    /// Forgets an idempotency key.
    async fn release(&self, scope: &Scope, key: &str) -> Result<(), StoreError>;
}

/// The webhooks of tasks. The engine has checked that the task is the caller's.
#[async_trait]
pub trait PushConfigStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a webhook under its task and id, replacing the one that is there.
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError>;

    /// Returns the webhooks of a task, in the order of their ids.
    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError>;

    /// Removes a webhook, if it is there.
    async fn delete_config(&self, scope: &Scope, task_id: &str, id: &str)
    -> Result<(), StoreError>;
}

/// Why a store could not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else wrote to the task since it was read.
    #[error("task {task_id} was written by somebody else")]
    Conflict {
        /// The task.
        task_id: String,
    },
    /// The store does not take more.
    #[error("the store is full")]
    Full,
    /// The store does not answer, or answers with a fault.
    #[error("the store failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => {
                Self::new(ErrorKind::ResourceExhausted, "the agent keeps no more tasks")
            }
            StoreError::Conflict { .. } | StoreError::Failed(_) => Self::internal(error),
        }
    }
}
