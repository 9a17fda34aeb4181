//! Transitions for client messages.

use std::{num::NonZeroUsize, sync::Arc, time::Instant};

use a2a_core::TaskState;

use super::{Change, Creation, LiveTask, NewStatus, TaskLimit, TurnRequest, applied};
use crate::{TaskLimits, engine::slots::Slot};

/// Admission limits for a message.
pub(in crate::engine) struct AdmissionLimits<'a> {
    pub(in crate::engine) task: &'a TaskLimits,
    pub(in crate::engine) max_queued: usize,
    /// Maximum number of running tasks of the caller.
    pub(in crate::engine) max_running: Option<NonZeroUsize>,
    /// Acquires a slot for a run, unless the caller is at its limit.
    pub(in crate::engine) slot: &'a mut dyn FnMut() -> Option<Slot>,
}

/// Why a message is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Refusal {
    /// The task could not be stored or loaded.
    Failed,
    /// The task has ended, or is about to.
    Ended,
    /// This node does not hold the lease.
    NotHolder,
    /// A message is already queued, and another one would be lost with this node.
    AlreadyQueued,
    /// The queue is full, with this many messages.
    QueueFull(usize),
    Limit(TaskLimit),
    /// The caller has too many running tasks.
    TooManyRunning,
}

impl LiveTask {
    /// Starts a new task with its first message.
    pub(in crate::engine) fn begin(
        &mut self,
        turn: TurnRequest,
        creation: Creation,
        slot: Slot,
        now: Instant,
    ) {
        self.run.begin(slot, now);
        self.run.set_request(&turn);
        self.run.execution = Some(turn);
        self.turns.begin_first();
        self.creation = creation;
    }

    /// Takes a message: hands it to a waiting executor, queues it behind a running one, or returns
    /// it for a new run. The ticket is 0 if the message is already in the history.
    pub(in crate::engine) fn take(
        &mut self,
        turn: TurnRequest,
        return_immediately: bool,
        room: AdmissionLimits<'_>,
        new_status: NewStatus<'_>,
        now: Instant,
    ) -> Result<(u64, Option<TurnRequest>), Refusal> {
        if self.persistence.has_failed() {
            return Err(Refusal::Failed);
        }
        if turn.joins
            && let Some(ticket) = self.turns.ticket_of(&self.task, &turn.message.message_id)
        {
            self.join(ticket, turn.commands);
            return Ok((ticket, None));
        }
        if self.is_over() || self.run.is_canceling {
            return Err(Refusal::Ended);
        }
        if !self.is_here() {
            return Err(Refusal::NotHolder);
        }
        if self.is_at_work() {
            let queued = self.turns.queue_len();
            if return_immediately && queued > 0 {
                return Err(Refusal::AlreadyQueued);
            }
            if queued >= room.max_queued {
                return Err(Refusal::QueueFull(queued));
            }
        }
        if let Some(limit) = self.refuses(&turn.message, room.task) {
            return Err(Refusal::Limit(limit));
        }
        let (may_run, new_slot) = match self.run.work() {
            Some(work) => (work.try_resume(room.max_running), None),
            None => {
                let slot = (room.slot)();
                (slot.is_some(), slot)
            }
        };
        if !may_run {
            return Err(Refusal::TooManyRunning);
        }
        let ticket = self.turns.take_ticket(&self.task, &turn.message.message_id);
        if let Some(slot) = new_slot {
            self.run.begin(slot, now);
            self.effects.begin = true;
            self.begin_turn(ticket, &turn, new_status, now);
            return Ok((ticket, Some(self.resumed(turn))));
        }
        if self.is_at_work() {
            self.turns.enqueue(ticket, turn);
        } else {
            self.begin_turn(ticket, &turn, new_status, now);
            self.hand(&turn.message);
        }
        Ok((ticket, None))
    }

    /// Queues an acknowledged message of an interrupted task that gets no other run.
    pub(in crate::engine) fn queue_unhandled(&mut self, turn: TurnRequest) {
        let ticket = self.turns.take_ticket(&self.task, &turn.message.message_id);
        self.turns.enqueue(ticket, turn);
    }

    /// A retry of the message with this ticket.
    fn join(&mut self, ticket: u64, commands: Vec<Arc<str>>) {
        match self.turns.queued_mut(ticket) {
            Some(queued) => queued.commands.extend(commands),
            None if ticket > 0 => {
                let begin = self.turns.start;
                commands.into_iter().for_each(|id| self.commands.begin(id, begin));
            }
            None => {}
        }
    }

    /// Begins the turn of a message: the task is WORKING again, and the message enters the history.
    pub(super) fn begin_turn(
        &mut self,
        ticket: u64,
        turn: &TurnRequest,
        new_status: NewStatus<'_>,
        now: Instant,
    ) {
        self.turns.current = ticket;
        // The status first: it moves the open question into the history, before the answer.
        self.turns.start = self.push(new_status(TaskState::Working, None), now);
        for command in &turn.commands {
            self.commands.begin(Arc::clone(command), self.turns.start);
        }
        if let Some(work) = self.run.work() {
            work.begin_turn(now);
        }
        self.run.execution = Some(turn.clone());
        self.put(Change::History(Arc::clone(&turn.message)));
        // A stream of this turn starts with this snapshot, even if the executor has made progress
        // before the stream is first polled.
        self.turns.opening = turn.streams.then(|| Arc::new(applied(&self.task, self.unseen())));
    }
}
