//! What an engine does by itself: keeps its leases, takes over from nodes that are gone, forgets
//! what is old.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior};

use super::{EngineConfig, Inner, follow::follow, handle::Handle};
use crate::{metrics, store::Sweep};

/// How many tasks are taken over at once; the rest follows at once, here or on another node.
const TAKE_OVER: usize = 64;

/// How often old tasks and keys are looked for.
const SWEEP: Duration = Duration::from_secs(60);

/// The pause between two batches of them, in which the store does other things.
const BATCH_PAUSE: Duration = Duration::from_millis(50);

impl Inner {
    /// Begins to do what an engine does by itself, if it has not yet.
    pub(super) fn start(self: &Arc<Self>) {
        if self.started.load(Ordering::Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        runtime.spawn(keep(Arc::downgrade(self)));
        runtime.spawn(forget(Arc::downgrade(self)));
        let signals = self.signals.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(signals) = signals {
            runtime.spawn(follow(Arc::downgrade(self), signals));
        }
        if let Some(outbox) = &self.outbox {
            self.tasks.spawn_on(outbox.run(), &runtime);
        }
    }

    /// Says that a webhook may wait for an event.
    pub(super) fn wake_outbox(&self) {
        if let Some(outbox) = &self.outbox {
            outbox.wake();
        }
    }
}

/// Renews leases and takes over tasks until the engine is gone.
async fn keep(engine: Weak<Inner>) {
    let Some((period, wake, draining)) = engine.upgrade().map(|inner| {
        (inner.config.lease_renewal, Arc::clone(&inner.look_around), inner.draining.clone())
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
    async fn renew(self: &Arc<Self>) {
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
                tracing::warn!(error = ?error, "the leases of this node could not be renewed");
                return;
            }
        };
        self.renewed.set(begun);
        for task_id in lost {
            let Some(entry) = self.entries.find_any(&task_id) else { continue };
            let handle = Handle::new(Arc::clone(self), entry);
            let epoch = held.iter().find(|(held, _)| *held == task_id).map(|(_, epoch)| *epoch);
            let is_lost = handle.change(|live| live.lose_lease(epoch));
            if is_lost {
                tracing::warn!(task.id = %task_id, "another node has taken the task over");
                metrics::lost_lease();
                handle.refresh();
            }
        }
    }

    async fn take_over(self: &Arc<Self>) {
        loop {
            // What there is no room for here is for another node, or for later.
            let running = self.running.load(Ordering::Relaxed);
            let limit = self.config.max_running.saturating_sub(running).min(TAKE_OVER);
            if limit == 0 {
                return;
            }
            match self.store.take_over(limit).await {
                Ok(orphans) => {
                    let more = orphans.len() == limit;
                    for orphan in orphans {
                        self.adopt(orphan).await;
                    }
                    if !more {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(error = ?error, "it is not known which tasks lost their node");
                    return;
                }
            }
        }
    }

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

/// When the leases of this node were renewed last.
#[derive(Debug)]
pub(super) struct Renewed(Mutex<Instant>);

impl Renewed {
    pub(super) fn now() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn set(&self, time: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    /// How long ago that was.
    pub(super) fn elapsed(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}
