//! Background tasks: lease renewal, takeover, retention.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use a2a_core::well_known::Timestamp;
use tokio::{
    sync::Notify,
    time::{Interval, MissedTickBehavior},
};

use crate::{
    engine::{EngineConfig, Inner, cluster::follow, task::LiveTask},
    store::Sweep,
};

/// Interval of the retention sweep.
const SWEEP: Duration = Duration::from_secs(60);

/// The delay between two batches, which lets other writes through.
const BATCH_PAUSE: Duration = Duration::from_millis(50);

impl Inner {
    /// Starts the background tasks, once.
    pub(crate) fn start(self: &Arc<Self>) {
        if self.started.load(Ordering::Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        // Nothing is held yet.
        self.cluster.last_renewal.set(self.lease_clock());
        let period = self.config.lease_renewal;
        let wake = Arc::clone(&self.cluster.takeover_notify);
        runtime.spawn(renewal_loop(Arc::downgrade(self), period));
        runtime.spawn(expiry_loop(Arc::downgrade(self), period));
        runtime.spawn(takeover_loop(Arc::downgrade(self), period, wake));
        runtime.spawn(sweep_loop(Arc::downgrade(self)));
        let signals = self.cluster.signals.lock().take();
        if let Some(signals) = signals {
            runtime.spawn(follow(Arc::downgrade(self), signals));
        }
        if let Some(outbox) = &self.push.outbox {
            self.tasks.spawn_on(outbox.run(), &runtime);
        }
    }
}

/// Renews leases until the engine is dropped. Waits for nothing else.
async fn renewal_loop(engine: Weak<Inner>, period: Duration) {
    let mut ticks = interval(period);
    loop {
        ticks.tick().await;
        let Some(inner) = engine.upgrade() else { return };
        inner.renew().await;
        inner.sample();
    }
}

/// Gives up leases that were not renewed in time, whatever the store does.
async fn expiry_loop(engine: Weak<Inner>, period: Duration) {
    loop {
        let check = match engine.upgrade() {
            Some(inner) => {
                inner.give_up_expired();
                inner.next_expiry_check()
            }
            None => return,
        };
        // A store for one process may be joined by others.
        tokio::time::sleep(check.unwrap_or(period)).await;
    }
}

/// Takes over tasks of failed nodes until the engine is dropped or drains.
async fn takeover_loop(engine: Weak<Inner>, period: Duration, wake: Arc<Notify>) {
    let mut ticks = interval(period);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = wake.notified() => {}
        }
        let Some(inner) = engine.upgrade() else { return };
        inner.retry_abandoned().await;
        if !inner.draining.is_cancelled() {
            inner.take_over().await;
        }
    }
}

fn interval(period: Duration) -> Interval {
    let mut ticks = tokio::time::interval(period.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Sweeps until the engine is dropped or drains. Separate from the lease loop, because a sweep may
/// take long.
async fn sweep_loop(engine: Weak<Inner>) {
    loop {
        let pause = match engine.upgrade() {
            Some(inner) if !inner.draining.is_cancelled() => {
                if inner.sweep().await {
                    BATCH_PAUSE
                } else {
                    SWEEP
                }
            }
            _ => return,
        };
        tokio::time::sleep(pause).await;
    }
}

impl Inner {
    /// Sweeps one batch, and returns whether more is left.
    async fn sweep(self: &Arc<Self>) -> bool {
        let EngineConfig { retention, parked_retention, .. } = self.config;
        let sweep = Sweep { tasks: retention, parked: parked_retention, ..Sweep::default() };
        match self.store.sweep(sweep).await {
            Ok(removed) => {
                let has_more = removed.len() >= sweep.limit;
                for handle in removed.iter().filter_map(|task_id| self.active(task_id)) {
                    handle.change(LiveTask::removed);
                }
                if !has_more {
                    self.refresh_parked();
                }
                has_more
            }
            Err(error) => {
                tracing::warn!(error = ?error, "retention sweep failed");
                false
            }
        }
    }

    /// Reads watched tasks again that another node may have removed: those that have been waiting
    /// for longer than the retention.
    fn refresh_parked(self: &Arc<Self>) {
        let Some(retention) = self.config.parked_retention.filter(|_| self.cluster.is_shared)
        else {
            return;
        };
        let now = Timestamp::now().as_millis();
        let retention = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
        for handle in self.handles() {
            handle.change_silently(|live| live.refresh_if_parked(now.saturating_sub(retention)));
        }
    }
}
