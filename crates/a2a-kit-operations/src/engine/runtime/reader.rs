//! Readers of a task: cursors into its log.

use std::{
    collections::VecDeque,
    future::Future as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use a2a_core::{Error, Result, TaskState, v1::Task};
use futures_core::Stream;
use tokio::sync::oneshot;

use crate::{
    Event, EventStream, StreamEnd,
    engine::{
        runtime::Handle,
        task::{LiveTask, newest_messages, snapshot},
    },
    metrics,
};

/// Maximum number of events to take out of the log at a time.
const BATCH: usize = 64;

/// Where a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Until {
    /// At the response to a message: a terminal state, INPUT_REQUIRED, or the end of the run.
    Answered,
    /// At a terminal state.
    Terminal,
}

/// What a stream waits for after its opening, before it shows a turn.
#[derive(Debug)]
pub(in crate::engine) enum Begin {
    /// Nothing.
    Now,
    /// The turn of the message with this ticket, which is queued.
    Queued(u64),
    /// The answer of the node on which the message is queued.
    Asked(oneshot::Receiver<Result<u64>>),
    /// The event at this position, written by another node.
    At(u64),
    /// The turn never comes.
    Never(Error),
}

/// Reads the events of a task from a position.
#[derive(Debug)]
pub(in crate::engine) struct Reader {
    handle: Handle,
    until: Until,
    begin: Begin,
    /// Maximum number of messages in the history of a snapshot.
    history: Option<usize>,
    /// The position of the next event.
    next: u64,
    buffer: VecDeque<Event>,
    slot: Option<usize>,
    cursor: Option<usize>,
    done: bool,
}

impl Reader {
    /// Reads from position `next`.
    pub(in crate::engine) fn new(handle: Handle, until: Until, next: u64) -> Self {
        metrics::reader_opened(handle.inner.config.metrics_label);
        Self {
            handle,
            until,
            begin: Begin::Now,
            history: None,
            next,
            buffer: VecDeque::new(),
            slot: None,
            cursor: None,
            done: false,
        }
    }

    /// Reads the current task, and then the events that follow.
    pub(in crate::engine) fn from_now(handle: Handle, until: Until) -> Self {
        // Task and position are read under one lock: no gap, no duplicate.
        let (task, last) = {
            let live = handle.lock();
            (Arc::clone(&live.task), live.log.last())
        };
        Self::from_task(handle, until, last, &task)
    }

    /// Reads a task as of the event at `last`, and then the events that follow.
    pub(in crate::engine) fn from_task(
        handle: Handle,
        until: Until,
        last: u64,
        task: &Task,
    ) -> Self {
        let mut reader = Self::new(handle, until, last + 1);
        reader.buffer.push_back(snapshot(last, task));
        reader
    }

    /// Reads a task as it is now, and then a turn that has not begun yet, up to its response. The
    /// opening has no position: what happens before the turn is not shown.
    pub(in crate::engine) fn queued(handle: Handle, task: &Task, begin: Begin) -> Self {
        let mut reader = Self::new(handle, Until::Answered, 0);
        reader.buffer.push_back(Event::of_task(None, task.clone()));
        reader.begin = begin;
        reader
    }

    /// Limits the history of every snapshot to its newest messages.
    pub(in crate::engine) fn with_history(mut self, limit: Option<usize>) -> Self {
        self.history = limit;
        self
    }

    /// Yields these events first.
    pub(in crate::engine) fn after(mut self, events: Vec<Event>) -> Self {
        self.buffer.extend(events);
        self
    }

    pub(in crate::engine) fn into_stream(self) -> EventStream {
        EventStream::new(self)
    }

