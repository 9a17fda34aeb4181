//! Webhook delivery.
//!
//! An engine with a [`PushSender`] owns one [`Outbox`], spawns [`Outbox::run`] once inside a
//! runtime, and calls [`Outbox::wake`] whenever deliveries may be due: after a write with pushed
//! events, a new webhook, or a takeover. Deliveries left by other nodes are found by polling.
//!
//! Ends when the engine drains or is dropped: attempts in progress are finished, and the rest stays
//! pending. It runs on the engine's task tracker, so a shutdown waits for it.

mod attempt;
mod backoff;
mod limits;
#[cfg(test)]
mod tests;

use std::{future::Future, num::NonZeroUsize, sync::Arc, time::Duration};

use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;

use self::limits::DeliveryLimits;
use super::EngineConfig;
use crate::{
    Delivery, PushSender, metrics,
    store::{ClaimedDelivery, DeliveryKey, DeliveryOutcome, PushStore, StoreError},
    trace,
};

/// Polling interval while nothing is known to be due. Deliveries left by a failed node are found
/// after this time.
const SWEEP: Duration = Duration::from_secs(5);

/// Minimum delay between two polls.
const MIN_PAUSE: Duration = Duration::from_millis(10);

/// Attempts to record an outcome, before the claim is left to expire.
const RECORD_ATTEMPTS: u32 = 5;

/// Delivers the pending events of a store.
pub(super) struct Outbox {
    worker: Arc<Worker>,
    /// Stops the worker with the engine.
    _stop: DropGuard,
}

struct Worker {
    store: Arc<dyn PushStore>,
    sender: Arc<dyn PushSender>,
    config: EngineConfig,
    limits: DeliveryLimits,
    wake: Notify,
    stop: CancellationToken,
}

/// When to poll a webhook again.
enum Next {
    /// Nothing is pending, as far as this node knows.
    Nothing,
    /// Events may be due now.
    Now,
    /// Events are due after a delay.
    After(Duration),
}

impl Outbox {
    pub(super) fn new(
        store: Arc<dyn PushStore>,
        sender: Arc<dyn PushSender>,
        config: &EngineConfig,
        draining: &CancellationToken,
    ) -> Self {
        let stop = draining.child_token();
        let worker = Worker {
            store,
            sender,
            config: config.clone(),
            limits: DeliveryLimits::new(config),
            wake: Notify::new(),
            stop: stop.clone(),
        };
        Self { worker: Arc::new(worker), _stop: stop.drop_guard() }
    }

    /// Signals that deliveries may be due.
    pub(super) fn wake(&self) {
        self.worker.wake.notify_one();
    }

    /// Delivers until the engine drains or is dropped. Spawned once.
    pub(super) fn run(&self) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.worker).run()
    }
}

impl Worker {
    async fn run(self: Arc<Self>) {
        let limit = NonZeroUsize::new(self.config.push.concurrency).map_or(1, NonZeroUsize::get);
        let mut deliveries = JoinSet::new();
        let mut next_poll = Instant::now();
        let mut failures = 0;
        let mut last_sweep: Option<Instant> = None;
        loop {
            let has_capacity = deliveries.len() < limit;
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = self.wake.notified() => next_poll = Instant::now(),
                Some(end) = deliveries.join_next() => match end {
                    Ok(Next::Nothing) => {}
                    Ok(Next::Now) => next_poll = Instant::now(),
                    Ok(Next::After(after)) => next_poll = next_poll.min(Instant::now() + after),
                    Err(error) => tracing::error!(%error, "webhook delivery task panicked"),
                },
                () = sleep_until(next_poll), if has_capacity => {}
            }
            let free = limit.saturating_sub(deliveries.len());
            if free == 0 || Instant::now() < next_poll {
                continue;
            }
            if last_sweep.is_none_or(|time| time.elapsed() >= SWEEP) {
                last_sweep = Some(Instant::now());
                self.limits.sweep();
                // A store failure shows in the call below.
                if let Ok(backlog) = self.store.backlog().await {
                    metrics::outbox(self.config.metrics_label, backlog);
                }
            }
            // Not in a `select!`: the claims it returns must not be lost.
            match self.store.claim_deliveries(free).await {
                Ok(due) => {
                    failures = 0;
                    // A full batch means that more may be due.
                    let is_all = due.deliveries.len() < free;
                    let next = due.next.unwrap_or(SWEEP).clamp(MIN_PAUSE, SWEEP);
                    next_poll = Instant::now() + if is_all { next } else { Duration::ZERO };
                    for claimed in due.deliveries {
                        deliveries.spawn(Arc::clone(&self).deliver(claimed));
                    }
                }
                Err(error) => {
                    tracing::warn!(error = ?error, "failed to claim webhook deliveries");
                    next_poll = Instant::now() + MIN_PAUSE + self.backoff(failures);
                    failures += 1;
                }
            }
        }
        while deliveries.join_next().await.is_some() {}
    }

    /// Delivers the pending events of a webhook in order.
    async fn deliver(self: Arc<Self>, claimed: ClaimedDelivery) -> Next {
        let ClaimedDelivery { key, scope, webhook, task, events, mut attempts } = claimed;
        let host = self.sender.destination(&webhook.config);
        let permit = match self.limits.acquire(host, &scope) {
            Ok(permit) => permit,
            Err(after) => {
                metrics::postponed(self.config.metrics_label);
                self.record(&key, DeliveryOutcome::Postponed { after }).await;
                return Next::After(after);
            }
        };
        for event in events {
            if self.stop.is_cancelled() {
                break;
            }
            // Stored events have a position.
            let Some(id) = event.id() else { continue };
            if attempts > 0
                && let Err(after) = permit.take_retry()
            {
                // Not an attempt: an event is given up only after calls.
                metrics::postponed(self.config.metrics_label);
                self.record(&key, DeliveryOutcome::Postponed { after }).await;
                return Next::After(after);
            }
            attempts = attempts.saturating_add(1);
            let delivery = Delivery { event, task: Arc::clone(&task) };
            let trace = webhook.trace.as_ref();
            let span = trace::delivery(&key.task_id, &key.config_id, id.get(), attempts, trace);
            let call = (&webhook, &delivery);
            let outcome = self.attempt(&key, call, id, attempts).instrument(span).await;
            if matches!(outcome, DeliveryOutcome::Delivered(_)) {
                permit.delivered();
            }
            let later = if let DeliveryOutcome::Retry { after, .. } = &outcome {
                Some(*after)
            } else {
                None
            };
            let has_claim = self.record(&key, outcome).await;
            if let Some(after) = later {
                return Next::After(after);
            }
            if !has_claim {
                return Next::Nothing;
            }
            attempts = 0;
        }
        // The claim still holds: new events are pending, or this node is shutting down.
        self.record(&key, DeliveryOutcome::Released).await;
        Next::Now
    }

    /// Records an outcome, and returns whether the claim still holds.
    async fn record(&self, key: &DeliveryKey, outcome: DeliveryOutcome) -> bool {
        for failures in 0..RECORD_ATTEMPTS {
            match self.store.record_delivery(key, outcome.clone()).await {
                Ok(has_claim) => return has_claim,
                Err(error) => {
                    tracing::warn!(error = ?error, "failed to record webhook delivery");
                    if matches!(error, StoreError::Rejected(_)) {
                        break;
                    }
                }
            }
            tokio::time::sleep(MIN_PAUSE + self.backoff(failures)).await;
        }
        // The event is delivered again after the claim expires: at least once, not exactly once.
        false
    }
}
