//! Written before seen: changes go to the store, and only then to the readers.

use std::{sync::Arc, time::Duration};

use a2a_core::v1::stream_response::Payload;
use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::time::Instant;

use crate::{
    Event, EventId, UpdateError,
    engine::{
        cluster::answer_late,
        runtime::Handle,
        task::{Failure, Group, Holder},
    },
    store::{Committed, Hold, NewTask, StoreError, Transition},
};

/// The pause after the first try of a store that fails, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(2);

impl Handle {
    /// Sees to it that the pending changes are stored and shown.
    ///
    /// There is one writer per task at most; changes that come meanwhile go in its next group.
    /// Returns whether nothing is left to be written.
    pub(in crate::engine) fn write(&self) -> bool {
        let (begins, is_writing) =
            self.quietly(|live| (live.begin_writing(), live.disk.is_writing()));
        if !begins {
            return !is_writing;
        }
        let mut writer = Box::pin(write(self.clone()));
        // A store in memory is done at the first look. Any other goes on in a task of its own,
        // so that no executor or caller that is dropped leaves a change half written.
        let is_written = (&mut writer).now_or_never().is_some();
        if !is_written {
            self.inner.tasks.spawn(writer);
        }
        is_written
    }

    /// Waits until the event at `position` is stored.
    ///
    /// # Errors
    ///
    /// The store has failed, or another node works on the task.
    pub(in crate::engine) async fn stored(
        &self,
        generation: u64,
        position: u64,
    ) -> Result<(), UpdateError> {
        self.wait(|live| {
            let is_stored = live.log.last() >= position.min(live.changes.last);
            match live.listens(generation) {
                Err(UpdateError::Store) | Ok(()) if is_stored => Some(Ok(())),
                Ok(()) => {
                    live.await_batch();
                    None
                }
                Err(error) => Some(Err(error)),
            }
        })
        .await
    }
}

async fn write(handle: Handle) {
    while let Some(group) = handle.quietly(|live| live.next_group()) {
        let result = store_patiently(&handle, &group).await;
        if handle.lock().ownership.generation != group.generation {
            // The task was lost meanwhile, and perhaps taken up again: this is of the past.
            return;
        }
        match result {
            Ok(committed) => {
                let lets_go = group.hold == Hold::Release;
                let states = handle.change(|live| live.stored(group));
                states.into_iter().for_each(|state| handle.tell_of(state));
                answer_late(&handle);
                if committed.has_pushes {
                    handle.inner.wake_outbox();
                }
                if lets_go && handle.inner.cluster.is_shared {
                    handle.inner.serve_commands(&handle);
                }
            }
            Err(StoreError::Conflict { .. }) => {
                tracing::warn!(task.id = %handle.task_id, "another node has taken the task over");
                crate::metrics::lost_lease();
                handle.change(|live| live.lose(Holder::Elsewhere));
                handle.refresh();
                return;
            }
            Err(StoreError::Claimed { task_id }) => {
                tracing::warn!(task.id = %handle.task_id, by = %task_id, "another node took the message over before its task was stored");
                handle.change(|live| live.not_stored(Failure::Superseded(task_id.into())));
                return;
            }
            Err(error) => {
                tracing::error!(task.id = %handle.task_id, error = %error, source = ?error, "a task could not be stored");
                let is_full = matches!(error, StoreError::Full);
                let failure = if is_full { Failure::Full } else { Failure::Unavailable };
                handle.change(|live| live.not_stored(failure));
                handle.let_go_if_idle();
                return;
            }
        }
    }
    // Whoever waited for the writer to be done may let the task go now.
    handle.let_go_if_idle();
}

/// Stores a group, and tries again for a while where the store fails.
async fn store_patiently(handle: &Handle, group: &Group) -> Result<Committed, StoreError> {
    let mut pause = FIRST_PAUSE;
    // Set at the first failure.
    let mut deadline = None;
    let mut is_over = |pause| {
        let now = Instant::now();
        now + pause >= *deadline.get_or_insert(now + handle.inner.config.store_patience)
    };
    let mut tried = false;
    loop {
        match store(handle, group).await {
            Err(StoreError::Failed(cause)) if !is_over(pause) => {
                tracing::warn!(task.id = %handle.task_id, cause = %cause, "the store failed and is tried again");
                tried = true;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            // An earlier try may have been written though it failed to say so.
            Err(StoreError::Conflict { task_id }) if tried => match is_written(handle, group).await
            {
                Ok(true) => return Ok(Committed::new(true)),
                Ok(false) => return Err(StoreError::Conflict { task_id }),
                Err(error) if is_over(pause) => return Err(error),
                Err(_) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            },
            result => return result,
        }
    }
}

async fn is_written(handle: &Handle, group: &Group) -> Result<bool, StoreError> {
    let stored = handle.inner.store.get(&handle.scope, &handle.task_id).await?;
    Ok(stored
        .is_some_and(|stored| stored.epoch == group.epoch && stored.version == group.version + 1))
}

async fn store(handle: &Handle, group: &Group) -> Result<Committed, StoreError> {
    let events: Vec<Event> = group.events().cloned().collect();
    let is_pushed = |event: &&Event| match event.payload() {
        Some(Payload::Task(_) | Payload::StatusUpdate(_)) => true,
        Some(Payload::ArtifactUpdate(_)) => handle.inner.config.push_artifacts,
        Some(Payload::Message(_)) | None => false,
    };
    let pushes: Vec<EventId> = events.iter().filter(is_pushed).filter_map(Event::id).collect();
    let store = &handle.inner.store;
    match (&group.snapshot, group.is_new()) {
        (Some(task), true) => {
            let new = NewTask {
                task: Arc::clone(task),
                key: group.key.clone(),
                events,
                pushes,
                webhooks: group.webhooks.clone(),
                execution: match &group.hold {
                    Hold::Record(execution) => Some(execution.clone()),
                    Hold::Keep => Some(Bytes::new()),
                    Hold::Release => None,
                },
            };
            store.insert(&handle.scope, new).await
        }
        (snapshot, _) => {
            let transition = Transition {
                task_id: Arc::clone(&handle.task_id),
                version: group.version,
                epoch: group.epoch,
                events,
                snapshot: snapshot.clone(),
                pushes,
                hold: group.hold.clone(),
                answers: group.answers.clone(),
            };
            store.commit(&handle.scope, transition).await
        }
    }
}