    /// Takes available events out of the log, or returns that the stream is over.
    fn refill(&mut self, live: &LiveTask) -> Result<Refill> {
        let stopping = || Error::unavailable("the server is shutting down; subscribe again");
        // Before the question of the stop, which must not look like one of the agent.
        if live.run.was_stopped {
            return Err(stopping());
        }
        if let Some(waits) = self.begin_turn(live) {
            return waits;
        }
        if live.log.read(self.next, BATCH, &mut self.buffer).is_err() {
            return Err(Error::unavailable(
                "the reader fell behind the retained events; subscribe again",
            ));
        }
        if !self.buffer.is_empty() {
            return Ok(Refill::Some);
        }
        if let Some(reply) = &live.reply {
            self.buffer.push_back(reply.clone());
            return Ok(Refill::Some);
        }
        if let Some(error) = live.failure() {
            return Err(error);
        }
        let over = match self.until {
            Until::Answered => !live.run.is_running() && live.is_shown(),
            Until::Terminal => live.has_ended(),
        };
        if over {
            return Ok(Refill::Over);
        }
        if self.handle.inner.draining.is_cancelled() {
            return Err(stopping());
        }
        Ok(Refill::Wait)
    }

    /// Begins to show a queued turn, once it is visible; `None` if there is nothing to wait for.
    fn begin_turn(&mut self, live: &LiveTask) -> Option<Result<Refill>> {
        let begins = match &mut self.begin {
            Begin::Now => return None,
            Begin::Queued(ticket) => {
                if let Some(error) = live.never_begins(*ticket) {
                    return Some(Err(error));
                }
                live.has_begun(*ticket)
            }
            Begin::Asked(_) => false,
            Begin::At(position) => live.log.last() >= *position,
            Begin::Never(error) => {
                let ended = Error::unavailable("the stream has ended");
                return Some(Err(std::mem::replace(error, ended)));
            }
        };
        if !begins {
            return Some(live.failure().map_or(Ok(Refill::Wait), Err));
        }
        let opening = match self.begin {
            Begin::Queued(ticket) if live.turns.current == ticket => live.turns.opening.as_deref(),
            _ => None,
        };
        // A turn that has gone on already is shown from now.
        let (task, position) = match opening {
            Some(task) => (task, live.turns.start),
            None => (&*live.task, live.log.last()),
        };
        self.buffer.push_back(snapshot(position, task));
        self.next = position + 1;
        self.begin = Begin::Now;
        Some(Ok(Refill::Some))
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

    /// Takes what another node has told about the beginning of the turn.
    fn poll_begin(&mut self, cx: &mut Context<'_>) {
        if let Begin::Asked(answer) = &mut self.begin
            && let Poll::Ready(answer) = Pin::new(answer).poll(cx)
        {
            self.begin = match answer {
                Ok(Ok(position)) => Begin::At(position),
                Ok(Err(error)) => Begin::Never(error),
                Err(_closed) => Begin::Never(Error::unavailable(
                    "the node that holds the task did not answer; subscribe again",
                )),
            };
        }
    }

    /// An event with the history that the caller asked for.
    fn limited(&self, event: Event) -> Event {
        match (self.history, event.task()) {
            (Some(limit), Some(task)) if task.history.len() > limit => {
                Event::of_task(event.id(), newest_messages(task, limit))
            }
            _ => event,
        }
    }
}

enum Refill {
    Some,
    Over,
    Wait,
}

impl Stream for Reader {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.done {
            return Poll::Ready(None);
        }
        this.poll_begin(cx);
        loop {
            if let Some(event) = this.buffer.pop_front() {
                if let Some(id) = event.id() {
                    this.next = id.get() + 1;
                }
                this.done = this.is_last(&event);
                return Poll::Ready(Some(Ok(this.limited(event))));
            }
            let entry = this.handle.entry();
            let mut locked = entry.lock();
            let (live, watchers) = locked.watched();
            if matches!(this.begin, Begin::Now) {
                watchers.cursors.note(&mut this.cursor, this.next);
            }
            match this.refill(live) {
                Ok(Refill::Some) => {}
                Ok(Refill::Over) => {
                    this.done = true;
                    return Poll::Ready(None);
                }
                Ok(Refill::Wait) => {
                    watchers.waiters.register(&mut this.slot, cx.waker());
                    return Poll::Pending;
                }
                Err(error) => {
                    this.done = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        metrics::reader_closed(self.handle.inner.config.metrics_label);
        if self.slot.is_some() || self.cursor.is_some() {
            let mut locked = self.handle.lock();
            let (_, watchers) = locked.watched();
            self.slot.into_iter().for_each(|slot| watchers.waiters.forget(slot));
            self.cursor.into_iter().for_each(|slot| watchers.cursors.forget(slot));
        }
    }
}
