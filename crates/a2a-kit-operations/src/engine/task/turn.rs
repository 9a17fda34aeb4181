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
    /// The idempotency key of the message, if it has one.
    pub(crate) key: Option<Arc<str>>,
    /// The number of client messages before which no attempt at this message can be; 0 for a retry
    /// of an earlier one. `None` without a key, as clients reuse ids.
    pub(crate) joins_from: Option<usize>,
    /// Whether an earlier run for the message was interrupted.
    pub(crate) rerun: bool,
    /// Whether the message belongs to a run that cannot be repeated.
    pub(crate) is_lost: bool,
    /// The commands that carried the message from other nodes.
    pub(crate) commands: Vec<Arc<str>>,
}

/// A queued message.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(super) ticket: u64,
    pub(super) turn: TurnRequest,
    /// Whether its sender was told that it is kept.
    pub(super) is_acknowledged: bool,
}

/// An accepted message that may not be in the history yet.
#[derive(Debug)]
struct Taken {
    message: Arc<Message>,
    key: Option<Arc<str>>,
    ticket: u64,
    /// The position of the event that began its turn.
    start: Option<u64>,
}

impl Taken {
    /// Returns whether its turn begins with an event up to this position.
    fn is_stored(&self, last: u64) -> bool {
        self.start.is_some_and(|start| start <= last)
    }
}

impl TurnRequest {
    /// Returns whether the key is the id of the message, so that no other message has this id.
    fn is_keyed_by_id(&self) -> bool {
        let key = self.key.as_deref().and_then(|key| key.split_once(':'));
        key.is_some_and(|(_, key)| key == self.message.message_id)
    }
}

/// The messages of a task: queued, current, and lost.
///
/// Each accepted message gets a ticket, an increasing number.
#[derive(Debug)]
pub(crate) struct Turns {
    /// Queued messages, oldest first.
    pub(super) queue: VecDeque<Queued>,
    /// Accepted messages that may not be in the history yet, with their tickets.
    taken: Vec<Taken>,
    /// The ticket of the newest message.
    newest: u64,
    /// The ticket of the current or last message.
    pub(super) current: u64,
    /// The position of the event that began its turn.
    pub(super) start: u64,
    /// The task at that event, if the turn is streamed.
    pub(super) opening: Option<Arc<Task>>,
    /// Ranges of tickets that had not begun when another node took over. Waiting callers are
    /// notified at once, so only the newest few are kept.
    lost: VecDeque<(u64, u64)>,
    /// Tickets of queued messages that were passed over, because the task is about to end.
    skipped: Vec<u64>,
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
            skipped: Vec::new(),
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

    pub(super) fn queued_messages(&self) -> Vec<Arc<Message>> {
        self.queue.iter().map(|queued| Arc::clone(&queued.turn.message)).collect()
    }

    pub(super) fn queued_mut(&mut self, ticket: u64) -> Option<&mut Queued> {
        self.queue.iter_mut().find(|queued| queued.ticket == ticket)
    }

    /// Returns whether the sender of a queued message was told that it is kept.
    pub(super) fn is_acknowledged(&self, ticket: u64) -> bool {
        let mut queue = self.queue.iter();
        queue.any(|queued| queued.ticket == ticket && queued.is_acknowledged)
    }

    /// Takes the acknowledged messages out of the queue, oldest first, and passes over the others.
    pub(super) fn take_acknowledged(&mut self) -> Vec<Queued> {
        if !self.queue.iter().any(|queued| queued.is_acknowledged) {
            return Vec::new();
        }
        let queue = std::mem::take(&mut self.queue).into_iter();
        let (taken, left): (Vec<_>, Vec<_>) = queue.partition(|queued| queued.is_acknowledged);
        self.skipped = left.iter().map(|queued| queued.ticket).collect();
        self.queue = left.into();
        taken
    }

    /// Drops the queued messages, and returns the commands that carried them.
    pub(super) fn drain(&mut self) -> Vec<Arc<str>> {
        if self.queue.is_empty() {
            return Vec::new();
        }
        let waits: Vec<_> = self.queue.iter().map(|queued| queued.ticket).collect();
        self.taken.retain(|taken| !waits.contains(&taken.ticket));
        self.queue.drain(..).flat_map(|queued| queued.turn.commands).collect()
    }

