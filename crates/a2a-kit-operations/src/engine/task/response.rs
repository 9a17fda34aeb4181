//! The response to a message, and the opening of its stream.

use std::{collections::VecDeque, sync::Arc};

use a2a_core::{
    Result,
    v1::{Message, Task},
};

use super::{Change, LiveTask};
use crate::Event;

/// The turn whose response the sender of a message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SentTurn {
    /// The turn of the message with this ticket; 0 joins the task as it is.
    Here(u64),
    /// A turn on another node, which begins with the event at this position.
    Elsewhere(u64),
}

/// The response to a message.
#[derive(Debug)]
pub(crate) enum Response {
    /// A message in place of a task.
    Reply(Event),
    /// The task as it was when the message was answered.
    Task(Arc<Task>),
    /// The task as it is now.
    Newest,
    /// The task that took over the idempotency key responds instead.
    Superseded(Arc<str>),
}

/// How the stream of a message opens.
#[derive(Debug)]
pub(crate) enum Opening {
    /// With the current task, before the turn of the message.
    Queued,
    /// With the first event of the task.
    First,
    /// With the task at the event that began the turn.
    At(Arc<Task>, u64),
    /// With the task as it is now.
    Newest,
    /// The task that took over the idempotency key is streamed instead.
    Superseded(Arc<str>),
}

/// A turn on another node.
#[derive(Debug)]
pub(crate) struct RemoteTurn {
    /// The position of its first event.
    pub(crate) begun: u64,
    /// The task before the turn, its position, and the message.
    pub(crate) before: Arc<Task>,
    pub(crate) last: u64,
    pub(crate) message: Arc<Message>,
}

impl LiveTask {
    /// The response to a message; `None` while there is none. A sender that does not wait gets it
    /// when its message is stored.
    pub(crate) fn response(
        &self,
        turn: SentTurn,
        return_immediately: bool,
    ) -> Option<Result<Response>> {
        if let Some(reply) = &self.reply {
            return Some(Ok(Response::Reply(reply.clone())));
        }
        if let Some(task_id) = self.persistence.superseded() {
            return Some(Ok(Response::Superseded(Arc::clone(task_id))));
        }
        if let Some(error) = self.failure() {
            return Some(Err(error));
        }
        let (is_stored, is_answered) = match turn {
            SentTurn::Elsewhere(begun) => (self.log.last() >= begun, !self.run.is_running()),
            SentTurn::Here(ticket) => {
                if let Some(refused) = self.never_begins(ticket) {
                    return Some(Err(refused));
                }
                let has_begun = self.has_begun(ticket);
                // What is acknowledged is stored: its turn, or the command that carries it.
                let is_kept = return_immediately && self.turns.is_acknowledged(ticket);
                // A later turn becomes visible only after all of this one.
                let is_past = ticket > 0 && self.turns.current > ticket;
                let is_over = !self.run.is_running() && self.is_shown();
                (self.is_stored() && (has_begun || is_kept), is_past || is_over)
            }
        };
        if !is_stored {
            return None;
        }
        if return_immediately {
            return Some(Ok(Response::Newest));
        }
        let is_answered = is_answered || self.task.state().is_settled();
        is_answered.then(|| Ok(Response::Task(Arc::clone(&self.task))))
    }

    /// How the stream of the message with this ticket opens; `None` while that is not known.
    /// `is_shared` tells whether another node may take over its idempotency key.
    pub(crate) fn opening(&self, ticket: u64, is_shared: bool) -> Option<Result<Opening>> {
        if ticket > self.turns.current {
            return Some(Ok(Opening::Queued));
        }
        if ticket == 1 && self.turns.start <= 1 {
            let is_known =
                self.is_stored() || self.reply.is_some() || self.persistence.has_failed();
            if is_shared && self.creation.key.is_some() && !is_known {
                return None;
            }
            let superseded = self.persistence.superseded().cloned();
            return Some(Ok(superseded.map_or(Opening::First, Opening::Superseded)));
        }
        if let Some(error) = self.failure().or_else(|| self.never_begins(ticket)) {
            return Some(Err(error));
        }
        if ticket == 0 {
            let is_reply = self.reply.is_some();
            let opening = if is_reply { Opening::First } else { Opening::Newest };
            return (is_reply || self.is_stored()).then_some(Ok(opening));
        }
        let opening = self.turns.opening.as_ref().filter(|_| self.turns.current == ticket);
        let opening =
            opening.map_or(Opening::Newest, |task| Opening::At(Arc::clone(task), self.turns.start));
        self.has_begun(ticket).then_some(Ok(opening))
    }

    /// The task at the start of a turn on another node, if nothing else happened in between; `None`
    /// while the turn is not visible.
    pub(crate) fn remote_opening(&self, turn: &RemoteTurn) -> Option<Result<Option<Task>>> {
        if let Some(error) = self.failure() {
            return Some(Err(error));
        }
        (self.log.last() >= turn.begun).then(|| Ok(self.task_at(turn)))
    }

    fn task_at(&self, turn: &RemoteTurn) -> Option<Task> {
        let mut events = VecDeque::new();
        if turn.last + 1 != turn.begun {
            return None;
        }
        self.log.read(turn.begun, 1, &mut events).ok()?;
        let mut task = Task::clone(&turn.before);
        Change::Event(events.pop_front()?).apply(&mut task);
        Change::History(Arc::clone(&turn.message)).apply(&mut task);
        Some(task)
    }

    /// Returns whether the turn of a message, or a later one, has visibly begun.
    pub(super) fn has_begun(&self, ticket: u64) -> bool {
        ticket == 0 || !self.turns.waits(ticket) && self.log.last() >= self.turns.start
    }

    /// Returns whether every event is visible. Changes being written are neither pending nor in the
    /// log.
    pub(super) fn is_shown(&self) -> bool {
        self.changes.pending.is_empty() && self.log.last() >= self.changes.last
    }
}
