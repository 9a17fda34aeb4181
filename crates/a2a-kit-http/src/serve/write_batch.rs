//! Writes responses of an HTTP/2 connection together.
//!
//! A stream with data wakes the task of its connection, which tokio runs next, before the other
//! streams: each response would be a write of its own. While requests are in flight, the connection
//! therefore goes to the end of the run queue first, behind the streams that are ready.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use super::activity::Activity;

/// Polls a connection after the streams that are ready.
#[derive(Debug)]
pub(super) struct WriteBatch {
    activity: Arc<Activity>,
    has_yielded: bool,
}

impl WriteBatch {
    pub(super) fn new(activity: Arc<Activity>) -> Self {
        Self { activity, has_yielded: false }
    }

    /// Polls the connection, or yields to its streams.
    pub(super) fn poll<F: Future>(
        &mut self,
        connection: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let may_have_more = self.activity.is_http2() && self.activity.has_request_in_flight();
        self.has_yielded = may_have_more && !self.has_yielded;
        if self.has_yielded {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        connection.poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin};

    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn connection_yields_once_per_wakeup_while_requests_are_in_flight() {
        let activity = Activity::new();
        let mut batch = WriteBatch::new(Arc::clone(&activity));
        let mut polls = 0;
        let mut connection = pin!(poll_fn(|_| {
            polls += 1;
            Poll::<()>::Pending
        }));
        let mut polled = async |times| {
            for _ in 0..times {
                let _ = poll!(poll_fn(|cx| batch.poll(connection.as_mut(), cx)));
            }
        };
        polled(2).await;
        let http1 = activity.begin_request(false);
        polled(2).await;
        drop(http1);
        let http2 = activity.begin_request(true);
        polled(6).await;
        drop(http2);
        polled(2).await;
        assert_eq!(polls, 2 + 2 + 3 + 2);
    }
}
