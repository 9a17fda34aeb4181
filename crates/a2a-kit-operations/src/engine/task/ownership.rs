//! The lease on a task, and what its loop has to do.

use std::time::Instant;

use a2a_core::Error;

use crate::{EventId, store::Orphan};

/// The lease on a task, as far as this node knows.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    pub(super) holder: Holder,
    /// The epoch of this node's current or last lease.
    pub(super) epoch: u64,
    /// The epoch up to which this node knows all changes; 0 if none.
    pub(super) known_epoch: u64,
    /// A time at which the current lease was not granted yet, if leases expire.
    pub(super) since: Option<Instant>,
    /// What the loop has to do that reconciles the lease with the store.
    pub(super) work: Reconciliation,
    /// Incremented each time this node loses the lease or takes the task over. Results of earlier
    /// generations are ignored.
    pub(super) generation: u64,
    /// Reads of changes by other nodes.
    pub(super) reads: Reads,
}

/// The holder of the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Holder {
    /// None; the next node to acquire it gets the lease.
    #[default]
    Nobody,
    /// This node.
    Here,
    /// Another node.
    Elsewhere,
}

/// Reads of changes by other nodes.
#[derive(Debug, Default)]
pub(super) struct Reads {
    pub(super) refresh: Refresh,
    /// The number of reads started.
    pub(super) begun: u64,
    /// The newest read that was applied.
    pub(super) newest: u64,
    /// Whether an update of another node was ignored, because this node believed to hold the lease.
    pub(super) has_ignored: bool,
}

/// Whether the task is being reloaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Refresh {
    #[default]
    Idle,
    Running,
    /// Another change has happened since.
    Again,
}

/// A read of changes by another node, when it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadMark {
    pub(super) number: u64,
    /// The newest known event; `None` if there is none.
    pub(crate) after: Option<EventId>,
    pub(crate) is_here: bool,
}

/// Pending work of the loop that reconciles the lease with the store.
#[derive(Debug, Default)]
pub(crate) struct Reconciliation {
    pub(super) is_running: bool,
    /// Work of a failed node that was granted to this one.
    pub(super) takeover: Option<Box<Takeover>>,
    /// Whether commands may be pending in the store.
    pub(super) has_commands: bool,
    /// Whether the lease is to be released if the task is idle. An idle lease is otherwise kept
    /// for the caller that requested it.
    pub(super) releases: bool,
    /// The number of the last request for the lease, and of the last one that was answered.
    pub(super) requested: u64,
    pub(super) answered: u64,
    /// Why the last request failed, until a caller takes it.
    pub(super) failure: Option<Error>,
}

/// An interrupted task, and a time at which its lease was not granted yet, if leases expire.
#[derive(Debug)]
pub(crate) struct Takeover {
    pub(crate) orphan: Orphan,
    pub(crate) since: Option<Instant>,
}

impl Ownership {
    /// Records a write under the lease, and whether it released the lease.
    pub(super) fn keep(&mut self, epoch: u64, released: bool, begun: Option<Instant>) {
        self.epoch = epoch;
        self.known_epoch = epoch;
        self.since = begun.or(self.since);
        if released {
            self.holder = Holder::Nobody;
        }
    }
}

impl Reconciliation {
    pub(super) fn wants_lease(&self) -> bool {
        self.requested > self.answered
    }
}
