//! A cursor into the events of a task.

use std::{collections::VecDeque, sync::Arc};

use a2a_core::{Error, Result, TaskState, v1::Task};

use super::{LiveTask, snapshot};
use crate::{Event, StreamEnd, store::TaskView};

/// Maximum number of events to take out of the log at a time.
const BATCH: usize = 64;

/// Where a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// At the response to a message: a terminal state, INPUT_REQUIRED, or the end of the run.
    Answered,
    /// At a terminal state.
    Terminal,
}

/// What a stream waits for after its opening, before it shows a turn.
#[derive(Debug)]
pub(crate) enum Begin {
    /// Nothing.
    Now,
    /// The turn of the message with this ticket, which is queued.
    Queued(u64),
    /// What the node says on which the message is queued.
    Unknown,
    /// The event at this position, written by another node.
    At(u64),
    /// The turn never comes.
    Never(Error),
}

/// The events of a task from a position.
#[derive(Debug)]
pub(crate) struct Cursor {
    until: Until,
    pub(crate) begin: Begin,
    /// Maximum number of messages in the history of a snapshot.
    pub(crate) history: Option<usize>,
    /// The position of the next event.
    next: u64,
    buffer: VecDeque<Event>,
    /// Whether nothing follows.
    pub(crate) done: bool,
}

impl Cursor {
    /// The events from position `next`.
    pub(crate) fn new(until: Until, next: u64) -> Self {
        let (begin, buffer) = (Begin::Now, VecDeque::new());
        Self { until, begin, history: None, next, buffer, done: false }
    }

    /// A task as of the event at `last`, and then the events that follow.
    pub(crate) fn from_task(until: Until, last: u64, task: &Task) -> Self {
        Self::new(until, last + 1).after([snapshot(last, task)])
    }

    /// A task as it is now, and then a turn that has not begun yet, up to its response. The opening
    /// has no position: what happens before the turn is not shown.
    pub(crate) fn queued(task: &Task, begin: Begin) -> Self {
        let opening = Event::of_task(None, task.clone());
        Self { begin, ..Self::new(Until::Answered, 0).after([opening]) }
    }

    /// Yields these events first.
    pub(crate) fn after(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self.buffer.extend(events);
        self
    }

    /// The position of the next event, if the turn has begun.
    pub(crate) fn position(&self) -> Option<u64> {
        matches!(self.begin, Begin::Now).then_some(self.next)
    }

    /// Takes the next event that was read.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = self.buffer.pop_front()?;
        if let Some(id) = event.id() {
            self.next = id.get() + 1;
        }
        self.done = self.is_last(&event);
        Some(self.limited(event))
    }

    fn is_last(&self, event: &Event) -> bool {
        if !matches!(self.begin, Begin::Now) {
            return false;
        }
        match event.stream_end() {
            StreamEnd::Open => false,
            StreamEnd::Terminal => true,
            StreamEnd::Interrupted(state) => {
                self.until == Until::Answered && state == TaskState::InputRequired
            }
        }
    }

    /// An event with the history that the caller asked for.
    fn limited(&self, event: Event) -> Event {
        match (self.history, event.task()) {
            (Some(limit), Some(task)) if task.history.len() > limit => {
                Event::of_task(event.id(), TaskView::of_history(Some(limit)).copy(task))
            }
            _ => event,
        }
    }
}

/// What a cursor has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refill {
    Some,
    /// Nothing, and nothing follows.
    Over,
    /// Nothing yet.
    Wait,
}

/// The engine is shutting down.
pub(crate) fn stopping() -> Error {
    Error::unavailable("the server is shutting down; subscribe again")
}

impl LiveTask {
    /// Reads available events at a cursor.
    pub(crate) fn read_events(&self, cursor: &mut Cursor) -> Result<Refill> {
        // Before the question of the stop, which must not look like one of the agent.
        if self.run.was_stopped {
            return Err(stopping());
        }
        if !matches!(cursor.begin, Begin::Now) {
            return self.begin_showing(cursor);
        }
        if self.log.read(cursor.next, BATCH, &mut cursor.buffer).is_err() {
            return Err(Error::unavailable(
                "the reader fell behind the retained events; subscribe again",
            ));
        }
        if !cursor.buffer.is_empty() {
            return Ok(Refill::Some);
        }
        if let Some(reply) = &self.reply {
            cursor.buffer.push_back(reply.clone());
            return Ok(Refill::Some);
        }
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let is_over = match cursor.until {
            Until::Answered => !self.run.is_running() && self.is_shown(),
            Until::Terminal => self.has_ended(),
        };
        Ok(if is_over { Refill::Over } else { Refill::Wait })
    }

    /// Begins to show a queued turn, once it is visible.
    fn begin_showing(&self, cursor: &mut Cursor) -> Result<Refill> {
        let begins = match &mut cursor.begin {
            Begin::Now => true,
            Begin::Queued(ticket) => match self.never_begins(*ticket) {
                Some(error) => return Err(error),
                None => self.has_begun(*ticket),
            },
            Begin::Unknown => false,
            Begin::At(position) => self.log.last() >= *position,
            Begin::Never(error) => {
                let ended = Error::unavailable("the stream has ended");
                return Err(std::mem::replace(error, ended));
            }
        };
        if !begins {
            return self.failure().map_or(Ok(Refill::Wait), Err);
        }
        let opening = match cursor.begin {
            Begin::Queued(ticket) if self.turns.current == ticket => self.turns.opening.as_ref(),
            _ => None,
        };
        // A turn that has gone on already is shown from now.
        let (task, position): (&Arc<Task>, _) = match opening {
            Some(task) => (task, self.turns.start),
            None => (&self.task, self.log.last()),
        };
        cursor.buffer.push_back(snapshot(position, task));
        cursor.next = position + 1;
        cursor.begin = Begin::Now;
        Ok(Refill::Some)
    }
}
