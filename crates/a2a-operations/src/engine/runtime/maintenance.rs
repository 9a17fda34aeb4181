//! What an engine does by itself: keeps its leases, takes over from nodes that are gone, forgets
//! what is old.

use std::{
    sync::{Arc, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use tokio::time::MissedTickBehavior;

use crate::{
    engine::{EngineConfig, Inner, cluster::follow},
    store::Sweep,
};

/// How often old tasks and keys are looked for.
const SWEEP: Duration = Duration::from_secs(60);

/// The pause between two batches of them, in which the store does other things.
const BATCH_PAUSE: Duration = Duration::from_millis(50);

impl Inner {
    /// Begins to do what an engine does by itself, if it has not yet.
    pub(in crate::engine) fn start(self: &Arc<Self>) {
        if self.started.load(Ordering::Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        runtime.spawn(keep(Arc::downgrade(self)));
        runtime.spawn(forget(Arc::downgrade(self)));
        let signals = self.cluster.signals.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(signals) = signals {
            runtime.spawn(follow(Arc::downgrade(self), signals));
        }
        if let Some(outbox) = &self.push.outbox {
            self.tasks.spawn_on(outbox.run(), &runtime);
        }
    }

    /// Says that a webhook may wait for an event.
    pub(in crate::engine) fn wake_outbox(&self) {
        if let Some(outbox) = &self.push.outbox {
            outbox.wake();
        }
    }
}

/// Renews leases and takes over tasks until the engine is gone.
async fn keep(engine: Weak<Inner>) {
    let Some((period, wake, draining)) = engine.upgrade().map(|inner| {
        (inner.config.lease_renewal, Arc::clone(&inner.cluster.look_around), inner.draining.clone())
    }) else {
        return;
    };
    let mut ticks = tokio::time::interval(period.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = wake.notified() => {}
        }
        let Some(inner) = engine.upgrade() else { return };
        inner.renew().await;
        inner.abandon_the_rest().await;
        inner.sample();
        if !draining.is_cancelled() {
            inner.take_over().await;
        }
    }
}

/// Forgets what is old until the engine is gone or stops. It takes as long as it takes, so no
/// lease waits for it.
async fn forget(engine: Weak<Inner>) {
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
    /// Forgets some of what is old, and returns whether there is more.
    async fn sweep(&self) -> bool {
        let EngineConfig { retention, parked_retention, .. } = self.config;
        let sweep = Sweep { tasks: retention, parked: parked_retention, ..Sweep::default() };
        match self.store.sweep(sweep).await {
            Ok(forgotten) => forgotten >= sweep.limit,
            Err(error) => {
                tracing::warn!(error = ?error, "what is old could not be forgotten");
                false
            }
        }
    }
}
