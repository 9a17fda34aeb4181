//! Transitions of the lease, and of updates from the node that holds it.

use std::{sync::Arc, time::Instant};

use a2a_core::v1::stream_response::Payload;

use super::{
    Failure, Holder, LiveTask, TurnRequest,
    ownership::{Ownership, ReadMark, Refresh},
    status_time,
};
use crate::{
    Event, EventId, UpdateError,
    store::{Replay, StoredTask},
};

/// What this node knows of a stored task, in the order in which it became so. A release changes
/// neither epoch nor version: then the read that started later counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    epoch: u64,
    version: u64,
    read: u64,
}

impl LiveTask {
    fn known(&self) -> Known {
        let Ownership { epoch, reads, .. } = &self.ownership;
        Known { epoch: *epoch, version: self.persistence.version, read: reads.newest }
    }

    /// Applies the stored state of a task that another node may hold.
    pub(super) fn follow(&mut self, stored: StoredTask) {
        self.changes.head = stored.task.state();
        self.changes.status_time = status_time(&stored.task);
        self.task = stored.task;
        self.journal.follow(&stored.journal);
        self.changes.size = None;
        self.persistence.version = stored.version;
        self.ownership.epoch = stored.epoch;
        self.changes.last = self.log.last();
        let is_elsewhere = stored.node.is_some();
        self.run.follow(is_elsewhere);
        self.ownership.holder = if is_elsewhere { Holder::Elsewhere } else { Holder::Nobody };
    }

    /// Applies a lease that the store has granted, unless it has changed hands again since.
    /// `since` is a time before it was granted, if leases expire. With interrupted work, which is unknown here, local
    /// work is of an earlier lease, and discarded.
    pub(crate) fn granted(
        &mut self,
        stored: StoredTask,
        since: Option<Instant>,
        is_orphan: bool,
    ) -> bool {
        let is_late = self.is_here() || self.ownership.epoch > stored.epoch;
        if !is_late {
            if is_orphan {
                self.lose(Holder::Elsewhere);
            }
            self.acquired(stored, since);
        }
        !is_late
    }

    fn acquired(&mut self, stored: StoredTask, since: Option<Instant>) {
        if self.log.last() < stored.last_event.get() {
            self.log = self.log.emptied(stored.last_event.get());
        }
        self.follow(stored);
        self.ownership.holder = Holder::Here;
        self.ownership.known_epoch = self.ownership.epoch;
        self.ownership.reads.has_ignored = false;
        self.ownership.since = since;
        self.ownership.work.releases = false;
        self.run.follow(false);
        self.run.is_canceling = false;
        self.loaded();
        self.persistence.recover();
    }

    /// Restarts the interrupted work on the newest message.
    pub(super) fn rerun(&mut self, now: Instant) {
        self.run.begin(now);
        self.effects.begin = true;
        self.turns.begin_again(self.log.last());
    }

    /// Discards local work, because the lease was lost or released.
    pub(crate) fn lose(&mut self, holder: Holder) {
        self.changes.pending.clear();
        self.persistence.abandon();
        self.ownership.holder = holder;
        self.ownership.known_epoch = 0;
        self.ownership.generation += 1;
        self.effects.drop = true;
        self.run.follow(holder == Holder::Elsewhere);
        self.run.is_canceling = false;
        self.changes.size = None;
        self.commands = super::Commands::default();
        self.turns.lose(self.log.last());
        self.changes.last = self.log.last();
        self.changes.head = self.task.state();
        self.changes.status_time = status_time(&self.task);
    }

    /// Handles an expired lease, unless it was released in the meantime. A writer notices by
    /// itself.
    pub(crate) fn lose_lease(&mut self, epoch: Option<u64>) -> bool {
        let is_lost =
            self.is_here() && !self.persistence.is_writing() && Some(self.ownership.epoch) == epoch;
        if is_lost {
            self.lose(Holder::Elsewhere);
            self.refresh();
        }
        is_lost
    }

