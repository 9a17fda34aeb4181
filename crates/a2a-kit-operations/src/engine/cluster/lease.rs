//! Lease renewal, and giving up leases that were not renewed in time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::time::timeout;

use super::suspension;
use crate::{
    engine::{Inner, now, runtime::Handle},
    metrics,
};

/// The part of a lease that is left when the node gives it up: its executors are dropped, and their
/// programs killed, before another node takes the task over.
const MARGIN: u32 = 5;

/// The part of a lease after which a renewal without an answer is repeated.
const RENEWAL_TIMEOUT: u32 = 3;

/// How often in a lease its expiry is checked: while it is renewed, and when it is not.
const CHECKS: (u32, u32) = (4, 20);

/// The time of the last successful lease renewal, as it began; `None` if leases do not expire.
#[derive(Debug, Default)]
pub(crate) struct LastRenewal(Mutex<Option<Instant>>);

impl LastRenewal {
    pub(crate) fn set(&self, time: Option<Instant>) {
        *self.0.lock() = time;
    }

    fn get(&self) -> Option<Instant> {
        *self.0.lock()
    }

    /// The time since the last renewal.
    pub(crate) fn elapsed(&self) -> Duration {
        self.get().map_or(Duration::ZERO, |time| clock().saturating_duration_since(time))
    }
}

/// The time by which leases are judged. It advances while the machine is suspended.
fn clock() -> Instant {
    now() + suspension::total()
}

impl Inner {
    /// The time by which leases are judged, if they expire.
    pub(crate) fn lease_clock(&self) -> Option<Instant> {
        self.store.lease().map(|_| clock())
    }

    /// Renews the leases of all tasks with work.
    pub(crate) async fn renew(self: &Arc<Self>) {
        let begun = self.lease_clock();
        let leased = |handle: Handle| Some((Arc::clone(&handle.task_id), handle.lock().leased()?));
        let held: Vec<_> = self.handles().into_iter().filter_map(leased).collect();
        let renewal = self.store.renew(&held);
        let renewed = match self.store.lease() {
            Some(lease) => timeout(lease / RENEWAL_TIMEOUT, renewal).await,
            None => Ok(renewal.await),
        };
        let lost = match renewed {
            Ok(Ok(lost)) => lost,
            Ok(Err(error)) => {
                tracing::warn!(error = ?error, "lease renewal failed");
                return;
            }
            Err(_elapsed) => {
                tracing::warn!(leases = held.len(), "lease renewal timed out");
                return;
            }
        };
        self.cluster.last_renewal.set(begun);
        for task_id in lost {
            let Some(handle) = self.active(&task_id) else { continue };
            let epoch = held.iter().find(|(held, _)| *held == task_id).map(|(_, epoch)| *epoch);
            let is_lost = handle.change(|live| live.lose_lease(epoch));
            if is_lost {
                tracing::warn!(task.id = %task_id, "lease lost");
                metrics::lost_lease(self.config.metrics_label);
            }
        }
    }

    /// When to check the expiry of leases again; `None` if they do not expire.
    pub(crate) fn next_expiry_check(&self) -> Option<Duration> {
        let lease = self.store.lease()?;
        let left = (lease - lease / MARGIN).saturating_sub(self.cluster.last_renewal.elapsed());
        // A suspended machine does not notice that the time has come.
        Some(left.clamp(lease / CHECKS.1, lease / CHECKS.0))
    }

    /// Gives up the leases that were not renewed in time, before other nodes can take their tasks
    /// over.
    pub(crate) fn give_up_expired(self: &Arc<Self>) {
        let elapsed = self.cluster.last_renewal.elapsed();
        if self.store.lease().is_none_or(|lease| elapsed <= lease - lease / MARGIN) {
            return;
        }
        let mut count = 0;
        for handle in self.handles() {
            let expired = handle.change(|live| live.expire_lease(|since| self.is_expired(since)));
            if let Some(epoch) = expired {
                count += 1;
                metrics::lost_lease(self.config.metrics_label);
                // As soon as the store answers, any node may take the task over.
                self.cluster.abandoned.lock().push((Arc::clone(&handle.task_id), epoch));
            }
        }
        if count > 0 {
            tracing::warn!(
                tasks = count,
                since_renewal = ?self.cluster.last_renewal.elapsed(),
                "leases not renewed in time, executors dropped"
            );
        }
    }

    /// Returns whether the last renewal is too old for tasks to be taken over: this node may not be
    /// able to renew their leases.
    pub(super) fn is_renewal_late(&self) -> bool {
        self.store
            .lease()
            .is_some_and(|_| self.cluster.last_renewal.elapsed() > self.config.lease_renewal * 2)
    }

    /// Returns whether a lease has expired that was granted or renewed after `since`, or will
    /// before its work can be dropped.
    pub(crate) fn is_expired(&self, since: Instant) -> bool {
        let Some(lease) = self.store.lease() else { return false };
        let renewed = self.cluster.last_renewal.get().map_or(since, |time| time.max(since));
        clock().saturating_duration_since(renewed) > lease - lease / MARGIN
    }
}
