//! Transitions of storing changes.

use std::sync::Arc;

use a2a_core::{TaskState, v1::Task};

use super::{
    Change, Checkpoint, Confirmation, Creation, Failure, Group, Holder, LiveTask, applied, encode,
    persistence::Phase,
};
use crate::{EventId, UpdateError, store::LeaseUpdate};

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

    /// The next group to store; `None` ends the writer. Boxed, as it is passed through several hands.
    pub(crate) fn next_group(&mut self) -> Option<Box<Group>> {
        if self.changes.pending.is_empty() || self.persistence.has_failed() {
            self.persistence.abandon();
            self.release_if_idle();
            return None;
        }
        let mut changes = std::mem::take(&mut self.changes.pending);
        let is_new = !self.is_stored();
        let ends = self.changes.head.is_terminal();
        let states = changes.iter().filter_map(Change::state).collect();
        // No caller has seen the intermediate events or can request them.
        let is_whole = is_new && ends && self.creation.is_private();
        let snapshot = if is_whole {
            self.changes.last = EventId::FIRST.get();
            // Nor can anyone but the executor see the task itself until it is stored.
            let task = Arc::make_mut(&mut self.task);
            changes.drain(..).for_each(|change| change.move_to(task));
            Some(Arc::clone(&self.task))
        } else {
            let needs_snapshot = is_new || changes.iter().any(Change::needs_snapshot);
            let snapshot = needs_snapshot.then(|| Arc::new(applied(&self.task, changes.iter())));
            changes.iter_mut().for_each(|change| change.make_event(&self.task));
            snapshot
        };
        // The empty slice is shared, not allocated.
        let changes: Arc<[Change]> =
            if changes.is_empty() { Arc::default() } else { changes.into() };
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
        Some(Box::new(Group {
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
        }))
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
