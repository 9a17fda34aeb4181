//! The messages of a client to one task, each of which is a turn.

use std::{collections::VecDeque, sync::Arc};

use a2a_core::{
    Role,
    v1::{Message, Task},
};

use crate::CallContext;

/// How many times that a task was lost are remembered for those who wait.
const MAX_LOST: usize = 16;

/// What an executor gets to know of one message.
#[derive(Clone, Debug)]
pub(crate) struct TurnRequest {
    pub(crate) message: Arc<Message>,
    pub(crate) call: Arc<CallContext>,
    pub(crate) accepted_output_modes: Arc<[String]>,
    pub(crate) metadata: Option<Arc<a2a_core::well_known::Struct>>,
    /// Whether the sender reads a stream.
    pub(crate) streams: bool,
    /// Whether the message is the same as one with its id that was taken before.
    pub(crate) joins: bool,
    /// Whether an earlier run for the message was cut off.
    pub(crate) rerun: bool,
    /// The commands that brought the message, where other nodes took it.
    pub(crate) commands: Vec<Arc<str>>,
}

/// A message that waits for its turn.
#[derive(Debug)]
pub(in crate::engine) struct Queued {
    pub(in crate::engine) ticket: u64,
    pub(in crate::engine) turn: TurnRequest,
}

/// The messages of a task: those that wait, the one that is worked on, and those that were lost.
///
/// Each that is accepted gets a ticket, a number that counts up.
#[derive(Debug)]
pub(in crate::engine) struct Turns {
    /// Those that wait, oldest first.
    queue: VecDeque<Queued>,
    /// The ids of messages that were taken and are not in the history yet, with their tickets;
    /// there may be some that are.
    taken: Vec<(String, u64)>,
    /// The ticket of the newest message.
    newest: u64,
    /// The ticket of the message that is worked on, or was last.
    pub(in crate::engine) current: u64,
    /// The position of the event that began its turn.
    pub(in crate::engine) start: u64,
    /// The task at that event, where the turn is streamed.
    pub(in crate::engine) opening: Option<Arc<Task>>,
    /// The tickets of messages that had not begun when another node took over, from and to.
    /// Waiting callers are notified at once, so only the newest few are kept.
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

    /// Notes the first message of a new task, whose turn begins with the task.
    pub(super) fn begin_first(&mut self) {
        self.newest = 1;
        self.current = 1;
    }

    /// Notes that the newest message in the history is worked on again.
    pub(super) fn begin_again(&mut self, last: u64) -> u64 {
        self.newest += 1;
        self.current = self.newest;
        self.start = last;
        self.current
    }

    /// How many messages wait.
    pub(in crate::engine) fn queue_len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(super) fn queued_messages(&self) -> Vec<Arc<Message>> {
        self.queue.iter().map(|queued| Arc::clone(&queued.turn.message)).collect()
    }

    pub(super) fn queued_mut(&mut self, ticket: u64) -> Option<&mut TurnRequest> {
        let mut queue = self.queue.iter_mut();
        queue.find(|queued| queued.ticket == ticket).map(|queued| &mut queued.turn)
    }

    pub(super) fn enqueue(&mut self, ticket: u64, turn: TurnRequest) {
        self.queue.push_back(Queued { ticket, turn });
    }

    pub(super) fn next(&mut self) -> Option<Queued> {
        self.queue.pop_front()
    }

    /// Gives up the messages that wait, and returns the commands that brought them.
    pub(super) fn drain(&mut self) -> Vec<Arc<str>> {
        let current = self.current;
        self.taken.retain(|(_, ticket)| *ticket <= current);
        self.queue.drain(..).flat_map(|queued| queued.turn.commands).collect()
    }

    /// Returns the ticket of a message of the client that was taken; 0 where it is in the history
    /// of the task.
    pub(in crate::engine) fn ticket_of(&self, task: &Task, message_id: &str) -> Option<u64> {
        if has_message(task, message_id) {
            return Some(0);
        }
        let mut taken = self.taken.iter();
        taken.find(|(taken, _)| taken == message_id).map(|(_, ticket)| *ticket)
    }

    /// Gives a message its ticket.
    pub(super) fn take_ticket(&mut self, task: &Task, message_id: &str) -> u64 {
        self.taken.retain(|(id, _)| !has_message(task, id));
        self.newest += 1;
        self.taken.push((message_id.to_owned(), self.newest));
        self.newest
    }

    /// Gives up what was not stored: another node goes on from the event at `last`.
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
            // The turn before it is seen, whatever follows elsewhere.
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

    /// Returns whether a message was lost before its turn began, though later ones may have begun.
    pub(in crate::engine) fn is_lost(&self, ticket: u64) -> bool {
        self.lost.iter().any(|(first, last)| (*first..=*last).contains(&ticket))
    }
}

/// Returns whether a message of the client is in the history.
fn has_message(task: &Task, message_id: &str) -> bool {
    let is_same =
        |message: &Message| message.role() == Role::User && message.message_id == message_id;
    task.history.iter().any(is_same)
}
