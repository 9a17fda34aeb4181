use std::{fmt, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;

use super::{Signals, StoreError, StoredTask};
use crate::Scope;

/// What came of reaching for a task.
#[derive(Clone, Debug)]
pub enum Acquired {
    /// This node holds the task now, under the epoch that is given.
    Here(StoredTask),
    /// The same, of a task that this node held before under another epoch, and for which it has
    /// recorded work. It may be work that it knows nothing of: it took the task over, and was
    /// not told yet.
    Again(Orphan),
    /// Another node holds it, or held it last: a lease that ran out still counts until
    /// [`take_over`](LeaseStore::take_over) hands the task to somebody.
    Elsewhere(StoredTask),
}

/// A task that somebody was at work on, which this node has now.
#[derive(Clone, Debug)]
pub struct Orphan {
    /// Whose task it is.
    pub scope: Scope,
    /// The task, held by this node under a new epoch.
    pub stored: StoredTask,
    /// What was worked on, as whoever did so recorded it; empty if nothing was recorded since
    /// the task was let go last.
    pub execution: Bytes,
    /// The epoch under which that was recorded.
    pub recorded: u64,
}

/// Something that the node that holds a task is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// A fresh id.
    pub id: Arc<str>,
    /// What to do. The engine reads and writes it.
    pub body: Bytes,
}

/// Who works on which task, and how others reach them.
///
/// A node that works on a task holds it under an epoch. It says so again and again with
/// [`renew`](Self::renew); a lease that ran out lets another node take the task, under the next
/// epoch, after which nothing of the first node is written any more. Time is the store's, never
/// the node's. A store that only one process can open has no other nodes: its leases don't run
/// out, and those of an earlier process are void.
///
/// # Laws
///
/// - At most one node holds a task at a time, under an epoch that was never used before.
/// - A command that was posted is answered once, by a node that holds the task, even if the
///   node it was posted to is gone.
#[async_trait]
pub trait LeaseStore: fmt::Debug + Send + Sync + 'static {
    /// The name of this node, unique among all that ever were.
    fn node(&self) -> &str;

    /// Takes hold of a task that nobody holds, or this node itself; `None` for a task that is not
    /// there. What the node itself recorded comes [with it](Acquired::Again). The lease of
    /// another node that ran out is not taken here, only by [`take_over`](Self::take_over).
    /// Commands that wait for the task stay.
    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError>;

    /// Says that this node still holds these tasks, each under its epoch, and returns those that
    /// it does not: they were let go, or taken over. A task that is not named runs out.
    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError>;

    /// Lets go of a task and forgets what was recorded of the work on it. Returns `false`, and changes nothing, where commands wait for it: they
    /// are this node's to do first. A task that is not held under this epoch is let go already.
    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError>;

    /// Lets a lease run out at once: the task is to be taken over.
    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError>;

    /// Takes over up to `limit` tasks whose lease has run out, oldest first.
    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError>;

    /// Leaves a command for the node that holds a task. Returns `false`, and keeps nothing, if
    /// no node does; a lease that has run out still counts, as its task will be taken over.
    async fn post(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError>;

    /// Returns the commands that wait for a task, oldest first.
    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError>;

    /// Answers a command, if it still waits.
    async fn answer(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError>;

    /// Returns the answer to a command that this node has posted; `None` while it waits. It can
    /// be asked for again, as the first time may have failed on its way.
    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError>;

    /// Forgets the answer to a command that this node has posted: it was read. One that is never
    /// forgotten so is kept for a bounded time, or among a bounded number.
    async fn forget_answer(&self, command_id: &str) -> Result<(), StoreError>;

    /// What other nodes do from now on; `None` where there can't be any. Asked for once.
    fn signals(&self) -> Option<Signals>;
}
