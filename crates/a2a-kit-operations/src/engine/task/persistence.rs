//! Storing changes.

use std::{sync::Arc, time::Instant};

use a2a_core::{Error, ErrorKind, TaskState, v1::Task};
use bytes::Bytes;

use super::{
    Change, Checkpoint, Creation, Holder, LiveTask, applied, encode, journal::JournalUpdate,
};
use crate::{
    Event, EventId, UpdateError, Webhook,
    store::{LeaseUpdate, StoreError},
};

/// What is stored of a task, and whether a write is in progress.
#[derive(Debug, Default)]
pub(crate) struct Persistence {
    /// The number of stored writes.
    pub(super) version: u64,
    phase: Phase,
    /// Whether the state was read after the entry was registered, so that it misses no write of
    /// this node.
    is_loaded: bool,
}

#[derive(Debug, Default)]
enum Phase {
    /// No writer runs.
    #[default]
    Idle,
    /// A writer runs, between two writes.
    Writing,
    /// A writer is storing these changes: no longer pending, not yet visible.
    Storing(Arc<Vec<Change>>),
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
    changes: Arc<Vec<Change>>,
    /// The states that the task goes through.
    states: Vec<TaskState>,
    pub(crate) version: u64,
    pub(crate) epoch: u64,
    /// The generation of the task when the group was formed.
    pub(crate) generation: u64,
    /// Whether only the final snapshot is stored, without the intermediate events.
    is_whole: bool,
    pub(crate) snapshot: Option<Arc<Task>>,
    pub(crate) webhooks: Vec<Webhook>,
    pub(crate) key: Option<String>,
    pub(crate) lease: LeaseUpdate,
    pub(crate) journal: JournalUpdate,
    pub(crate) answers: Vec<(Arc<str>, Bytes)>,
}

impl Group {
    /// Whether this is the first write of the task.
    pub(crate) fn is_new(&self) -> bool {
        self.version == 0
    }

    /// The events to store.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        let changes = if self.is_whole { &[] } else { self.changes.as_slice() };
        changes.iter().filter_map(|change| match change {
            Change::Event(event) => Some(event),
            Change::Appeared | Change::History(_) | Change::Journal => None,
        })
    }
}

impl LiveTask {
    /// Returns whether the task was not lost since this generation.
    pub(crate) fn is_current(&self, generation: u64) -> bool {
        self.ownership.generation == generation
    }

    /// The generation of the task.
    pub(crate) fn generation(&self) -> u64 {
        self.ownership.generation
    }

    /// Whether the state was read after the entry was registered; `None` while the first write is in
    /// progress: other nodes may already see the task.
    pub(crate) fn has_loaded(&self) -> Option<bool> {
        let is_asked = self.persistence.is_writing() || self.ownership.holder == Holder::Elsewhere;
        let is_appearing = !self.is_stored() && !self.persistence.has_failed() && is_asked;
        (!is_appearing).then_some(self.persistence.is_loaded)
    }

    /// The state was read after the entry was registered.
    pub(crate) fn loaded(&mut self) {
        self.persistence.is_loaded = true;
    }

    /// Returns whether the store no longer has the task.
    pub(crate) fn is_removed(&self) -> bool {
        matches!(self.persistence.failure(), Some(Failure::Removed))
    }

    /// Returns whether the store may have changes that are not visible yet.
    pub(crate) fn is_storing(&self) -> bool {
        self.persistence.is_storing()
    }

    /// The task and the position of its newest event, unless the store may be ahead.
    /// `holder_is_current` tells whether no other node can have written, given whether this one
    /// holds the lease.
    pub(crate) fn current(
        &self,
        holder_is_current: impl FnOnce(bool) -> bool,
    ) -> Option<(Arc<Task>, u64)> {
        let is_current = self.persistence.is_loaded
            && self.is_stored()
            && !self.persistence.is_storing()
            && !self.persistence.has_failed()
            && holder_is_current(self.is_here());
        is_current.then(|| self.visible())
    }

    /// The visible task, and the position of its newest event.
    pub(crate) fn visible(&self) -> (Arc<Task>, u64) {
        (Arc::clone(&self.task), self.log.last())
    }

    /// The visible task, and the positions of its oldest retained and its newest event; `None` if
    /// the task is not stored.
    pub(crate) fn stored_log(&self) -> Option<(Arc<Task>, u64, u64)> {
        let (task, last) = self.visible();
        self.is_stored().then(|| (task, self.log.first(), last))
    }

    /// The visible state; `None` if the task is not stored.
    pub(crate) fn stored_state(&self) -> Option<TaskState> {
        self.is_stored().then(|| self.task.state())
    }

    /// The version that is being stored by this node, which holds the lease.
    pub(crate) fn storing_version(&self) -> Option<u64> {
        (self.is_here() && self.persistence.is_storing()).then_some(self.persistence.version)
    }

