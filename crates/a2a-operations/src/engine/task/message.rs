//! What a message of the client does to a task.

use std::{num::NonZeroUsize, sync::Arc, time::Instant};

use a2a_core::TaskState;

use super::{Birth, Change, LiveTask, Say, TaskLimit, TurnRequest, applied};
use crate::{TaskLimits, engine::slots::Slot};

/// What a message may use up.
pub(in crate::engine) struct Room<'a> {
    pub(in crate::engine) task: &'a TaskLimits,
    pub(in crate::engine) max_queued: usize,
    /// Tasks that run for the caller at a time.
    pub(in crate::engine) max_running: Option<NonZeroUsize>,
    /// Takes a slot for a run, unless the caller has as many as it may.
    pub(in crate::engine) slot: &'a mut dyn FnMut() -> Option<Slot>,
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Refusal {
    /// The task could not be stored or read.
    Failed,
    /// The task has ended, or is about to.
    Ended,
    /// Another node may write, or none.
    Away,
    /// A message waits already, and one more would be gone with this node.
    OneWaits,
    /// So many messages wait already.
    QueueIsFull(usize),
    Limit(TaskLimit),
    /// The caller has as many tasks running as it may.
    TooManyRunning,
}

impl LiveTask {
    /// Begins a new task with its first message.
    pub(in crate::engine) fn begin(
        &mut self,
        turn: TurnRequest,
        birth: Birth,
        slot: Slot,
        now: Instant,
    ) {
        self.run.begin(slot, now);
        self.run.execution = Some(turn);
        self.turns.begin_first();
        self.birth = birth;
    }

    /// Takes a message for a task: hands it to an executor that asks, queues it behind one that
    /// works, or returns it for a new executor. With it comes its ticket, which is 0 where the
    /// message is in the history.
    pub(in crate::engine) fn take(
        &mut self,
        turn: TurnRequest,
        return_immediately: bool,
        room: Room<'_>,
        say: Say<'_>,
        now: Instant,
    ) -> Result<(u64, Option<TurnRequest>), Refusal> {
        if self.disk.has_failed() {
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
            return Err(Refusal::Away);
        }
        if self.is_at_work() {
            let queued = self.turns.queue_len();
            if return_immediately && queued > 0 {
                return Err(Refusal::OneWaits);
            }
            if queued >= room.max_queued {
                return Err(Refusal::QueueIsFull(queued));
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
            self.begin_turn(ticket, &turn, say, now);
            return Ok((ticket, Some(turn)));
        }
        if self.is_at_work() {
            self.turns.enqueue(ticket, turn);
        } else {
            self.begin_turn(ticket, &turn, say, now);
            self.run.hand(&turn.message);
        }
        Ok((ticket, None))
    }

    /// The same message again, which was taken under this ticket.
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

    /// Begins the turn of a message: the task works again, and the message enters its history.
    pub(super) fn begin_turn(
        &mut self,
        ticket: u64,
        turn: &TurnRequest,
        say: Say<'_>,
        now: Instant,
    ) {
        self.turns.current = ticket;
        // The status first: it moves the question that was open into the history, before the
        // answer.
        self.turns.start = self.push(say(TaskState::Working, None), now);
        for command in &turn.commands {
            self.commands.begin(Arc::clone(command), self.turns.start);
        }
        if let Some(work) = self.run.work() {
            work.begin_turn(now);
        }
        self.run.execution = Some(turn.clone());
        self.put(Change::History(Arc::clone(&turn.message)));
        // A stream of this turn begins with this snapshot, even if the executor has made progress
        // before the stream is first polled.
        self.turns.opening = turn.streams.then(|| Arc::new(applied(&self.task, self.unseen())));
    }
}
