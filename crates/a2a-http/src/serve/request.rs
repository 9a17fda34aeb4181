//! The body of a request, which has to arrive in its time, and needs room.

use std::{
    error::Error as StdError,
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use a2a_operations::metrics;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::room::Place;
use crate::{
    Limits,
    body::GivenUp,
    parse::{MAX_INLINE_BYTES, PendingBody},
};

type BoxError = Box<dyn StdError + Send + Sync>;

/// A body that fails when it falls silent, when the whole of it takes too long, and when there
/// is no room for it beside the others.
pub(super) struct TimedBody<B> {
    body: B,
    silence: Duration,
    total: Duration,
    /// Most that is kept of it, in bytes.
    most: usize,
    /// `None` once there was none: what still comes is for nobody who keeps it.
    place: Option<Place>,
    /// Where the place goes when the body has been read, for what still has to be parsed.
    pending: Option<PendingBody>,
    /// Set when something had to be waited for.
    timer: Option<Pin<Box<Timer>>>,
}

struct Timer {
    sleep: Pin<Box<Sleep>>,
    end: Instant,
    silent_until: Instant,
}

impl<B> TimedBody<B> {
    pub(super) fn new(body: B, limits: &Limits, place: Place) -> Self {
        Self {
            body,
            silence: limits.body_read_timeout,
            total: limits.body_time,
            most: limits.max_body_bytes,
            place: Some(place),
            pending: None,
            timer: None,
        }
    }

    /// Leaves the place of a large body to what parses it.
    pub(super) fn with_pending(mut self, pending: PendingBody) -> Self {
        self.pending = Some(pending);
        self
    }

    /// Returns whether there is room for what has come.
    fn has_room(&mut self, frame: &Frame<Bytes>) -> bool {
        let (Some(place), Some(data)) = (&mut self.place, frame.data_ref()) else { return true };
        // What goes beyond is refused and thrown away.
        let more = data.len().min(self.most.saturating_sub(place.bytes()));
        if !place.take(more) {
            metrics::refused("bodies");
            self.place = None;
        }
        self.place.is_some()
    }

    /// Ready when time is up.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<GivenUp> {
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
                return Poll::Ready(GivenUp::Whole);
            }
            if now >= timer.silent_until {
                return Poll::Ready(GivenUp::Silent);
            }
            let due = timer.end.min(timer.silent_until);
            timer.sleep.as_mut().reset(due);
        }
        Poll::Pending
    }
}

impl<B> Drop for TimedBody<B> {
    fn drop(&mut self) {
        if let (Some(pending), Some(place)) = (&self.pending, self.place.take())
            && place.bytes() > MAX_INLINE_BYTES
        {
            pending.put(place);
        }
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
                        return Poll::Ready(Some(Err(GivenUp::Whole.into())));
                    }
                }
                if let Some(Ok(frame)) = &frame
                    && !self.has_room(frame)
                {
                    return Poll::Ready(Some(Err(GivenUp::NoRoom.into())));
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
