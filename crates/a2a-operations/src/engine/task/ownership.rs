//! Which node may write to a task, and what is heard of the one that does.

use std::sync::Arc;

use a2a_core::v1::stream_response::Payload;

use super::{Failure, LiveTask, TurnRequest};
use crate::{
    Event, EventId,
    engine::slots::Slot,
    store::{Replay, StoredTask},
};

/// Which node may write to a task, as far as this one knows.
#[derive(Debug, Default)]
pub(in crate::engine) struct Ownership {
    pub(in crate::engine) holder: Holder,
    /// The epoch under which this node holds the task, or held it last.
    pub(in crate::engine) epoch: u64,
    /// The epoch of a hold of which this node knows all that was done under it; 0 without one.
    known: u64,
    /// Whether a request for the lease is in progress.
    is_reaching: bool,
    /// How often this node lost the task or took it over. What belongs to an earlier number is
    /// not listened to.
    pub(in crate::engine) generation: u64,
    /// Reads of what other nodes wrote.
    reads: Reads,
}

/// Who may write to a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) enum Holder {
    /// No node; the first to ask the store gets the lease.
    #[default]
    Nobody,
    /// This node.
    Here,
    /// Another node.
    Elsewhere,
}

/// Reads of what other nodes wrote to a task.
#[derive(Debug, Default)]
struct Reads {
    refresh: Refresh,
    /// How many were begun.
    begun: u64,
    /// The newest whose result was taken over.
    newest: u64,
    /// How often this node did not listen to what another wrote, as it took the task for its own.
    unheard: u64,
}

/// Whether a task is being read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Refresh {
    #[default]
    No,
    Yes,
    /// Something more has happened since.
    Again,
}

/// How the store is asked for a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Reach {
    /// This node holds the task.
    Held,
    /// The caller is to ask.
    Ask,
    /// A request is in progress already.
    Wait,
}

/// A read of what another node wrote, at its beginning.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct ReadMark {
    number: u64,
    unheard: u64,
    /// The newest event that is known; `None` without one.
    pub(in crate::engine) after: Option<EventId>,
    pub(in crate::engine) is_here: bool,
}

impl Ownership {
    /// Notes what was stored under a hold, and whether the hold ended with it.
    pub(super) fn keep(&mut self, epoch: u64, released: bool) {
        self.epoch = epoch;
        self.known = epoch;
        if released {
            self.holder = Holder::Nobody;
        }
    }

    /// Returns whether a hold under this epoch follows one of which this node knows all.
    pub(in crate::engine) fn is_known(&self, epoch: u64) -> bool {
        self.holder != Holder::Here && self.known + 1 == epoch
    }
}

impl LiveTask {
    /// Begins to ask the store for a hold.
    pub(in crate::engine) fn begin_reaching(&mut self) -> Reach {
        if self.is_here() {
            Reach::Held
        } else if std::mem::replace(&mut self.ownership.is_reaching, true) {
            Reach::Wait
        } else {
            Reach::Ask
        }
    }

    pub(in crate::engine) fn end_reaching(&mut self) {
        self.ownership.is_reaching = false;
    }

    pub(in crate::engine) fn is_reaching(&self) -> bool {
        self.ownership.is_reaching
    }

    /// Takes over what the store says of a task that is not held here.
    pub(super) fn follow(&mut self, stored: StoredTask) {
        self.changes.head = stored.task.state();
        self.task = stored.task;
        self.changes.size = None;
        self.disk.read(stored.version);
        self.ownership.epoch = stored.epoch;
        self.changes.last = self.log.last();
        let is_elsewhere = stored.node.is_some();
        self.run.follow(is_elsewhere);
        self.ownership.holder = if is_elsewhere { Holder::Elsewhere } else { Holder::Nobody };
    }

    /// Takes up a task that the store has handed to this node; `true` where commands were passed
    /// over before.
    pub(in crate::engine) fn acquired(&mut self, stored: StoredTask) -> bool {
        if self.log.last() < stored.last_event.get() {
            self.log = self.log.emptied(stored.last_event.get());
        }
        self.follow(stored);
        self.ownership.holder = Holder::Here;
        self.ownership.known = self.ownership.epoch;
        self.run.follow(false);
        self.run.is_canceling = false;
        self.disk.recover();
        self.commands.were_passed_over()
    }

