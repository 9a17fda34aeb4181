use std::{
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use tracing::Span;

use super::Worker;
use crate::{
    Delivery, EventId, PushError, Webhook, metrics,
    store::{DeliveryKey, DeliveryOutcome},
};

/// Maximum `Retry-After` of a receiver.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Maximum length of an error text, in characters.
const MAX_TEXT: usize = 1_000;

impl Worker {
    /// Makes one attempt in the current span, and measures it.
    pub(super) async fn attempt(
        &self,
        key: &DeliveryKey,
        (webhook, delivery): (&Webhook, &Delivery),
        event: EventId,
        attempt: u32,
    ) -> DeliveryOutcome {
        let begun = Instant::now();
        let (outcome, counts_as) = match self.deliver_once(webhook, delivery).await {
            Ok(()) => (DeliveryOutcome::Delivered(event), "delivered"),
            Err(failure) => match self.outcome_of(key, event, attempt, failure) {
                dead @ DeliveryOutcome::DeadLetter { .. } => (dead, "dead"),
                retry => (retry, "retried"),
            },
        };
        let span = Span::current();
        span.record("a2a.outcome", counts_as);
        if counts_as != "delivered" {
            span.record("otel.status_code", "ERROR");
        }
        metrics::delivered(self.config.metrics_label, counts_as, begun.elapsed());
        outcome
    }

    async fn deliver_once(&self, webhook: &Webhook, delivery: &Delivery) -> Result<(), PushError> {
        let delivered = AssertUnwindSafe(self.sender.deliver(webhook, delivery)).catch_unwind();
        let again = |source: &str| Err(PushError::Retry { after: None, source: source.into() });
        match tokio::time::timeout(self.config.push.timeout, delivered).await {
            Ok(Ok(result)) => result,
            // Counted like any other failure, so that it ends eventually.
            Ok(Err(_panic)) => again("the sender panicked"),
            Err(_elapsed) => again("timed out waiting for a response"),
        }
    }

    /// The outcome of a failed attempt; `attempt` starts at 1.
    fn outcome_of(
        &self,
        DeliveryKey { task_id, config_id, .. }: &DeliveryKey,
        event: EventId,
        attempt: u32,
        failure: PushError,
    ) -> DeliveryOutcome {
        let error = text(&failure);
        match failure {
            PushError::Retry { after, .. } if attempt < self.config.push.attempts => {
                let asked = after.unwrap_or_default().min(MAX_RETRY_AFTER);
                let after = self.backoff(attempt - 1).max(asked);
                tracing::debug!(task.id = %task_id, config.id = %config_id, event.id = %event, attempt, ?after, error, "webhook delivery failed, will retry");
                DeliveryOutcome::Retry { event, after }
            }
            PushError::Retry { .. } | PushError::Refused { .. } => {
                tracing::warn!(task.id = %task_id, config.id = %config_id, event.id = %event, attempt, error, "webhook delivery failed, event dead-lettered");
                DeliveryOutcome::DeadLetter { event, error }
            }
        }
    }
}

/// An error and its causes on one line.
fn text(failure: &PushError) -> String {
    let mut text = a2a_core::error_chain(failure);
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(end);
    }
    text
}
