//! The body of a request, which has to arrive in its time.

use std::{
    error::Error as StdError,
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{Limits, body::TooSlow};

type BoxError = Box<dyn StdError + Send + Sync>;

/// A body that fails when it falls silent, and when the whole of it takes too long.
pub(super) struct TimedBody<B> {
    body: B,
    silence: Duration,
    total: Duration,
    /// Set when something had to be waited for.
    timer: Option<Pin<Box<Timer>>>,
}

struct Timer {
    sleep: Pin<Box<Sleep>>,
    end: Instant,
    silent_until: Instant,
}

impl<B> TimedBody<B> {
    pub(super) fn new(body: B, limits: &Limits) -> Self {
        let (silence, total) = (limits.body_read_timeout, limits.body_time);
        Self { body, silence, total, timer: None }
    }

    /// Ready when time is up.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<TooSlow> {
        let timer = self.timer.get_or_insert_with(|| {
            let now = Instant::now();
            let (end, silent_until) = (now + self.total, now + self.silence);
            let sleep = Box::pin(sleep_until(end.min(silent_until)));
            Box::pin(Timer { sleep, end, silent_until })
        });
        // The timer is only looked after when it fires, not moved at each piece.
        while timer.sleep.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now >= timer.end {
                return Poll::Ready(TooSlow::Whole);
            }
            if now >= timer.silent_until {
                return Poll::Ready(TooSlow::Silent);
            }
            let due = timer.end.min(timer.silent_until);
            timer.sleep.as_mut().reset(due);
        }
        Poll::Pending
    }
}

impl<B> Body for TimedBody<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                let silence = self.silence;
                if let Some(timer) = &mut self.timer {
                    timer.silent_until = Instant::now() + silence;
                    // Pieces that are always there would never look at the clock.
                    if Instant::now() >= timer.end && frame.is_some() {
                        return Poll::Ready(Some(Err(TooSlow::Whole.into())));
                    }
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending => match self.poll_timer(cx) {
                Poll::Ready(slow) => Poll::Ready(Some(Err(slow.into()))),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
