//! A reader of a task: a cursor into its log.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use a2a_core::{Error, Result, TaskState};
use futures_core::Stream;

use crate::{
    Event, EventStream, Settled,
    engine::{
        runtime::Handle,
        task::{LiveTask, snapshot},
    },
    metrics,
};

/// How many events a reader takes out of the log at a time.
const BATCH: usize = 64;

/// Where a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Until {
    /// Where the answer to a message is: a terminal state, INPUT_REQUIRED, or the end of the
    /// executor.
    Answered,
    /// At a terminal state.
    Terminal,
}

/// Reads the events of a task from a position on.
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
    /// Reads from position `next` on.
    pub(in crate::engine) fn new(handle: Handle, until: Until, next: u64) -> Self {
        metrics::reader_opened();
        let buffer = VecDeque::new();
        Self { handle, until, next, buffer, slot: None, cursor: None, done: false }
    }

    /// Reads the task as it is now, and then what follows.
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

    /// Gives these events first.
    pub(in crate::engine) fn after(mut self, events: Vec<Event>) -> Self {
        self.buffer.extend(events);
        self
    }

    pub(in crate::engine) fn into_stream(self) -> EventStream {
        EventStream::new(self)
    }

    /// Takes what is ready out of the log, or says that nothing more comes.
    fn refill(&mut self, live: &LiveTask) -> Result<Refill> {
        if live.log.read(self.next, BATCH, &mut self.buffer).is_err() {
            return Err(Error::unavailable(
                "the reader fell behind what is kept of the task; subscribe again",
            ));
        }
        if !self.buffer.is_empty() {
            return Ok(Refill::Some);
        }
        if let Some(reply) = &live.reply {
            self.buffer.push_back(reply.clone());
            return Ok(Refill::Some);
        }
        if live.disk.has_failed() {
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
            return Err(Error::unavailable("the server is shutting down; subscribe again"));
        }
        Ok(Refill::Wait)
    }

    fn is_last(&self, event: &Event) -> bool {
        match event.settled() {
            Settled::No => false,
            Settled::Finally => true,
            Settled::Interrupted(state) => {
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
        metrics::reader_closed();
        if self.slot.is_some() || self.cursor.is_some() {
            let mut locked = self.handle.lock();
            let (_, watchers) = locked.watched();
            self.slot.into_iter().for_each(|slot| watchers.waiters.forget(slot));
            self.cursor.into_iter().for_each(|slot| watchers.cursors.forget(slot));
        }
    }
}