    /// Begins to work again on the newest message, whose work was cut off.
    pub(in crate::engine) fn rerun(&mut self, slot: Slot, now: std::time::Instant) {
        self.run.begin(slot, now);
        self.effects.begin = true;
        self.turns.begin_again(self.log.last());
    }

    /// Gives up what was worked on here, before the task is taken up from the store under an
    /// epoch; `false` where this node or another has taken hold of it since, and knew of the work.
    pub(in crate::engine) fn give_up_before(&mut self, epoch: u64) -> bool {
        let is_late = self.ownership.epoch > epoch;
        if !is_late {
            self.lose(Holder::Elsewhere);
        }
        !is_late
    }

    /// Discards the local work on the task, whose lease is lost to another node or released.
    pub(in crate::engine) fn lose(&mut self, holder: Holder) {
        self.changes.pending.clear();
        self.disk.abandon();
        self.ownership.holder = holder;
        self.ownership.known = 0;
        self.ownership.generation += 1;
        self.effects.drop = true;
        self.run.follow(holder == Holder::Elsewhere);
        self.run.is_canceling = false;
        self.changes.size = None;
        self.commands = super::Commands::default();
        self.turns.lose(&self.task, self.log.last());
        self.changes.last = self.log.last();
        self.changes.head = self.task.state();
    }

    /// Gives up a lease that ran out under an epoch, unless the task was let go meanwhile. A
    /// writer finds out by itself.
    pub(in crate::engine) fn lose_lease(&mut self, epoch: Option<u64>) -> bool {
        let is_lost =
            self.is_here() && !self.disk.is_writing() && Some(self.ownership.epoch) == epoch;
        if is_lost {
            self.lose(Holder::Elsewhere);
        }
        is_lost
    }

    /// Lets the task go, if this node holds it and has nothing more to do with it. Returns the
    /// epoch of the lease, and whether unfinished work is left for the next holder.
    pub(in crate::engine) fn let_go(&mut self) -> Option<(u64, bool)> {
        let is_idle = self.is_here()
            && self.is_stored()
            && !self.run.is_running()
            && !self.disk.is_writing()
            && self.changes.pending.is_empty()
            && !self.commands.is_busy();
        is_idle.then(|| {
            self.ownership.holder = Holder::Nobody;
            let is_unfinished = self.run.was_cut_off || self.disk.has_failed();
            if is_unfinished {
                self.ownership.known = 0;
            }
            (self.ownership.epoch, is_unfinished)
        })
    }

    /// The store confirmed the release of a lease. A read of the task that finished in between
    /// named this node as the holder, which looked like another node.
    pub(in crate::engine) fn released(&mut self, epoch: u64) {
        if self.ownership.epoch == epoch && self.ownership.holder == Holder::Elsewhere {
            self.ownership.holder = Holder::Nobody;
            self.run.follow(false);
        }
    }

    /// The epoch of a hold whose lease has to be renewed.
    pub(in crate::engine) fn leased(&self) -> Option<u64> {
        let is_at_work = self.run.is_running() || self.disk.is_writing() || self.commands.is_busy();
        let is_held = self.is_here() && self.ownership.epoch > 0 && !self.disk.has_failed();
        (is_held && is_at_work).then_some(self.ownership.epoch)
    }