    /// Whether the event at `position` is stored, for an executor of this generation; `None` while
    /// it is not known.
    pub(crate) fn write_outcome(
        &self,
        generation: u64,
        position: u64,
    ) -> Option<Result<(), UpdateError>> {
        let is_stored = self.log.last() >= position.min(self.changes.last);
        match self.listens(generation) {
            Err(UpdateError::Store) | Ok(()) if is_stored => Some(Ok(())),
            Ok(()) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Returns whether a writer has to start: changes are pending and none runs.
    pub(super) fn has_to_write(&self) -> bool {
        matches!(self.persistence.phase, Phase::Idle) && !self.changes.pending.is_empty()
    }

    /// Begins to write, if a writer has to start.
    pub(crate) fn begin_writing(&mut self) -> bool {
        let begins = self.has_to_write();
        if begins {
            self.persistence.phase = Phase::Writing;
        }
        begins
    }

    /// The next group to store; `None` ends the writer.
    pub(crate) fn next_group(&mut self) -> Option<Group> {
        if self.changes.pending.is_empty() || self.persistence.has_failed() {
            self.persistence.abandon();
            self.release_if_idle();
            return None;
        }
        let mut changes = std::mem::take(&mut self.changes.pending);
        let is_new = !self.is_stored();
        let ends = self.changes.head.is_terminal();
        let states = changes.iter().filter_map(Change::state).collect();
        let snapshot = (is_new || changes.iter().any(Change::needs_snapshot))
            .then(|| Arc::new(applied(&self.task, changes.iter())));
        // No caller has seen the intermediate events or can request them.
        let is_whole = is_new && ends && self.creation.is_private();
        if is_whole {
            self.changes.last = EventId::FIRST.get();
        } else {
            changes.iter_mut().for_each(|change| change.make_event(&self.task));
        }
        let changes = Arc::new(changes);
        self.persistence.phase = Phase::Storing(Arc::clone(&changes));
        let execution = self.run.execution.take();
        // The lease is released with the end of the task, or if no executor ever ran.
        let lease = match execution {
            _ if ends || is_new && !self.run.is_running() && !self.run.was_interrupted => {
                LeaseUpdate::Release
            }
            Some(turn) => LeaseUpdate::Checkpoint(encode(&Checkpoint::of(&turn, None))),
            None => LeaseUpdate::Keep,
        };
        Some(Group {
            changes,
            states,
            version: self.persistence.version,
            // A new task is stored under the first epoch.
            epoch: if is_new { 1 } else { self.ownership.epoch },
            generation: self.ownership.generation,
            is_whole,
            snapshot,
            webhooks: std::mem::take(&mut self.creation.webhooks),
            key: self.creation.key.clone().filter(|_| is_new),
            lease,
            journal: self.journal.take_unstored(ends),
            answers: self.commands.answers(ends.then_some(self.changes.last)),
        })
    }

    /// Makes a stored group visible, and returns the states that the task goes through; `None` if the
    /// task was lost in the meantime, and perhaps reacquired.
    pub(crate) fn stored(
        &mut self,
        group: Group,
        confirmation: Confirmation,
    ) -> Option<Vec<TaskState>> {
        if self.ownership.generation != group.generation {
            return None;
        }
        match &group.snapshot {
            Some(task) => self.task = Arc::clone(task),
            None => {
                let task = Arc::make_mut(&mut self.task);
                group.changes.iter().for_each(|change| change.apply(task));
            }
        }
        if self.persistence.is_storing() {
            self.persistence.phase = Phase::Writing;
        }
        group.answers.iter().for_each(|(command, _)| self.commands.finish(command));
        self.persistence.version = group.version + 1;
        self.journal.stored(&group.journal);
        let releases = group.lease == LeaseUpdate::Release;
        self.ownership.keep(group.epoch, releases, confirmation.begun);
        if releases && confirmation.is_shared {
            self.notice_commands();
        }
        self.effects.wake_outbox |= confirmation.has_pushes;
        self.creation = Creation::default();
        if group.is_whole {
            self.log.skip_to(EventId::FIRST.get());
        }
        group.events().for_each(|event| self.log.push(event.clone()));
        if self.changes.pending.is_empty() && self.commands.is_busy() {
            // Of commands that were retried while their first attempt was being written.
            self.effects.answers.append(&mut self.commands.answers(None));
        }
        Some(group.states)
    }

    /// Handles a write that conflicts with that of another node, unless the task was lost in the
    /// meantime.
    pub(crate) fn conflicted(&mut self, generation: u64) -> bool {
        let is_current = self.is_current(generation);
        if is_current {
            self.lose(Holder::Elsewhere);
            self.refresh();
        }
        is_current
    }

    /// Discards changes that could not be stored, and drops the executor, unless the task was lost
    /// in the meantime.
    pub(crate) fn not_stored(&mut self, generation: u64, failure: Failure) -> bool {
        let is_current = self.is_current(generation);
        if is_current {
            self.persistence.fail(failure);
            self.changes.pending.clear();
            self.commands.give_up();
            self.drop_executor();
            self.release_if_idle();
        }
        is_current
    }
}
