//! Turns: the client messages to one task.

use std::{collections::VecDeque, sync::Arc};

use a2a_core::{
    Role,
    v1::{Message, Task},
};

use crate::CallContext;

/// Number of losses to remember for waiting callers.
const MAX_LOST: usize = 16;

/// One message for an executor.
#[derive(Clone, Debug)]
pub(crate) struct TurnRequest {
    pub(crate) message: Arc<Message>,
    pub(crate) call: Arc<CallContext>,
    pub(crate) accepted_output_modes: Arc<[String]>,
    pub(crate) metadata: Option<Arc<a2a_core::well_known::Struct>>,
    /// Whether the sender reads a stream.
    pub(crate) streams: bool,
    /// Whether the message is a retry of an earlier one with the same id.
    pub(crate) joins: bool,
    /// Whether an earlier run for the message was interrupted.
    pub(crate) rerun: bool,
    /// Whether the message belongs to a run that cannot be repeated.
    pub(crate) is_lost: bool,
    /// The commands that carried the message from other nodes.
    pub(crate) commands: Vec<Arc<str>>,
}

/// A queued message.
#[derive(Debug)]
pub(in crate::engine) struct Queued {
    pub(in crate::engine) ticket: u64,
    pub(in crate::engine) turn: TurnRequest,
    /// Whether its sender was told that it is kept.
    pub(in crate::engine) is_acknowledged: bool,
}

/// The messages of a task: queued, current, and lost.
///
/// Each accepted message gets a ticket, an increasing number.
#[derive(Debug)]
pub(in crate::engine) struct Turns {
    /// Queued messages, oldest first.
    queue: VecDeque<Queued>,
    /// Ids of accepted messages that may not be in the history yet, with their tickets.
    taken: Vec<(String, u64)>,
    /// The ticket of the newest message.
    newest: u64,
    /// The ticket of the current or last message.
    pub(in crate::engine) current: u64,
    /// The position of the event that began its turn.
    pub(in crate::engine) start: u64,
    /// The task at that event, if the turn is streamed.
    pub(in crate::engine) opening: Option<Arc<Task>>,
    /// Ranges of tickets that had not begun when another node took over. Waiting callers are
    /// notified at once, so only the newest few are kept.
    lost: VecDeque<(u64, u64)>,
}

impl Turns {
    /// The turns of a task whose newest event is at `last`.
    pub(super) fn new(last: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            taken: Vec::new(),
            newest: 0,
            current: 0,
            start: last + 1,
            opening: None,
            lost: VecDeque::new(),
        }
    }

    /// The first message of a new task; its turn begins with the task.
    pub(super) fn begin_first(&mut self) {
        self.newest = 1;
        self.current = 1;
    }

    /// Restarts the turn of the newest message in the history.
    pub(super) fn begin_again(&mut self, last: u64) -> u64 {
        self.newest += 1;
        self.current = self.newest;
        self.start = last;
        self.current
    }

    /// The number of queued messages.
    pub(in crate::engine) fn queue_len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(super) fn queued_messages(&self) -> Vec<Arc<Message>> {
        self.queue.iter().map(|queued| Arc::clone(&queued.turn.message)).collect()
    }

    pub(super) fn queued_mut(&mut self, ticket: u64) -> Option<&mut Queued> {
        self.queue.iter_mut().find(|queued| queued.ticket == ticket)
    }

    pub(super) fn enqueue(&mut self, queued: Queued) {
        self.queue.push_back(queued);
    }

    /// Returns whether the sender of a queued message was told that it is kept.
    pub(in crate::engine) fn is_acknowledged(&self, ticket: u64) -> bool {
        let mut queue = self.queue.iter();
        queue.any(|queued| queued.ticket == ticket && queued.is_acknowledged)
    }

    /// Takes the acknowledged messages out of the queue, oldest first.
    pub(super) fn take_acknowledged(&mut self) -> Vec<Queued> {
        if !self.queue.iter().any(|queued| queued.is_acknowledged) {
            return Vec::new();
        }
        let queue = std::mem::take(&mut self.queue).into_iter();
        let (taken, left): (Vec<_>, Vec<_>) = queue.partition(|queued| queued.is_acknowledged);
        self.queue = left.into();
        taken
    }

    pub(super) fn next(&mut self) -> Option<Queued> {
        self.queue.pop_front()
    }

    /// Drops the queued messages, and returns the commands that carried them.
    pub(super) fn drain(&mut self) -> Vec<Arc<str>> {
        let current = self.current;
        self.taken.retain(|(_, ticket)| *ticket <= current);
        self.queue.drain(..).flat_map(|queued| queued.turn.commands).collect()
    }

    /// Returns the ticket of an accepted message; 0 if it is in the history of the task.
    pub(in crate::engine) fn ticket_of(&self, task: &Task, message_id: &str) -> Option<u64> {
        if has_message(task, message_id) {
            return Some(0);
        }
        let mut taken = self.taken.iter();
        taken.find(|(taken, _)| taken == message_id).map(|(_, ticket)| *ticket)
    }

    /// Assigns a ticket to a message.
    pub(super) fn take_ticket(&mut self, task: &Task, message_id: &str) -> u64 {
        self.taken.retain(|(id, _)| !has_message(task, id));
        self.newest += 1;
        self.taken.push((message_id.to_owned(), self.newest));
        self.newest
    }

    /// Drops what was not stored: another node continues after the event at `last`.
    pub(super) fn lose(&mut self, task: &Task, last: u64) {
        self.queue.clear();
        let taken = std::mem::take(&mut self.taken);
        let first_lost = taken.iter().find(|(id, _)| !has_message(task, id));
        let begun = self.start <= last;
        if !begun {
            self.current = self.current.saturating_sub(1);
        }
        if let Some((_, ticket)) = first_lost {
            // Several turns may have begun of which none was stored.
            self.current = self.current.min(ticket - 1);
        }
        if !begun {
            // The previous turn is visible, whatever follows elsewhere.
            self.start = last;
            self.opening = None;
        }
        if self.current < self.newest {
            self.lost.push_back((self.current + 1, self.newest));
            if self.lost.len() > MAX_LOST {
                self.lost.pop_front();
            }
        }
    }

    /// Returns whether a message was lost before its turn began.
    pub(in crate::engine) fn is_lost(&self, ticket: u64) -> bool {
        self.lost.iter().any(|(first, last)| (*first..=*last).contains(&ticket))
    }
}

/// Returns whether a client message is in the history.
fn has_message(task: &Task, message_id: &str) -> bool {
    let is_same =
        |message: &Message| message.role() == Role::User && message.message_id == message_id;
    task.history.iter().any(is_same)
}
