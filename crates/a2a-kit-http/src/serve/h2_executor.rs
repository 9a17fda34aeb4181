//! Runs HTTP/2 streams, and resets those whose peer stops reading.
//!
//! A peer can stop granting window to one stream and read the others: writes to the socket then
//! make progress, and the data of the stream stays in memory. Only the task of the stream can
//! detect it, and ends after the same write timeout as a socket that is not read.

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use hyper::rt::Executor;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep};

thread_local! {
    /// What the body of the stream that this thread polls did last: yield data (`true`), or
    /// have none (`false`).
    static YIELDED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Records whether the body of the current stream yielded data.
pub(super) fn record_yield(yielded: bool) {
    YIELDED.set(Some(yielded));
}

/// Spawns HTTP/2 streams.
#[derive(Clone, Debug)]
pub(super) struct H2Executor {
    /// The time after which a stream is reset whose peer accepts no data.
    pub(super) write_timeout: Duration,
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for H2Executor {
    fn execute(&self, stream: F) {
        let write_timeout = self.write_timeout;
        tokio::spawn(H2Stream { stream, write_timeout, has_unsent: false, timer: None });
    }
}

pin_project! {
    /// A stream that is dropped, and so reset, when its peer accepts no data until the timeout.
    struct H2Stream<F> {
        #[pin]
        stream: F,
        write_timeout: Duration,
        // Whether the peer has not yet accepted the data that the body yielded last.
        has_unsent: bool,
        timer: Option<Pin<Box<Sleep>>>,
    }
}

impl<F: Future<Output = ()>> Future for H2Stream<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let outer = YIELDED.replace(None);
        let ended = this.stream.poll(cx);
        let recorded = YIELDED.replace(outer);
        if ended.is_ready() {
            return ended;
        }
        if let Some(yielded) = recorded {
            *this.has_unsent = yielded;
            if let Some(timer) = this.timer {
                timer.as_mut().reset(Instant::now() + *this.write_timeout);
            }
        }
        if !*this.has_unsent {
            return Poll::Pending;
        }
        let write_timeout = *this.write_timeout;
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(write_timeout)));
        if timer.as_mut().poll(cx).is_ready() {
            tracing::debug!("resetting stream: write timeout");
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
