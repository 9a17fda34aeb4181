//! A stream of events that cannot be truncated silently.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use a2a_core::{Error, Result};
use futures_core::Stream;

use crate::{Event, event::StreamEnd};

/// The events of a task, or the one message that responds to a send.
///
/// After an `Err` item the stream ends. A stream that ends without one ended at a message, a
/// terminal or an interrupted state: a source that stops anywhere else gets an `Err` of kind
/// [`Unavailable`](a2a_core::ErrorKind::Unavailable) as its last item.
///
/// Dropping the stream detaches the reader and cancels nothing.
pub struct EventStream {
    inner: Pin<Box<dyn Stream<Item = Result<Event>> + Send>>,
    settled: bool,
    ended: bool,
}

impl EventStream {
    /// Wraps a source of events.
    pub fn new(events: impl Stream<Item = Result<Event>> + Send + 'static) -> Self {
        Self { inner: Box::pin(events), settled: false, ended: false }
    }
}

impl Stream for EventStream {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let item = ready!(self.inner.as_mut().poll_next(cx));
        match &item {
            Some(Ok(event)) => self.settled = event.stream_end() != StreamEnd::Open,
            Some(Err(_)) => self.ended = true,
            None => {
                self.ended = true;
                if !self.settled {
                    return Poll::Ready(Some(Err(Error::unavailable(
                        "the stream was interrupted before the task settled",
                    ))));
                }
            }
        }
        Poll::Ready(item)
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("settled", &self.settled)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
