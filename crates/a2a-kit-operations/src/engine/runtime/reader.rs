//! Readers of a task: cursors into its log.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
};

use a2a_core::{Error, Result};
use futures_core::Stream;
use tokio::sync::oneshot;

use crate::{
    Event, EventStream,
    engine::{
        runtime::Handle,
        task::{Begin, Cursor, Refill, Until, stopping},
    },
    metrics::Counted,
};

/// Reads the events of a task from a position.
#[derive(Debug)]
pub(crate) struct Reader {
    handle: Handle,
    pub(crate) cursor: Cursor,
    /// The answer of the node on which the message is queued.
    pub(crate) asked: Option<oneshot::Receiver<Result<u64>>>,
    /// The slots of the waker and of the position.
    waiter: Option<usize>,
    position: Option<usize>,
    _counted: Counted,
}

impl Reader {
    pub(crate) fn new(handle: Handle, cursor: Cursor) -> Self {
        let _counted = Counted::reader(handle.inner.config.metrics_label);
        Self { handle, cursor, asked: None, waiter: None, position: None, _counted }
    }

    /// Reads the current task, and then the events that follow.
    pub(crate) fn from_now(handle: Handle, until: Until) -> Self {
        // Task and position are read under one lock: no gap, no duplicate.
        let (task, last) = handle.lock().visible();
        Self::new(handle, Cursor::from_task(until, last, &task))
    }

    pub(crate) fn into_stream(self) -> EventStream {
        EventStream::new(self)
    }

    /// Takes what another node has told about the beginning of the turn.
    fn poll_begin(&mut self, cx: &mut Context<'_>) {
        if let Some(asked) = &mut self.asked
            && let Poll::Ready(answer) = Pin::new(asked).poll(cx)
        {
            self.asked = None;
            self.cursor.begin = match answer {
                Ok(Ok(position)) => Begin::At(position),
                Ok(Err(error)) => Begin::Never(error),
                Err(_closed) => Begin::Never(Error::unavailable(
                    "the node that holds the task did not answer; subscribe again",
                )),
            };
        }
    }
}

impl Stream for Reader {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.cursor.done {
            return Poll::Ready(None);
        }
        this.poll_begin(cx);
        loop {
            if let Some(event) = this.cursor.pop() {
                return Poll::Ready(Some(Ok(event)));
            }
            let mut locked = this.handle.lock();
            let (live, watchers) = locked.watched();
            if let Some(position) = this.cursor.position() {
                watchers.cursors.note(&mut this.position, position);
            }
            let end = match live.read_events(&mut this.cursor) {
                Ok(Refill::Some) => continue,
                Ok(Refill::Over) => None,
                Ok(Refill::Wait)
                    if this.cursor.position().is_some()
                        && this.handle.inner.draining.is_cancelled() =>
                {
                    Some(Err(stopping()))
                }
                Ok(Refill::Wait) => {
                    watchers.waiters.register(&mut this.waiter, cx.waker());
                    return Poll::Pending;
                }
                Err(error) => Some(Err(error)),
            };
            this.cursor.done = true;
            return Poll::Ready(end);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.waiter.is_some() || self.position.is_some() {
            let mut locked = self.handle.lock();
            let (_, watchers) = locked.watched();
            self.waiter.into_iter().for_each(|slot| watchers.waiters.forget(slot));
            self.position.into_iter().for_each(|slot| watchers.cursors.forget(slot));
        }
    }
}
