//! Streams that end when their caller's credentials do.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use a2a_core::{Error, Result};
use a2a_operations::{Event, EventStream};
use futures_core::Stream;
use tokio::time::{Sleep, sleep};

/// The longest time in which the clock is not looked at: it may be set.
const GLANCE: Duration = Duration::from_secs(60);

/// Ends a stream with an error at a time.
pub(super) fn until(events: EventStream, expires: SystemTime, error: Error) -> EventStream {
    let timer = Box::pin(sleep(left(expires).min(GLANCE)));
    EventStream::new(Expiring { events, expires, timer, error: Some(error) })
}

fn left(expires: SystemTime) -> Duration {
    expires.duration_since(SystemTime::now()).unwrap_or_default()
}

struct Expiring {
    events: EventStream,
    expires: SystemTime,
    timer: Pin<Box<Sleep>>,
    /// Taken when it is given.
    error: Option<Error>,
}

impl Stream for Expiring {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let left = left(self.expires);
            if left.is_zero() {
                return Poll::Ready(self.error.take().map(Err));
            }
            self.timer.set(sleep(left.min(GLANCE)));
        }
        Pin::new(&mut self.events).poll_next(cx)
    }
}
