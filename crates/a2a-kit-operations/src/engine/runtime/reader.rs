//! Readers of a task: cursors into its log.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use a2a_core::{Error, Result, TaskState};
use futures_core::Stream;

use crate::{
    Event, EventStream, StreamEnd,
    engine::{
        runtime::Handle,
        task::{LiveTask, snapshot},
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

/// Reads the events of a task from a position.
#[derive(Debug)]
pub(in crate::engine) struct Reader {
    handle: Handle,
    until: Until,
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
        let buffer = VecDeque::new();
        Self { handle, until, next, buffer, slot: None, cursor: None, done: false }
    }

    /// Reads the current task, and then the events that follow.
    pub(in crate::engine) fn from_now(handle: Handle, until: Until) -> Self {
        // Task and position are read under one lock: no gap, no duplicate.
        let (task, last) = {
            let live = handle.lock();
            (Arc::clone(&live.task), live.log.last())
        };
        let mut reader = Self::new(handle, until, last + 1);
        reader.buffer.push_back(snapshot(last, &task));
        reader
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
        if live.persistence.has_failed() {
            return Err(live.failure());
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

    fn is_last(&self, event: &Event) -> bool {
        match event.stream_end() {
            StreamEnd::Open => false,
            StreamEnd::Terminal => true,
            StreamEnd::Interrupted(state) => {
                self.until == Until::Answered && state == TaskState::InputRequired
            }
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
        loop {
            if let Some(event) = this.buffer.pop_front() {
                if let Some(id) = event.id() {
                    this.next = id.get() + 1;
                }
                this.done = this.is_last(&event);
                return Poll::Ready(Some(Ok(event)));
            }
            let entry = this.handle.entry();
            let mut locked = entry.lock();
            let (live, watchers) = locked.watched();
            watchers.cursors.note(&mut this.cursor, this.next);
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
