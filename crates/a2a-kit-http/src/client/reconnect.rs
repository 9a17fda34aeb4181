//! The end of an event stream whose server requested a reconnection time.

use std::task::{Context, Poll, ready};

use a2a_core::{Error, Result};
use a2a_kit_operations::{Event, StreamEnd};
use futures_util::{Stream, StreamExt as _, stream};

use crate::sse::ReconnectionTime;

/// Adds the reconnection time of a server to the error with which its stream ends, as the
/// [`retry_after`](Error::retry_after) of the error. A stream that ends before the task has settled
/// ends with such an error.
pub fn with_reconnection_time(
    mut events: impl Stream<Item = Result<Event>> + Send + Unpin + 'static,
    time: ReconnectionTime,
) -> impl Stream<Item = Result<Event>> + Send + Unpin + 'static {
    let mut is_open = true;
    let mut has_ended = false;
    stream::poll_fn(move |cx: &mut Context<'_>| {
        if has_ended {
            return Poll::Ready(None);
        }
        let item = ready!(events.poll_next_unpin(cx));
        Poll::Ready(match item {
            Some(Ok(event)) => {
                is_open = event.stream_end() == StreamEnd::Open;
                Some(Ok(event))
            }
            Some(Err(error)) => {
                has_ended = true;
                let requested = time.get().filter(|_| error.retry_after().is_none());
                Some(Err(match requested {
                    Some(delay) => error.with_retry_after(delay),
                    None => error,
                }))
            }
            None => {
                has_ended = true;
                let requested = time.get().filter(|_| is_open);
                requested.map(|delay| {
                    let message = "the stream was interrupted before the task settled";
                    Err(Error::unavailable(message).with_retry_after(delay))
                })
            }
        })
    })
}
