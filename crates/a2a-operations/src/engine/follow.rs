//! What other nodes do with tasks that are watched here.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use a2a_core::{Error, Result, v1::stream_response::Payload};
use futures_util::StreamExt as _;
use tokio::time::Instant;

use super::{
    Inner,
    handle::Handle,
    state::{Holder, Refreshing},
};
use crate::{
    Event, EventId,
    store::{Replay, Signal, Signals},
};

/// The pause between two tries to read a task that another node has written.
const PAUSE: Duration = Duration::from_millis(500);

/// Follows what other nodes do, until the engine is gone or the store ends.
pub(super) async fn follow(engine: Weak<Inner>, mut signals: Signals) {
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

impl Handle {
    /// Another node wrote the task: shows its events to the readers here.
    fn note(&self, last_event: EventId, events: Vec<Event>) {
        let known = self.change(|state| {
            if state.holder == Holder::Here {
                state.unheard += 1;
                return true;
            }
            if !state.appeared {
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

    /// Reads what another node has written to the task, soon.
    pub(super) fn refresh(&self) {
        let begin = self.change(|state| match state.refreshing {
            Refreshing::No => {
                state.refreshing = Refreshing::Yes;
                true
            }
            Refreshing::Yes | Refreshing::Again => {
                state.refreshing = Refreshing::Again;
                false
            }
        });
        if !begin {
            return;
        }
        let handle = self.clone();
        self.inner.tasks.spawn(async move {
            let patience = handle.inner.config.store_patience;
            let mut deadline = Instant::now() + patience;
            loop {
                if let Err(error) = handle.catch_up().await {
                    tracing::warn!(error = ?error, "a task could not be read again");
                    if handle.inner.draining.is_cancelled() || Instant::now() >= deadline {
                        handle.stop_following();
                        return;
                    }
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                deadline = Instant::now() + patience;
                let done = handle.change(|state| {
                    let again = state.refreshing == Refreshing::Again;
                    state.refreshing = if again { Refreshing::Yes } else { Refreshing::No };
                    !again
                });
                if done {
                    return;
                }
            }
        });
    }

    /// Has those who watch the task come back, as nobody can tell them how it goes on.
    fn stop_following(&self) {
        self.change(|state| {
            state.refreshing = Refreshing::No;
            if state.holder != Holder::Here {
                state.broken = true;
            }
        });
    }

    /// Reads a task that this node has lost before it showed anything of it.
    async fn read_anew(&self) -> Result<()> {
        let stored = self.inner.store.get(&self.scope, &self.task_id).await.map_err(Error::from)?;
        self.change(|state| match stored {
            _ if state.holder == Holder::Here || state.log.last() > 0 => {}
            Some(stored) => {
                state.log = self.inner.empty_log(stored.last_event.get());
                state.follow(stored);
            }
            None => state.broken = true,
        });
        Ok(())
    }

    /// Reads what another node has written to the task.
    pub(super) async fn catch_up(&self) -> Result<()> {
        let (last, here, read, unheard) = {
            let mut state = self.lock();
            state.reads_begun += 1;
            (state.log.last(), state.holder == Holder::Here, state.reads_begun, state.unheard)
        };
        let Some(after) = EventId::new(last) else {
            // One that nobody has seen here is read only where it was lost.
            return if here { Ok(()) } else { self.read_anew().await };
        };
        let loaded = self.inner.store.load(&self.scope, &self.task_id, after).await;
        let mut missed = false;
        match loaded.map_err(Error::from)? {
            Some((stored, replay)) => self.change(|state| {
                if state.holder == Holder::Here {
                    // Who holds it knows more than the store, unless another has taken it.
                    if stored.epoch <= state.epoch {
                        return;
                    }
                    state.lose(Holder::Elsewhere);
                    // That may have been after this was read.
                    missed = state.unheard > unheard;
                }
                let (stands, stood) =
                    ((stored.epoch, stored.version), (state.epoch, state.version));
                // Who lets go of a task changes neither: there, the read that began later counts.
                if stands < stood || (stands == stood && read < state.newest_read) {
                    return;
                }
                state.newest_read = state.newest_read.max(read);
                match replay {
                    Replay::Events(events) => {
                        for event in events {
                            let next = event.id().map_or(0, EventId::get) == state.log.last() + 1;
                            if next {
                                state.log.push(event);
                            }
                        }
                    }
                    Replay::Trimmed => {}
                }
                if state.log.last() < stored.last_event.get() {
                    state.log = self.inner.empty_log(stored.last_event.get());
                }
                if state.log.last() == stored.last_event.get() {
                    state.follow(stored);
                }
            }),
            None => self.change(|state| {
                // It was kept long enough.
                state.broken = true;
            }),
        }
        if missed {
            self.refresh();
        }
        Ok(())
    }
}