    /// Returns the ticket of an earlier attempt at a message; 0 if it is in the history of the task.
    ///
    /// The first attempt may be delivered after a retry that was handled, by the node that sent it
    /// or from the store. As clients reuse ids, only a message with the same content is an attempt,
    /// unless its key is the id.
    pub(super) fn ticket_of(&self, task: &Task, turn: &TurnRequest) -> Option<u64> {
        let from = turn.joins_from?;
        let by_id = turn.is_keyed_by_id();
        let is_same = |message: &Message| {
            message.message_id == turn.message.message_id
                && (by_id || message.parts == turn.message.parts)
        };
        if client_messages(task).skip(from).any(is_same) {
            return Some(0);
        }
        let mut taken = self.taken.iter();
        taken
            .find(|taken| {
                taken.message.message_id == turn.message.message_id && taken.key == turn.key
            })
            .map(|taken| taken.ticket)
    }

    /// Assigns a ticket to a message of a task whose newest event is at `last`.
    pub(super) fn take_ticket(&mut self, last: u64, turn: &TurnRequest) -> u64 {
        self.taken.retain(|taken| !taken.is_stored(last));
        self.newest += 1;
        let (message, key) = (Arc::clone(&turn.message), turn.key.clone());
        self.taken.push(Taken { message, key, ticket: self.newest, start: None });
        self.newest
    }

    /// Begins the turn of a message with the event at `start`.
    pub(super) fn begin(&mut self, ticket: u64, start: u64) {
        self.current = ticket;
        self.start = start;
        self.opening = None;
        if let Some(taken) = self.taken.iter_mut().find(|taken| taken.ticket == ticket) {
            taken.start = Some(start);
        }
    }

    /// Drops what was not stored: another node continues after the event at `last`.
    pub(super) fn lose(&mut self, last: u64) {
        self.queue.clear();
        let taken = std::mem::take(&mut self.taken);
        let first_lost = taken.iter().find(|taken| !taken.is_stored(last));
        let begun = self.start <= last;
        if !begun {
            self.current = self.current.saturating_sub(1);
        }
        if let Some(Taken { ticket, .. }) = first_lost {
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

    /// Returns whether a message waits for a turn that has not begun.
    pub(super) fn waits(&self, ticket: u64) -> bool {
        ticket > self.current || self.skipped.contains(&ticket)
    }

    /// Returns whether a message was lost before its turn began.
    pub(super) fn is_lost(&self, ticket: u64) -> bool {
        self.lost.iter().any(|(first, last)| (*first..=*last).contains(&ticket))
    }
}

fn client_messages(task: &Task) -> impl Iterator<Item = &Message> {
    task.history.iter().filter(|message| message.role() == Role::User)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(text: &str, joins_from: Option<usize>) -> TurnRequest {
        TurnRequest {
            message: Arc::new(Message { message_id: "m".into(), ..Message::user(text) }),
            call: Arc::default(),
            accepted_output_modes: Arc::default(),
            metadata: None,
            streams: false,
            key: Some("key".into()),
            joins_from,
            rerun: false,
            is_lost: false,
            commands: Vec::new(),
        }
    }

    #[test]
    fn first_attempt_that_comes_after_its_retry_joins_it() {
        let message = |text: &str| Message { message_id: "m".into(), ..Message::user(text) };
        let task = Task { history: vec![message("one"), message("two")], ..Task::default() };
        let turns = Turns::new(1);
        let ticket = |text, from| turns.ticket_of(&task, &turn(text, from));
        assert_eq!(ticket("two", Some(1)), Some(0), "the retry was handled first");
        assert_eq!(ticket("three", Some(1)), None, "another message with the same id");
        assert_eq!(ticket("one", Some(1)), None, "an earlier message with the same id");
        assert_eq!(ticket("one", Some(0)), Some(0), "a retry");
        assert_eq!(ticket("three", Some(0)), None, "a retry of an attempt that was lost");
        assert_eq!(ticket("two", None), None, "without a key");
        let mut changed = turn("changed by an extension", Some(0));
        assert_eq!(turns.ticket_of(&task, &changed), None);
        changed.key = Some("key:m".into());
        assert_eq!(turns.ticket_of(&task, &changed), Some(0), "the key is the id");
    }

    #[test]
    fn retry_joins_a_message_that_is_not_stored_yet_though_another_one_has_its_id() {
        let message = |text: &str| Message { message_id: "m".into(), ..Message::user(text) };
        let task = Task { history: vec![message("one")], ..Task::default() };
        let mut turns = Turns::new(1);
        let ticket = turns.take_ticket(1, &turn("two", Some(1)));
        turns.begin(ticket, 2);
        let other = TurnRequest { key: Some("other".into()), ..turn("three", Some(1)) };
        let next = turns.take_ticket(1, &other);
        assert_eq!(turns.ticket_of(&task, &turn("two", Some(1))), Some(ticket));
        assert_eq!(turns.ticket_of(&task, &turn("two", Some(0))), Some(ticket));
        assert_eq!(turns.ticket_of(&task, &other), Some(next));
    }
}
