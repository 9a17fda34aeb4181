//! Streams that end when their caller's credentials do.

use std::{
    future::{Future, pending},
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use a2a_core::{Error, Result};
use a2a_operations::{Event, EventStream};
use futures_core::Stream;
use tokio::time::sleep;

use super::{Rejection, refusal::Refusal, requirement::Verified};

/// The longest time in which the clock is not looked at: it may be set.
const GLANCE: Duration = Duration::from_secs(60);

/// Ends a stream with an error, when there is one.
pub(super) fn until(
    events: EventStream,
    end: impl Future<Output = Error> + Send + 'static,
) -> EventStream {
    EventStream::new(Ending { events: Some(events), end: Box::pin(end) })
}

/// Waits for the end of what the caller presented, if it has one.
pub(super) async fn expired(expires: Option<SystemTime>) -> Refusal {
    let Some(expires) = expires else { return pending().await };
    loop {
        let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
        if left.is_zero() {
            return Refusal::Expired;
        }
        sleep(left.min(GLANCE)).await;
    }
}

/// Waits until something of what the caller presented is taken back. Where nobody can say at the
/// moment, what was said last holds.
pub(super) async fn taken_back(verified: Vec<Verified>) -> Refusal {
    let reviewed = || verified.iter().filter_map(|one| Some((&one.caller, one.review.as_ref()?)));
    let Some(interval) = reviewed().map(|(_, review)| review.interval).min() else {
        return pending().await;
    };
    loop {
        sleep(interval).await;
        for (caller, review) in reviewed() {
            match review.verifier.verify(&review.presented).await {
                Ok(now)
                    if now.subject() == caller.subject()
                        && now.scopes().is_superset(caller.scopes()) => {}
                Ok(_less) => return Refusal::Invalid,
                // New calls say so in the log; a line for each stream would be too many.
                Err(Rejection::Unavailable(_) | Rejection::Overloaded) => {}
                Err(Rejection::Expired) => return Refusal::Expired,
                Err(Rejection::Invalid(_) | Rejection::Unknown) => return Refusal::Invalid,
            }
        }
    }
}

struct Ending {
    /// Gone when the error was given.
    events: Option<EventStream>,
    end: Pin<Box<dyn Future<Output = Error> + Send>>,
}

impl Stream for Ending {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(events) = &mut this.events else { return Poll::Ready(None) };
        if let Poll::Ready(error) = this.end.as_mut().poll(cx) {
            this.events = None;
            return Poll::Ready(Some(Err(error)));
        }
        Pin::new(events).poll_next(cx)
    }
}
