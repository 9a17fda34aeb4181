use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use derive_setters::Setters;
use futures_core::Stream;

use super::{StoreError, StoredTask};
use crate::{Event, EventId, Scope};

/// The result of [`LeaseStore::acquire`].
#[derive(Clone, Debug)]
pub enum Acquired {
    /// This node now holds the lease, under the given epoch.
    Here(StoredTask),
    /// This node held the lease already, with a checkpoint, and holds it now under a new epoch. The
    /// work may be unknown to the node: it may just have taken the task over.
    Reacquired(Orphan),
    /// Another node holds the lease. An expired lease counts as held until
    /// [`take_over`](LeaseStore::take_over) reassigns it.
    Elsewhere(StoredTask),
}

/// A task with interrupted work, whose lease this node now holds.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct Orphan {
    /// The scope of the task.
    pub scope: Scope,
    /// The task, leased to this node under a new epoch.
    pub stored: StoredTask,
    /// The last checkpoint of the work; empty if none was written since the last release.
    pub checkpoint: Bytes,
    /// The epoch in which the checkpoint was written.
    pub checkpoint_epoch: u64,
}

impl Orphan {
    /// A task that was taken over, without a checkpoint.
    pub fn new(scope: Scope, stored: StoredTask) -> Self {
        Self { scope, stored, checkpoint: Bytes::new(), checkpoint_epoch: 0 }
    }
}

/// A request to the node that holds the lease on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// A fresh id.
    pub id: Arc<str>,
    /// The payload, opaque to the store.
    pub body: Bytes,
}

impl Command {
    /// Creates a command with an id and a payload.
    pub fn new(id: impl Into<Arc<str>>, body: impl Into<Bytes>) -> Self {
        Self { id: id.into(), body: body.into() }
    }
}

/// Leases on tasks, and commands to their holders.
///
/// A node works on a task under a lease with an epoch, and extends it with [`renew`](Self::renew).
/// After a lease expires, another node may take the task over under the next epoch, and writes
/// under the old epoch are rejected. Expiry is judged by the clock of the store, never of a node. A
/// store that only one process can open has no other nodes: its leases do not expire, and those of
/// an earlier process are orphaned.
///
/// # Laws
///
/// - At most one node holds the lease on a task, and no epoch is used twice.
/// - A posted command is answered once, by the holder of the lease, even if the holder at the time
///   of posting fails.
#[async_trait]
pub trait LeaseStore: fmt::Debug + Send + Sync + 'static {
    /// The name of this node, never reused by another one.
    fn node(&self) -> &str;

    /// How long a lease lasts after it was granted or renewed; `None` if leases do not expire,
    /// because only one process can open the store.
    fn lease(&self) -> Option<Duration>;

    /// Acquires the lease on a task that is unleased, or leased to this node; `None` for an unknown
    /// task. An existing checkpoint of this node is returned [with it](Acquired::Reacquired). The
    /// expired lease of another node is not acquired here, only by [`take_over`](Self::take_over).
    /// Pending commands are kept.
    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError>;

    /// Extends these leases, each under its epoch, and returns the tasks whose lease is lost: it
    /// was released, or taken over. Leases that are not named expire.
    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError>;

    /// Releases a lease and deletes its checkpoint. Returns `false`, and changes nothing, while
    /// commands are pending: they have to be answered first. Releasing a lease that is not held
    /// under this epoch succeeds.
    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError>;

    /// Expires a lease immediately, so that the task is taken over, by any node.
    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError>;

    /// Takes over up to `limit` tasks whose leases were abandoned, or are of another node and have
    /// expired. A node takes over its own late leases only after the time of another lease, when it
    /// has certainly given them up.
    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError>;

    /// Posts a command for the holder of the lease. Returns `false`, and stores nothing, if the
    /// task is unleased; an expired lease counts as held, since its task will be taken over.
    async fn post_command(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError>;

    /// Returns the pending commands of a task, oldest first.
    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError>;

    /// Answers a command, if it is still pending.
    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError>;

    /// Returns the answer to a command that this node posted; `None` while it is pending. May be
    /// called again, in case a response was lost.
    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError>;

    /// Deletes the answer to a command that this node posted. An answer that is never deleted is
    /// kept for a limited time, or among a limited number.
    async fn delete_answer(&self, command_id: &str) -> Result<(), StoreError>;

    /// Signals of other nodes from now on; `None` for a store without other nodes. Called once.
    fn signals(&self) -> Option<Signals>;
}

/// A change made by another node. Signals are hints; the store is authoritative. A signal that is
/// lost without a [`Lagged`](Self::Lagged) is a bug in the store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Signal {
    /// A task was written, or its lease changed hands.
    Written {
        /// The task.
        task_id: Arc<str>,
        /// The position of its newest event.
        last_event: EventId,
        /// The newest events up to that position, without gaps, if the store includes them. A
        /// reader may need older ones.
        events: Vec<Event>,
    },
    /// A command is pending for a task that this node holds.
    Posted {
        /// The task.
        task_id: Arc<str>,
    },
    /// A command that this node posted was answered.
    Answered {
        /// The command.
        command_id: Arc<str>,
    },
    /// A node has abandoned leases, so there are tasks to take over.
    Abandoned,
    /// Signals may have been lost: reload everything that is watched. Repeated every second while
    /// none can be received.
    Lagged,
}

/// A stream of signals. It reconnects by itself and ends with the store.
pub type Signals = Pin<Box<dyn Stream<Item = Signal> + Send>>;