    /// Another node wrote these events, up to `last`: shows them to the readers here. Returns
    /// whether that is all there is to know; else the task has to be read.
    pub(in crate::engine) fn heard(&mut self, last: EventId, events: Vec<Event>) -> bool {
        if self.is_here() {
            self.ownership.reads.unheard += 1;
            return true;
        }
        if !self.is_stored() {
            return true;
        }
        // Chunks of artifacts change nothing but the artifact, so they need no second look.
        let next = self.log.last() + 1;
        let follows = events.first().and_then(Event::id).is_some_and(|id| id.get() == next);
        let are_chunks =
            events.iter().all(|event| matches!(event.payload(), Some(Payload::ArtifactUpdate(_))));
        if !follows || !are_chunks || !self.run.is_running() {
            return false;
        }
        let task = Arc::make_mut(&mut self.task);
        for event in events {
            if let Some(Payload::ArtifactUpdate(update)) = event.payload() {
                task.apply_artifact(update);
            }
            self.log.push(event);
        }
        self.changes.last = self.log.last();
        self.log.last() >= last.get()
    }

    /// Begins to read what another node wrote, and returns whether the caller is to do it: who
    /// reads already does it once more.
    pub(in crate::engine) fn begin_refresh(&mut self) -> bool {
        let refresh = &mut self.ownership.reads.refresh;
        let begins = *refresh == Refresh::No;
        *refresh = if begins { Refresh::Yes } else { Refresh::Again };
        begins
    }

    /// Ends the reading, unless something more has happened; returns whether it ends.
    pub(in crate::engine) fn end_refresh(&mut self) -> bool {
        let refresh = &mut self.ownership.reads.refresh;
        let ends = *refresh != Refresh::Again;
        *refresh = if ends { Refresh::No } else { Refresh::Yes };
        ends
    }

    /// Ends the streams and waits of this node on the task, so that clients reconnect: its progress
    /// on other nodes is unknown.
    pub(in crate::engine) fn stop_following(&mut self) {
        self.ownership.reads.refresh = Refresh::No;
        if !self.is_here() {
            self.disk.fail(Failure::Unavailable);
        }
    }

    /// Begins a read of what another node wrote.
    pub(in crate::engine) fn begin_read(&mut self) -> ReadMark {
        let is_here = self.is_here();
        let reads = &mut self.ownership.reads;
        reads.begun += 1;
        let after = EventId::new(self.log.last());
        ReadMark { number: reads.begun, unheard: reads.unheard, after, is_here }
    }

    /// Takes over what was read of a task, and returns whether it has to be read again: this node
    /// took it for its own when more was said of it.
    pub(in crate::engine) fn read(
        &mut self,
        mark: ReadMark,
        stored: StoredTask,
        replay: Replay,
    ) -> bool {
        let mut is_missed = false;
        if self.is_here() {
            // Who holds it knows more than the store, unless another has taken it.
            if stored.epoch <= self.ownership.epoch {
                return false;
            }
            self.lose(Holder::Elsewhere);
            // That may have been after this was read.
            is_missed = self.ownership.reads.unheard > mark.unheard;
        }
        let (stands, stood) =
            ((stored.epoch, stored.version), (self.ownership.epoch, self.disk.version()));
        // Who lets go of a task changes neither: there, the read that began later counts.
        let newest = &mut self.ownership.reads.newest;
        if stands < stood || (stands == stood && mark.number < *newest) {
            return is_missed;
        }
        *newest = mark.number.max(*newest);
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
        is_missed
    }

    /// Takes over a task that this node has lost before it showed anything of it.
    pub(in crate::engine) fn read_anew(&mut self, stored: Option<StoredTask>) {
        match stored {
            _ if self.is_here() || self.log.last() > 0 => {}
            Some(stored) => {
                self.log = self.log.emptied(stored.last_event.get());
                self.follow(stored);
            }
            None => self.forgotten(),
        }
    }

    /// The store has the task no more: it was kept long enough.
    pub(in crate::engine) fn forgotten(&mut self) {
        self.disk.fail(Failure::Unavailable);
    }

    /// The turn of work that was cut off, made again from what was recorded of it.
    pub(in crate::engine) fn interrupted_turn(&self, execution: &[u8]) -> Option<TurnRequest> {
        let record = super::Record::read(execution)?;
        let mut messages = self.task.history.iter().rev();
        let message = messages.find(|message| message.role() == a2a_core::Role::User)?;
        let mut turn = record.into_turn(message.clone());
        turn.rerun = true;
        Some(turn)
    }
}
