//! Transitions for client messages.

use std::{sync::Arc, time::Instant};

use a2a_core::{
    Error, TaskState,
    v1::{TaskStatus, TaskStatusUpdateEvent},
};

use super::{
    Change, Creation, ExceededLimit, Failure, LiveTask, Now, StartMode, TurnRequest, applied,
    turn::Queued,
};
use crate::{Event, TaskLimits};

/// Admission limits for a message.
pub(crate) struct AdmissionLimits<'a> {
    pub(crate) task: &'a TaskLimits,
    pub(crate) max_queued: usize,
    /// Whether the caller may have another running task, if this one does not count as such.
    pub(crate) may_run: bool,
}

/// What the sender of a message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// Its turn.
    Waits,
    /// Its acceptance.
    Leaves,
    /// Nothing: it may have been told that the message is accepted, so no limit applies any more.
    HasLeft,
}

/// Why a message is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The task could not be stored or loaded.
    Failed(Failure),
    /// The task is about to end.
    Ending,
    /// The task has ended.
    Ended,
    /// This node does not hold the lease.
    NotHolder,
    /// The message is to be acknowledged and has to wait for its turn, but would be lost with this
    /// node.
    NotStored,
    /// The executor takes no message while it works.
    AtWork,
    /// The queue is full, with this many messages.
    QueueFull(usize),
    Limit(ExceededLimit),
    /// The caller has too many running tasks.
    TooManyRunning,
}

/// What the agent says about an acknowledged message that it never got to.
const NOT_HANDLED: &str = "this message was not handled: the task ended first";

/// The task has ended, so it takes no further message.
pub(crate) fn task_ended(task_id: &str) -> Error {
    Error::unsupported(format!("task {task_id} has ended; send a message without taskId"))
        .with_metadata("taskId", task_id)
}

/// What a message for a task meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reception {
    /// An earlier attempt has delivered it, with this ticket; 0 if it is in the history.
    Joined(u64),
    /// The task has ended.
    Ended,
    /// The task goes on.
    Open,
}

impl LiveTask {
    /// What a message meets; `None` while the task is about to end.
    pub(crate) fn reception(&self, turn: &TurnRequest) -> Option<Reception> {
        if let Some(ticket) = self.turns.ticket_of(&self.task, turn) {
            return Some(Reception::Joined(ticket));
        }
        let reception = if self.has_ended() { Reception::Ended } else { Reception::Open };
        (!self.is_ending()).then_some(reception)
    }

    /// Starts a new task with its first message. The task is visible at once if its sender does not
    /// wait for the response.
    pub(crate) fn begin(
        &mut self,
        turn: TurnRequest,
        creation: Creation,
        sender_waits: bool,
        now: Instant,
    ) {
        self.run.begin(now);
        self.run.set_request(&turn);
        self.run.execution = Some(turn.clone());
        self.turns.begin_first();
        self.creation = creation;
        if !sender_waits {
            self.appear();
        }
        self.start(turn, if sender_waits { StartMode::Inline } else { StartMode::Spawned });
    }

    /// Takes a message: hands it to a waiting executor, queues it behind a running one, or starts a
    /// run. Returns the ticket of the message, 0 if it is already in the history.
    pub(crate) fn take(
        &mut self,
        turn: TurnRequest,
        sender: Sender,
        limits: AdmissionLimits<'_>,
        now: Now,
    ) -> Result<u64, Refusal> {
        let taken = self.admit(turn, sender, limits, now);
        if taken.is_err() {
            // The lease may have been acquired for this message.
            self.release_if_idle();
        }
        taken
    }

    fn admit(
        &mut self,
        turn: TurnRequest,
        sender: Sender,
        limits: AdmissionLimits<'_>,
        now: Now,
    ) -> Result<u64, Refusal> {
        if let Some(failure) = self.persistence.failure() {
            return Err(Refusal::Failed(failure.clone()));
        }
        if let Some(ticket) = self.turns.ticket_of(&self.task, &turn) {
            self.join(ticket, turn.commands, sender);
            return Ok(ticket);
        }
        if self.is_ending() {
            return Err(Refusal::Ending);
        }
        if self.is_closed() || self.run.is_canceling {
            return Err(Refusal::Ended);
        }
        if !self.is_here() {
            return Err(Refusal::NotHolder);
        }
        let is_queued = self.is_at_work();
        if is_queued {
            if self.run.refuses_messages() {
                return Err(Refusal::AtWork);
            }
            let queued = self.turns.queue.len();
            if queued >= limits.max_queued {
                return Err(Refusal::QueueFull(queued));
            }
            if sender == Sender::Leaves && turn.commands.is_empty() {
                return Err(Refusal::NotStored);
            }
        }
        if sender != Sender::HasLeft
            && let Some(limit) = self.refuses(&turn.message, limits.task)
        {
            return Err(Refusal::Limit(limit));
        }
        if !limits.may_run && !self.run.has_slot() {
            return Err(Refusal::TooManyRunning);
        }
        let ticket = self.turns.take_ticket(self.log.last(), &turn);
        if let Some(work) = self.run.work() {
            work.has_slot = true;
            if is_queued {
                let is_acknowledged = sender != Sender::Waits;
                self.turns.queue.push_back(Queued { ticket, turn, is_acknowledged });
            } else {
                self.begin_turn(ticket, &turn, now);
                self.hand(&turn.message);
            }
        } else {
            self.run.begin(now.instant);
            self.effects.begin = true;
            self.begin_turn(ticket, &turn, now);
            let turn = self.resumed(turn);
            self.start(turn, StartMode::Spawned);
        }
        Ok(ticket)
    }

