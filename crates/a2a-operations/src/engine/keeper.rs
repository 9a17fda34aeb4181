//! What an engine does by itself: keeps its leases, takes over from nodes that are gone, follows
//! what other nodes write, forgets what is old.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use a2a_core::v1::stream_response::Payload;
use futures_util::StreamExt as _;
use tokio::time::{Instant, MissedTickBehavior};

use super::{
    Inner,
    entry::{Handle, Holder},
};
use crate::{
    Event, EventId,
    store::{Signal, Signals, Sweep},
};

/// How many tasks are taken over at once; the rest follows at once, here or on another node.
const TAKE_OVER: usize = 64;

/// How often old tasks and keys are looked for.
const SWEEP: Duration = Duration::from_secs(60);

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
    let mut swept: Option<Instant> = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = wake.notified() => {}
        }
        let Some(inner) = engine.upgrade() else { return };
        inner.renew().await;
        inner.abandon_the_rest().await;
        if !draining.is_cancelled() {
            inner.take_over().await;
            if swept.is_none_or(|swept| swept.elapsed() >= SWEEP) {
                swept = Some(Instant::now());
                inner.sweep().await;
            }
        }
    }
}

impl Inner {
    async fn renew(self: &Arc<Self>) {
        let held: Vec<_> = self
            .entries
            .all()
            .into_iter()
            .filter_map(|entry| {
                let state = entry.lock();
                let at_work = state.running || state.writing || state.commands.is_busy();
                let held = state.holder == Holder::Here && state.epoch > 0 && !state.broken;
                (held && at_work).then(|| (Arc::clone(&entry.task_id), state.epoch))
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
            let is_lost = handle.change(|state| {
                // One that was let go meanwhile is not lost, and a writer finds out by itself.
                let is_lost =
                    state.holder == Holder::Here && !state.writing && Some(state.epoch) == epoch;
                if is_lost {
                    state.lose(Holder::Elsewhere);
                }
                is_lost
            });
            if is_lost {
                tracing::warn!(task.id = %task_id, "another node has taken the task over");
                handle.refresh();
            }
        }
    }

    async fn take_over(self: &Arc<Self>) {
        loop {
            match self.store.take_over(TAKE_OVER).await {
                Ok(orphans) => {
                    let more = orphans.len() == TAKE_OVER;
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

    async fn sweep(&self) {
        let sweep = Sweep { tasks: self.config.retention, ..Sweep::default() };
        loop {
            match self.store.sweep(sweep).await {
                Ok(forgotten) if forgotten >= sweep.limit => {}
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(error = ?error, "what is old could not be forgotten");
                    return;
                }
            }
        }
    }
}

/// Follows what other nodes do, until the engine is gone or the store ends.
async fn follow(engine: Weak<Inner>, mut signals: Signals) {
    while let Some(signal) = signals.next().await {
        let Some(inner) = engine.upgrade() else { return };
        match signal {
            Signal::Written { task_id, last_event, events } => {
                if let Some(entry) = inner.entries.find_any(&task_id) {
                    Handle::new(Arc::clone(&inner), entry).note(last_event, events);
                }
            }
            Signal::Posted { task_id } => {
                if let Some(entry) = inner.entries.find_any(&task_id) {
                    let handle = Handle::new(Arc::clone(&inner), entry);
                    inner.serve_commands(&handle);
                }
            }
            Signal::Answered { command_id } => inner.expected.wake(&command_id),
            Signal::Abandoned => inner.look_around.notify_one(),
            Signal::Missed => {
                inner.expected.wake_all();
                for entry in inner.entries.all() {
                    let Some(entry) = inner.entries.find_any(&entry.task_id) else { continue };
                    let handle = Handle::new(Arc::clone(&inner), entry);
                    let here = handle.lock().holder == Holder::Here;
                    if here {
                        inner.serve_commands(&handle);
                    } else {
                        handle.refresh();
                    }
                }
                inner.look_around.notify_one();
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

impl Handle {
    /// Another node wrote the task: shows its events to the readers here.
    fn note(&self, last_event: EventId, events: Vec<Event>) {
        let known = self.change(|state| {
            if state.holder == Holder::Here || !state.appeared {
                return true;
            }
            // Chunks of artifacts change nothing but the artifact, so they need no second look.
            let next = state.log.last() + 1;
            let follows = events.first().and_then(Event::id).is_some_and(|id| id.get() == next);
            let chunks = events
                .iter()
                .all(|event| matches!(event.payload(), Some(Payload::ArtifactUpdate(_))));
            if !follows || !chunks || !state.running {
                return false;
            }
            let task = Arc::make_mut(&mut state.task);
            for event in &events {
                if let Some(Payload::ArtifactUpdate(update)) = event.payload() {
                    task.apply_artifact(update);
                }
            }
            for event in events {
                state.log.push(event);
            }
            state.last_assigned = state.log.last();
            state.log.last() >= last_event.get()
        });
        if !known {
            self.refresh();
        }
    }
}
