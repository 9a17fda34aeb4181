use std::{
    error::Error as _,
    fmt::Write as _,
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use tracing::Span;

use super::Worker;
use crate::{
    Delivery, EventId, PushError, Webhook, metrics,
    store::{PushKey, PushOutcome},
};

/// The longest wait that a receiver may ask for.
const MAX_ASKED: Duration = Duration::from_secs(3600);

/// No text for operators is longer, in characters.
const MAX_TEXT: usize = 1_000;

impl Worker {
    /// Makes one try, in the current span, and counts what came of it. Without a call it fails
    /// at once, because the host has had its retries.
    pub(super) async fn measured(
        &self,
        key: &PushKey,
        call: Option<(&Webhook, &Delivery)>,
        event: EventId,
        attempt: u32,
    ) -> PushOutcome {
        let begun = Instant::now();
        let tried = match call {
            Some((webhook, delivery)) => self.try_once(webhook, delivery).await,
            None => Err(PushError::Retry {
                after: None,
                source: "the host fails, and has had its retries (push_retries_per_host)".into(),
            }),
        };
        let (outcome, counts_as) = match tried {
            Ok(()) => (PushOutcome::Delivered(event), "delivered"),
            Err(failure) => match self.judge(key, event, attempt, failure) {
                dead @ PushOutcome::Dead { .. } => (dead, "dead"),
                retry => (retry, "retried"),
            },
        };
        let span = Span::current();
        span.record("a2a.outcome", counts_as);
        if counts_as != "delivered" {
            span.record("otel.status_code", "ERROR");
        }
        metrics::delivered(counts_as, begun.elapsed());
        outcome
    }

    async fn try_once(&self, webhook: &Webhook, delivery: &Delivery) -> Result<(), PushError> {
        let delivered = AssertUnwindSafe(self.sender.deliver(webhook, delivery)).catch_unwind();
        let again = |source: &str| Err(PushError::Retry { after: None, source: source.into() });
        match tokio::time::timeout(self.config.push_timeout, delivered).await {
            Ok(Ok(result)) => result,
            // Counted like any other failure, so that it ends some time.
            Ok(Err(_panic)) => again("the sender panicked"),
            Err(_elapsed) => again("there was no answer in time"),
        }
    }

    /// Says what becomes of an event that did not arrive; `attempt` counts from 1.
    fn judge(
        &self,
        PushKey { task_id, config_id, .. }: &PushKey,
        event: EventId,
        attempt: u32,
        failure: PushError,
    ) -> PushOutcome {
        let error = text(&failure);
        match failure {
            PushError::Retry { after, .. } if attempt < self.config.push_attempts => {
                let asked = after.unwrap_or_default().min(MAX_ASKED);
                let after = self.pause(attempt - 1).max(asked);
                tracing::debug!(task.id = %task_id, config.id = %config_id, event.id = %event, attempt, ?after, error, "an event is tried again");
                PushOutcome::Retry { event, after }
            }
            PushError::Retry { .. } | PushError::Refused { .. } => {
                tracing::warn!(task.id = %task_id, config.id = %config_id, event.id = %event, attempt, error, "an event did not reach its webhook");
                PushOutcome::Dead { event, error }
            }
        }
    }
}

/// An error and its causes on one line.
fn text(failure: &PushError) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        // A string takes everything.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}
