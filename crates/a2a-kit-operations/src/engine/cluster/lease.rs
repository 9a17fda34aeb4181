//! Lease renewal and takeover.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    engine::{Inner, runtime::Handle},
    metrics,
};

/// Maximum number of tasks to take over in one call.
const TAKE_OVER: usize = 64;

impl Inner {
    pub(in crate::engine) async fn renew(self: &Arc<Self>) {
        let held: Vec<_> = self
            .entries
            .all()
            .into_iter()
            .filter_map(|entry| {
                let epoch = entry.lock().leased()?;
                Some((Arc::clone(&entry.task_id), epoch))
            })
            .collect();
        let begun = Instant::now();
        let lost = match self.store.renew(&held).await {
            Ok(lost) => lost,
            Err(error) => {
                tracing::warn!(error = ?error, "lease renewal failed");
                return;
            }
        };
        self.cluster.last_renewal.set(begun);
        for task_id in lost {
            let Some(entry) = self.entries.find_any(&task_id) else { continue };
            let handle = Handle::new(Arc::clone(self), entry);
            let epoch = held.iter().find(|(held, _)| *held == task_id).map(|(_, epoch)| *epoch);
            let is_lost = handle.change(|live| live.lose_lease(epoch));
            if is_lost {
                tracing::warn!(task.id = %task_id, "lease lost");
                metrics::lost_lease(self.config.metrics_label);
                handle.refresh();
            }
        }
    }

    pub(in crate::engine) async fn take_over(self: &Arc<Self>) {
        loop {
            // Tasks beyond the capacity are left to other nodes, or for later.
            let running = self.load.running.load(Ordering::Relaxed);
            let limit = self.config.max_running.saturating_sub(running).min(TAKE_OVER);
            if limit == 0 {
                return;
            }
            match self.store.take_over(limit).await {
                Ok(orphans) => {
                    let more = orphans.len() == limit;
                    for orphan in orphans {
                        self.resume_orphan(orphan).await;
                    }
                    if !more {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(error = ?error, "failed to query orphaned tasks");
                    return;
                }
            }
        }
    }
}

/// The time of the last lease renewal.
#[derive(Debug)]
pub(in crate::engine) struct LastRenewal(Mutex<Instant>);

impl LastRenewal {
    pub(in crate::engine) fn now() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn set(&self, time: Instant) {
        *self.0.lock() = time;
    }

    /// The time since the last renewal.
    pub(in crate::engine) fn elapsed(&self) -> Duration {
        self.0.lock().elapsed()
    }
}