    /// A retry of the message with this ticket.
    fn join(&mut self, ticket: u64, commands: Vec<Arc<str>>, sender: Sender) {
        match self.turns.queued_mut(ticket) {
            Some(queued) => {
                // The command keeps it if this node fails.
                queued.is_acknowledged |= sender != Sender::Waits && !commands.is_empty();
                queued.turn.commands.extend(commands);
            }
            None if ticket > 0 => {
                let begin = self.turns.start;
                commands.into_iter().for_each(|id| self.commands.begun.push((id, begin)));
            }
            None => {}
        }
    }

    /// Adds the acknowledged messages that are still queued to the history, because the task is
    /// about to end with this status. Each is followed by the reason why it is not handled.
    pub(super) fn settle_acknowledged(&mut self, end: &TaskStatusUpdateEvent, now: Now) {
        for Queued { ticket, turn, .. } in self.turns.take_acknowledged() {
            let status = |message| {
                let timestamp = end.status.as_ref().and_then(|status| status.timestamp);
                let status = TaskStatus { state: TaskState::Working.into(), message, timestamp };
                Event::from(TaskStatusUpdateEvent {
                    status: Some(status),
                    ..TaskStatusUpdateEvent::default()
                })
            };
            // The status first, as at the beginning of a turn.
            let begin = self.push(status(None), now);
            for command in turn.commands {
                self.commands.begun.push((command, begin));
            }
            self.turns.begin(ticket, begin);
            self.put(Change::History(Arc::clone(&turn.message)));
            let message_id = format!("{}-not-handled", turn.message.message_id);
            let refusal = self.message(message_id, NOT_HANDLED.to_owned());
            // The status that ends the task moves it into the history.
            self.push(status(Some(refusal)), now);
        }
    }

    /// The reason why the turn of a queued message will never come, if it will not.
    pub(crate) fn never_begins(&self, ticket: u64) -> Option<Error> {
        if self.turns.is_lost(ticket) {
            return Some(Error::unavailable("another node took over the task; retry the request"));
        }
        let never = self.turns.waits(ticket) && (self.has_ended() || !self.run.is_running());
        never.then(|| match self.changes.head.is_terminal() {
            true => task_ended(&self.task.id),
            // This node is shutting down.
            false => Error::unavailable("the server is shutting down; retry the request"),
        })
    }

    /// Queues messages that were acknowledged by a node that failed.
    pub(crate) fn keep_acknowledged(&mut self, turns: Vec<TurnRequest>) {
        for turn in turns {
            if !turn.commands.iter().all(|command| self.commands.take(command)) {
                continue;
            }
            match self.turns.ticket_of(&self.task, &turn) {
                None => {
                    let ticket = self.turns.take_ticket(self.log.last(), &turn);
                    self.turns.queue.push_back(Queued { ticket, turn, is_acknowledged: true });
                }
                Some(0) => {
                    let last = self.log.last();
                    turn.commands.into_iter().for_each(|id| self.commands.begun.push((id, last)));
                }
                Some(ticket) => self.join(ticket, turn.commands, Sender::HasLeft),
            }
        }
    }

    /// Begins the turn of a message: the task is WORKING again, and the message enters the history.
    pub(super) fn begin_turn(&mut self, ticket: u64, turn: &TurnRequest, now: Now) {
        // The status first: it moves the open question into the history, before the answer.
        let start = self.set_state(TaskState::Working, None, now);
        self.turns.begin(ticket, start);
        for command in &turn.commands {
            self.commands.begun.push((Arc::clone(command), self.turns.start));
        }
        if let Some(work) = self.run.work() {
            work.begin_turn(now.instant);
        }
        self.run.execution = Some(turn.clone());
        self.put(Change::History(Arc::clone(&turn.message)));
        // A stream of this turn starts with this snapshot, even if the executor has made progress
        // before the stream is first polled.
        self.turns.opening = turn.streams.then(|| Arc::new(applied(&self.task, self.unseen())));
    }
}
