//! Streams that end when their caller's credentials expire or are revoked.

use std::{
    future::{Future, pending},
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use a2a_core::{Error, Result};
use a2a_kit_operations::{Event, EventStream};
use futures_core::Stream;
use tokio::time::sleep;

use super::{Attempt, Rejection, auth_failure::AuthFailure, requirement::Verified};

/// The system clock is checked at least this often, because it may be adjusted.
const MAX_CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Ends a stream with the error that a future resolves to.
pub(super) fn until(
    events: EventStream,
    end: impl Future<Output = Error> + Send + 'static,
) -> EventStream {
    events.wrap(|events| BoundedStream { events: Some(events), end: Box::pin(end) })
}

/// Waits for the credentials to expire, if they do.
pub(super) async fn expired(expires: Option<SystemTime>) -> AuthFailure {
    let Some(expires) = expires else { return pending().await };
    loop {
        let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
        if left.is_zero() {
            return AuthFailure::Expired;
        }
        sleep(left.min(MAX_CLOCK_CHECK_INTERVAL)).await;
    }
}

/// Waits until a credential is revoked. While it can't be verified, the last result holds.
pub(super) async fn revoked(verified: Vec<Verified>) -> AuthFailure {
    let revalidated =
        || verified.iter().filter_map(|one| Some((&one.caller, one.revalidation.as_ref()?)));
    let Some(interval) = revalidated().map(|(_, revalidation)| revalidation.interval).min() else {
        return pending().await;
    };
    loop {
        sleep(interval).await;
        for (caller, revalidation) in revalidated() {
            match revalidation.verifier.verify(&revalidation.credential, Attempt::Stream).await {
                Ok(now)
                    if now.subject() == caller.subject()
                        && now.scopes().is_superset(caller.scopes()) => {}
                Ok(_less) => return AuthFailure::Invalid("lost scopes or another subject"),
                // New calls log this; one line per stream would be too many.
                Err(Rejection::Unavailable(_) | Rejection::Overloaded) => {}
                Err(rejection) => return rejection.into(),
            }
        }
    }
}

struct BoundedStream {
    /// `None` after the error.
    events: Option<EventStream>,
    end: Pin<Box<dyn Future<Output = Error> + Send>>,
}

impl Stream for BoundedStream {
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
