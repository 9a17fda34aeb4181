//! Delivers what waits for webhooks.
//!
//! An engine with a [`PushSender`] makes one [`Outbox`] and keeps it, spawns [`Outbox::run`] once
//! a runtime is there, and calls [`Outbox::wake`] whenever something may have become due: after a
//! write that said so, after a webhook was put, after a task was taken over. What other nodes
//! leave behind is found without that.
//!
//! It ends when the engine drains or is dropped: tries at hand are finished, and the rest is left
//! to whoever looks next. Spawned on the engine's tracker, a shutdown waits for that.

mod pause;
mod share;
#[cfg(test)]
mod tests;
mod try_once;

use std::{future::Future, num::NonZeroUsize, sync::Arc, time::Duration};

use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;

use self::share::Shares;
use super::EngineConfig;
use crate::{
    Delivery, PushSender, metrics,
    store::{DuePush, PushKey, PushOutcome, PushStore},
    trace,
};

/// How long nothing is looked for, if nothing is known to become due. What a node leaves behind
/// that is gone is found after that time.
const SWEEP: Duration = Duration::from_secs(5);

/// How soon the store is asked again at the earliest, whatever it said.
const MIN_PAUSE: Duration = Duration::from_millis(10);

/// How often the store is told what came of a try, before the claim is left to end by itself.
const NOTE_ATTEMPTS: u32 = 5;

/// Webhooks that are called for what waits in a store.
pub(super) struct Outbox {
    worker: Arc<Worker>,
    /// Ends the worker with the engine.
    _stop: DropGuard,
}

struct Worker {
    store: Arc<dyn PushStore>,
    sender: Arc<dyn PushSender>,
    config: EngineConfig,
    shares: Shares,
    wake: Notify,
    stop: CancellationToken,
}

/// What came of a webhook that was due.
enum End {
    /// Nothing is left of it, as far as this node knows.
    Over,
    /// More of it may be due.
    More,
    /// More of it is due after a while.
    Later(Duration),
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
            shares: Shares::new(config),
            wake: Notify::new(),
            stop: stop.clone(),
        };
        Self { worker: Arc::new(worker), _stop: stop.drop_guard() }
    }

    /// Says that something may have become due.
    pub(super) fn wake(&self) {
        self.worker.wake.notify_one();
    }

    /// Delivers until the engine drains or is dropped. To be spawned once.
    pub(super) fn run(&self) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.worker).run()
    }
}

impl Worker {
    async fn run(self: Arc<Self>) {
        let limit = NonZeroUsize::new(self.config.push_concurrency).map_or(1, NonZeroUsize::get);
        let mut pushes = JoinSet::new();
        let mut look = Instant::now();
        let mut failures = 0;
        let mut counted: Option<Instant> = None;
        loop {
            let has_room = pushes.len() < limit;
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = self.wake.notified() => look = Instant::now(),
                Some(end) = pushes.join_next() => match end {
                    Ok(End::Over) => {}
                    Ok(End::More) => look = Instant::now(),
                    Ok(End::Later(after)) => look = look.min(Instant::now() + after),
                    Err(error) => tracing::error!(%error, "a webhook was lost sight of"),
                },
                () = sleep_until(look), if has_room => {}
            }
            let room = limit.saturating_sub(pushes.len());
            if room == 0 || Instant::now() < look {
                continue;
            }
            if counted.is_none_or(|time| time.elapsed() >= SWEEP) {
                counted = Some(Instant::now());
                self.shares.sweep();
                // Whether the store answers shows below.
                if let Ok(backlog) = self.store.backlog().await {
                    metrics::outbox(backlog);
                }
            }
            // Not raced against anything: what it claims must not be lost.
            match self.store.due(room).await {
                Ok(due) => {
                    failures = 0;
                    // As many as there is room for: there may be more, for the next that ends.
                    let is_all = due.pushes.len() < room;
                    let next = due.next.unwrap_or(SWEEP).clamp(MIN_PAUSE, SWEEP);
                    look = Instant::now() + if is_all { next } else { Duration::ZERO };
                    for push in due.pushes {
                        pushes.spawn(Arc::clone(&self).push(push));
                    }
                }
                Err(error) => {
                    tracing::warn!(error = ?error, "it is not known which webhooks are due");
                    look = Instant::now() + MIN_PAUSE + self.pause(failures);
                    failures += 1;
                }
            }
        }
        while pushes.join_next().await.is_some() {}
    }

    /// Delivers the events that wait for a webhook, one after the other.
    async fn push(self: Arc<Self>, push: DuePush) -> End {
        let DuePush { key, scope, webhook, task, events, mut attempts } = push;
        let host = self.sender.destination(&webhook.config);
        let place = match self.shares.enter(host, &scope) {
            Ok(place) => place,
            Err(after) => {
                metrics::postponed();
                self.note(&key, PushOutcome::Postponed { after }).await;
                return End::Later(after);
            }
        };
        for event in events {
            if self.stop.is_cancelled() {
                break;
            }
            // What is stored has a position.
            let Some(id) = event.id() else { continue };
            let may_call = attempts == 0 || place.may_retry();
            attempts = attempts.saturating_add(1);
            let delivery = Delivery { event, task: Arc::clone(&task) };
            let trace = webhook.trace.as_ref();
            let span = trace::delivery(&key.task_id, &key.config_id, id.get(), attempts, trace);
            let call = may_call.then_some((&webhook, &delivery));
            let outcome = self.measured(&key, call, id, attempts).instrument(span).await;
            if matches!(outcome, PushOutcome::Delivered(_)) {
                place.delivered();
            }
            let later = match &outcome {
                PushOutcome::Retry { after, .. } => Some(*after),
                PushOutcome::Delivered(_)
                | PushOutcome::Dead { .. }
                | PushOutcome::Postponed { .. }
                | PushOutcome::Unclaimed => None,
            };
            let holds = self.note(&key, outcome).await;
            if let Some(after) = later {
                return End::Later(after);
            }
            if !holds {
                return End::Over;
            }
            attempts = 0;
        }
        // The claim still holds: events have come meanwhile, or this node delivers no more.
        self.note(&key, PushOutcome::Unclaimed).await;
        End::More
    }

    /// Tells the store what came of a try, and returns whether the claim holds.
    async fn note(&self, key: &PushKey, outcome: PushOutcome) -> bool {
        for failures in 0..NOTE_ATTEMPTS {
            match self.store.pushed(key, outcome.clone()).await {
                Ok(holds) => return holds,
                Err(error) => {
                    tracing::warn!(error = ?error, "what came of a webhook could not be stored");
                }
            }
            tokio::time::sleep(MIN_PAUSE + self.pause(failures)).await;
        }
        // The event is delivered again when the claim has ended: at least once, not once.
        false
    }
}
