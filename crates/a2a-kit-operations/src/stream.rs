//! A stream of events that cannot be truncated silently.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use a2a_core::{Error, Result};
use futures_core::Stream;
use pin_project_lite::pin_project;

use crate::{Event, event::StreamEnd};

/// The events of a task, or the one message that responds to a send.
///
/// After an `Err` item the stream ends. A stream that ends without one ended at a message, a
/// terminal or an interrupted state: a source that stops anywhere else gets an `Err` of kind
/// [`Unavailable`](a2a_core::ErrorKind::Unavailable) as its last item.
///
/// Dropping the stream detaches the reader and cancels nothing.
pub struct EventStream(Pin<Box<dyn Stream<Item = Result<Event>> + Send>>);

impl EventStream {
    /// Creates a stream from a source of events.
    pub fn new(events: impl Stream<Item = Result<Event>> + Send + 'static) -> Self {
        Self(Box::pin(Guarded { events, settled: false, ended: false }))
    }

    /// Wraps the stream in one that passes its items on, and ends before it only with an `Err`. A
    /// stream that leaves out or adds items is created with [`new`](Self::new).
    #[must_use]
    pub fn wrap<S>(self, wrapper: impl FnOnce(Self) -> S) -> Self
    where
        S: Stream<Item = Result<Event>> + Send + 'static,
    {
        Self(Box::pin(wrapper(self)))
    }
}

impl Stream for EventStream {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

a2a_core::debug_fields!(EventStream(..));

pin_project! {
    /// A source whose end is checked.
    struct Guarded<S> {
        #[pin]
        events: S,
        settled: bool,
        ended: bool,
    }
}

impl<S: Stream<Item = Result<Event>>> Stream for Guarded<S> {
    type Item = Result<Event>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let item = ready!(this.events.poll_next(cx));
        match &item {
            Some(Ok(event)) => *this.settled = event.stream_end() != StreamEnd::Open,
            Some(Err(_)) => *this.ended = true,
            None => {
                *this.ended = true;
                if !*this.settled {
                    return Poll::Ready(Some(Err(Error::unavailable(
                        "the stream was interrupted before the task settled",
                    ))));
                }
            }
        }
        Poll::Ready(item)
    }
}