    /// Gives up a lease that was not renewed in time: its work is dropped before another node can
    /// take the task over. Returns its epoch. `is_expired` judges by a time at which the lease was
    /// not granted yet.
    pub(crate) fn expire_lease(&mut self, is_expired: impl FnOnce(Instant) -> bool) -> Option<u64> {
        if self.has_current_lease(is_expired) || !self.is_here() || self.persistence.has_failed() {
            return None;
        }
        let epoch = self.ownership.epoch;
        self.lose(Holder::Elsewhere);
        self.refresh();
        Some(epoch)
    }

    /// Fails if an executor of this generation may no longer act for the task.
    pub(crate) fn check_lease(
        &self,
        generation: u64,
        is_expired: impl FnOnce(Instant) -> bool,
    ) -> Result<(), UpdateError> {
        self.listens(generation)?;
        if self.has_current_lease(is_expired) { Ok(()) } else { Err(UpdateError::Superseded) }
    }

    /// Returns whether this node may act for the task: it holds a lease that has not expired, or
    /// the task is not stored yet.
    fn has_current_lease(&self, is_expired: impl FnOnce(Instant) -> bool) -> bool {
        self.is_here() && (!self.is_stored() || !self.ownership.since.is_some_and(is_expired))
    }

    /// Returns whether this node holds the lease on a task for which it has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.is_here()
            && self.is_stored()
            && !self.run.is_running()
            && !self.persistence.is_writing()
            && self.changes.pending.is_empty()
            && !self.commands.is_busy()
    }

    /// Begins to release the lease, if this node holds it and the task is idle. Returns the epoch,
    /// and whether interrupted work is left for the next holder.
    pub(super) fn begin_release(&mut self) -> Option<(u64, bool)> {
        self.is_idle().then(|| {
            self.ownership.holder = Holder::Nobody;
            let is_unfinished = self.run.was_interrupted || self.persistence.has_failed();
            if is_unfinished {
                self.ownership.known_epoch = 0;
            }
            (self.ownership.epoch, is_unfinished)
        })
    }

    /// The store confirmed the release of a lease. A concurrent read may have reported this node as
    /// the holder, which looked like another node.
    pub(crate) fn released(&mut self, epoch: u64) {
        if self.ownership.epoch == epoch && self.ownership.holder == Holder::Elsewhere {
            self.ownership.holder = Holder::Nobody;
            self.run.follow(false);
        }
    }

    /// The epoch of a lease to renew.
    pub(crate) fn leased(&self) -> Option<u64> {
        let is_at_work = self.run.is_running()
            || self.persistence.is_writing()
            || self.commands.is_busy()
            || self.ownership.work.is_running;
        let is_held = self.is_here() && self.ownership.epoch > 0 && !self.persistence.has_failed();
        (is_held && is_at_work).then_some(self.ownership.epoch)
    }

    /// Applies events that another node wrote, up to `last`. The task is reloaded if something is
    /// missing.
    pub(crate) fn apply_remote(&mut self, last: EventId, events: Vec<Event>) {
        if self.is_here() {
            self.ownership.reads.has_ignored = true;
            return;
        }
        if !self.is_stored() {
            return;
        }
        // Artifact chunks affect nothing else, so they need no reload.
        let next = self.log.last() + 1;
        let follows = events.first().and_then(Event::id).is_some_and(|id| id.get() == next);
        let are_chunks =
            events.iter().all(|event| matches!(event.payload(), Some(Payload::ArtifactUpdate(_))));
        if !follows || !are_chunks || !self.run.is_running() {
            return self.refresh();
        }
        let task = Arc::make_mut(&mut self.task);
        for event in events {
            if let Some(Payload::ArtifactUpdate(update)) = event.payload() {
                task.apply_artifact(update);
            }
            self.log.push(event);
        }
        self.changes.last = self.log.last();
        if self.log.last() < last.get() {
            self.refresh();
        }
    }

    /// Reloads the task. A reload in progress is repeated.
    pub(crate) fn refresh(&mut self) {
        let refresh = &mut self.ownership.reads.refresh;
        let begins = *refresh == Refresh::Idle;
        *refresh = if begins { Refresh::Running } else { Refresh::Again };
        self.effects.refresh |= begins;
    }

    /// Signals of other nodes were lost.
    pub(crate) fn lagged(&mut self) {
        if self.is_here() {
            self.notice_commands();
        } else {
            self.refresh();
        }
    }

    /// Ends the reload, unless another one was requested; returns whether it ended.
    pub(crate) fn end_refresh(&mut self) -> bool {
        let refresh = &mut self.ownership.reads.refresh;
        let ends = *refresh != Refresh::Again;
        *refresh = if ends { Refresh::Idle } else { Refresh::Running };
        ends
    }

    /// Fails the streams and waiters on this node, so that clients reconnect: progress on other
    /// nodes is unknown.
    pub(crate) fn stop_following(&mut self) {
        self.ownership.reads.refresh = Refresh::Idle;
        if !self.is_here() {
            self.persistence.fail(Failure::Unavailable);
        }
    }

    /// Reloads the task if it has waited for its client since this time, in milliseconds since the
    /// epoch, so that another node may have removed it.
    pub(crate) fn refresh_if_parked(&mut self, since: i64) {
        let is_parked = self.task.state().is_interrupted() && !self.is_here();
        if is_parked && status_time(&self.task).is_none_or(|time| time.as_millis() < since) {
            self.refresh();
        }
    }

    /// Returns whether the task has to be read before a lease on it is applied, up to an event.
    pub(crate) fn is_behind(&self, event: EventId) -> bool {
        self.log.last() < event.get()
    }

    /// Returns whether this epoch directly follows one of which this node knows all changes.
    pub(crate) fn is_known(&self, epoch: u64) -> bool {
        self.ownership.holder != Holder::Here && self.ownership.known_epoch + 1 == epoch
    }

    /// Starts a read of changes by another node.
    pub(crate) fn begin_read(&mut self) -> ReadMark {
        let is_here = self.is_here();
        let reads = &mut self.ownership.reads;
        reads.begun += 1;
        let after = EventId::new(self.log.last());
        ReadMark { number: reads.begun, after, is_here }
    }

    /// Applies a read. `node` is this node.
    pub(crate) fn read(&mut self, mark: ReadMark, stored: StoredTask, replay: Replay, node: &str) {
        if self.is_here() {
            // The holder knows more than the store, unless another node has taken over.
            if stored.epoch <= self.ownership.epoch || stored.node.as_deref() == Some(node) {
                return;
            }
            self.lose(Holder::Elsewhere);
            if self.ownership.reads.has_ignored {
                // The update may be newer than this read.
                self.refresh();
            }
        }
        let (epoch, version, read) = (stored.epoch, stored.version, mark.number);
        let incoming = Known { epoch, version, read };
        if incoming < self.known() {
            return;
        }
        self.ownership.reads.newest = read.max(self.ownership.reads.newest);
        if let Replay::Events(events) = replay {
            for event in events {
                if event.id().map_or(0, EventId::get) == self.log.last() + 1 {
                    self.log.push(event);
                }
            }
        }
        if self.log.last() < stored.last_event.get() {
            self.log = self.log.emptied(stored.last_event.get());
        }
        if self.log.last() == stored.last_event.get() {
            self.follow(stored);
        }
    }

    /// Applies a task that this node lost before it became visible here.
    pub(crate) fn reload(&mut self, stored: Option<StoredTask>) {
        match stored {
            _ if self.is_here() || self.log.last() > 0 => {}
            Some(stored) => {
                self.log = self.log.emptied(stored.last_event.get());
                self.follow(stored);
            }
            None => self.persistence.fail(Failure::Unavailable),
        }
    }

    /// The store no longer has the task.
    pub(crate) fn removed(&mut self) {
        self.persistence.fail(Failure::Removed);
    }

    /// The interrupted turn, restored from its checkpoint.
    pub(super) fn interrupted_turn(&self, checkpoint: &[u8]) -> Option<TurnRequest> {
        let checkpoint: super::Checkpoint = serde_json::from_slice(checkpoint).ok()?;
        let mut messages = self.task.history.iter().rev();
        let message = messages.find(|message| message.role() == a2a_core::Role::User)?;
        let mut turn = checkpoint.into_turn(message.clone());
        turn.rerun = true;
        Some(turn)
    }
}
