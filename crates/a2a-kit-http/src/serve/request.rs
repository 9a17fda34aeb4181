//! Request bodies, with timeouts and a memory budget.

use std::{
    error::Error as StdError,
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use a2a_kit_operations::metrics;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::body_budget::Reservation;
use crate::{
    Limits,
    body::BodyError,
    parse::{MAX_INLINE_BYTES, PendingBody},
};

type BoxError = Box<dyn StdError + Send + Sync>;

/// A body that fails on a read timeout, on the total timeout, and when it exceeds the memory
/// budget.
pub(super) struct RequestBody<B> {
    body: B,
    read_timeout: Duration,
    total_timeout: Duration,
    /// Maximum number of buffered bytes.
    max_bytes: usize,
    /// `None` once the budget was exceeded: the rest is discarded, not buffered.
    reservation: Option<Reservation>,
    /// Receives the reservation when the body is complete and has yet to be parsed.
    pending: Option<PendingBody>,
    /// Set at the first wait for data.
    timer: Option<Pin<Box<Timer>>>,
}

struct Timer {
    sleep: Pin<Box<Sleep>>,
    total_deadline: Instant,
    read_deadline: Instant,
}

impl<B> RequestBody<B> {
    pub(super) fn new(body: B, limits: &Limits, reservation: Reservation) -> Self {
        Self {
            body,
            read_timeout: limits.body_read_timeout,
            total_timeout: limits.body_total_timeout,
            max_bytes: limits.max_body_bytes,
            reservation: Some(reservation),
            pending: None,
            timer: None,
        }
    }

    /// Hands the reservation of a large body over to the parser.
    pub(super) fn with_pending(mut self, pending: PendingBody) -> Self {
        self.pending = Some(pending);
        self
    }

    /// Reserves memory for a frame; `false` if the budget is exceeded. A small body that is complete
    /// in its first frame waits for nothing, and is not counted.
    fn try_reserve(&mut self, frame: &Frame<Bytes>) -> bool
    where
        B: Body,
    {
        let (Some(reservation), Some(data)) = (&mut self.reservation, frame.data_ref()) else {
            return true;
        };
        if reservation.bytes == 0 && data.len() <= MAX_INLINE_BYTES && self.body.is_end_stream() {
            return true;
        }
        // Bytes beyond the body limit are rejected and discarded.
        let more = data.len().min(self.max_bytes.saturating_sub(reservation.bytes));
        if !reservation.try_grow(more) {
            metrics::refused("bodies");
            self.reservation = None;
        }
        self.reservation.is_some()
    }

    /// Ready on timeout.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<BodyError> {
        let timer = self.timer.get_or_insert_with(|| {
            let now = Instant::now();
            let (total_deadline, read_deadline) =
                (now + self.total_timeout, now + self.read_timeout);
            let sleep = Box::pin(sleep_until(total_deadline.min(read_deadline)));
            Box::pin(Timer { sleep, total_deadline, read_deadline })
        });
        // The timer is rescheduled when it fires, not at each frame.
        while timer.sleep.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now >= timer.total_deadline {
                return Poll::Ready(BodyError::TotalTimeout);
            }
            if now >= timer.read_deadline {
                return Poll::Ready(BodyError::ReadTimeout);
            }
            let due = timer.total_deadline.min(timer.read_deadline);
            timer.sleep.as_mut().reset(due);
        }
        Poll::Pending
    }
}

impl<B> Drop for RequestBody<B> {
    fn drop(&mut self) {
        if let (Some(pending), Some(reservation)) = (&self.pending, self.reservation.take())
            && reservation.bytes > MAX_INLINE_BYTES
        {
            pending.put(reservation);
        }
    }
}

impl<B> Body for RequestBody<B>
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
                let read_timeout = self.read_timeout;
                if let Some(timer) = &mut self.timer {
                    timer.read_deadline = Instant::now() + read_timeout;
                    // A body that is always ready never polls the timer.
                    if Instant::now() >= timer.total_deadline && frame.is_some() {
                        return Poll::Ready(Some(Err(BodyError::TotalTimeout.into())));
                    }
                }
                if let Some(Ok(frame)) = &frame
                    && !self.try_reserve(frame)
                {
                    return Poll::Ready(Some(Err(BodyError::OverBudget.into())));
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending => match self.poll_timer(cx) {
                Poll::Ready(timeout) => Poll::Ready(Some(Err(timeout.into()))),
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
