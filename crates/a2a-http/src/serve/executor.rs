//! Streams of HTTP/2 that end when their peer does not take what it asked for.
//!
//! A peer can hold one stream back and read the others, so that the connection as a whole is
//! well, and what the stream is to send stays in memory. Nothing but the task of the stream
//! knows; it is given up after the same time as a socket that nobody reads.

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
    /// What the body of the stream that runs on this thread has done last: handed a piece over,
    /// or had nothing to hand over.
    static HANDED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Notes whether the body of the stream that runs now has handed a piece over.
pub(super) fn note(handed: bool) {
    HANDED.set(Some(handed));
}

/// Runs the streams of HTTP/2.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    patience: Duration,
}

impl Streams {
    /// Gives a stream up whose peer takes nothing for as long as `patience`.
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let patience = self.patience;
        tokio::spawn(Watched { stream, patience, is_handed: false, waiting: None });
    }
}

pin_project! {
    /// A stream that is dropped, and so reset, when its peer takes nothing for too long.
    struct Watched<F> {
        #[pin]
        stream: F,
        patience: Duration,
        // Whether the peer has yet to take what was handed over.
        is_handed: bool,
        waiting: Option<Pin<Box<Sleep>>>,
    }
}

impl<F: Future<Output = ()>> Future for Watched<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let outer = HANDED.replace(None);
        let ended = this.stream.poll(cx);
        let noted = HANDED.replace(outer);
        if ended.is_ready() {
            return ended;
        }
        if let Some(is_handed) = noted {
            *this.is_handed = is_handed;
            if let Some(waiting) = this.waiting {
                waiting.as_mut().reset(Instant::now() + *this.patience);
            }
        }
        if !*this.is_handed {
            return Poll::Pending;
        }
        let patience = *this.patience;
        let waiting = this.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        if waiting.as_mut().poll(cx).is_ready() {
            tracing::debug!("giving up a stream whose peer does not read");
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
