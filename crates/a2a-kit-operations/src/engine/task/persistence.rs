//! What is stored of a task, and what a write stores.

use std::{sync::Arc, time::Instant};

use a2a_core::{Error, ErrorKind, TaskState, v1::Task};
use bytes::Bytes;

use super::{Change, journal::JournalWrite};
use crate::{
    Event, Webhook,
    store::{LeaseUpdate, StoreError},
};

/// What is stored of a task, and whether a write is in progress.
#[derive(Debug, Default)]
pub(crate) struct Persistence {
    /// The number of stored writes.
    pub(super) version: u64,
    pub(super) phase: Phase,
    /// Whether the state was read after the entry was registered, so that it misses no write of
    /// this node.
    pub(super) is_loaded: bool,
}

#[derive(Debug, Default)]
pub(super) enum Phase {
    /// No writer runs.
    #[default]
    Idle,
    /// A writer runs, between two writes.
    Writing,
    /// A writer is storing these changes: no longer pending, not yet visible.
    Storing(Arc<[Change]>),
    /// The task can no longer be served from here.
    Failed(Failure),
}

/// Why a task can no longer be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The store failed.
    Unavailable,
    /// The store no longer has the task.
    Removed,
    /// The store is full.
    Full,
    /// The store can never write a change of this task.
    Rejected,
    /// Another task took over the idempotency key; this one was presumed lost and will never be
    /// stored.
    Superseded(Arc<str>),
}

impl Failure {
    /// The error for callers of the task.
    pub(crate) fn error(&self, task_id: &str) -> Error {
        match self {
            Self::Full => StoreError::Full.into(),
            Self::Rejected => {
                Error::new(ErrorKind::Internal, "the store rejected a change of the task")
            }
            Self::Removed => Error::task_not_found(task_id),
            Self::Unavailable | Self::Superseded(_) => {
                Error::unavailable("the task could not be stored")
            }
        }
    }
}

/// What the store has said about a stored group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confirmation {
    /// When the write of a new task began, which granted the lease, if leases expire.
    pub(crate) begun: Option<Instant>,
    /// Whether webhook deliveries are due.
    pub(crate) has_pushes: bool,
    /// Whether other nodes share the store, and may have posted commands meanwhile.
    pub(crate) is_shared: bool,
}

impl Persistence {
    /// Returns whether a writer runs.
    pub(super) fn is_writing(&self) -> bool {
        matches!(self.phase, Phase::Writing | Phase::Storing(_))
    }

    /// Returns whether the store may have changes that are not visible yet.
    pub(super) fn is_storing(&self) -> bool {
        matches!(self.phase, Phase::Storing(_))
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        if let Phase::Failed(failure) = &self.phase { Some(failure) } else { None }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure().is_some()
    }

    /// The task that took over the idempotency key.
    pub(super) fn superseded(&self) -> Option<&Arc<str>> {
        if let Some(Failure::Superseded(by)) = self.failure() { Some(by) } else { None }
    }

    pub(super) fn being_written(&self) -> &[Change] {
        if let Phase::Storing(changes) = &self.phase { changes } else { &[] }
    }

    /// Clears a failure.
    pub(super) fn recover(&mut self) {
        if self.has_failed() {
            self.phase = Phase::Idle;
        }
    }

    /// Drops a write in progress: another node has the lease.
    pub(super) fn abandon(&mut self) {
        if self.is_writing() {
            self.phase = Phase::Idle;
        }
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.phase = Phase::Failed(failure);
    }
}

/// Changes that are stored together.
#[derive(Debug)]
pub(crate) struct Group {
    pub(super) changes: Arc<[Change]>,
    /// The states that the task goes through.
    pub(super) states: Vec<TaskState>,
    pub(crate) version: u64,
    pub(crate) epoch: u64,
    /// The generation of the task when the group was formed.
    pub(crate) generation: u64,
    /// Whether only the final snapshot is stored, without the intermediate events. Then there are no
    /// `changes`.
    pub(super) is_whole: bool,
    pub(crate) snapshot: Option<Arc<Task>>,
    pub(crate) webhooks: Vec<Webhook>,
    pub(crate) key: Option<String>,
    pub(crate) lease: LeaseUpdate,
    pub(crate) journal: JournalWrite,
    pub(crate) answers: Vec<(Arc<str>, Bytes)>,
}

impl Group {
    /// Whether this is the first write of the task.
    pub(crate) fn is_new(&self) -> bool {
        self.version == 0
    }

    /// The events to store.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.changes.iter().filter_map(|change| match change {
            Change::Event(event) => Some(event),
            Change::Appeared | Change::History(_) | Change::Journal | Change::Joined(_) => None,
        })
    }
}
