//! Writes changes to the store, and then makes them visible.

use std::{sync::Arc, time::Duration};

use a2a_core::v1::stream_response::Payload;
use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::time::Instant;

use crate::{
    Event, EventId, LogLimit,
    engine::{
        runtime::Handle,
        task::{Confirmation, Failure, Group, LiveTask},
    },
    store::{Committed, LeaseUpdate, NewTask, StoreError, Transition},
};

/// The delay after the first failed write, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The maximum delay between attempts.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The lines of all tasks of the process: a store that fails, fails for all of them.
static FAILURES: LogLimit = LogLimit::new();
static RETRIES: LogLimit = LogLimit::new();

impl Handle {
    /// Writes the pending changes and makes them visible; returns whether that is done.
    ///
    /// At most one writer runs per task; changes made in the meantime go into its next group.
    pub(super) fn start_writer(&self) -> bool {
        let mut writer = Box::pin(write(self.clone()));
        // With a memory store the future is ready on the first poll. Otherwise it runs in its own
        // task, so that dropping an executor or a caller leaves no change half written.
        let is_written = (&mut writer).now_or_never().is_some();
        if !is_written {
            self.inner.tasks.spawn(writer);
        }
        is_written
    }
}

async fn write(handle: Handle) {
    while let Some(group) = handle.change_silently(LiveTask::next_group) {
        let generation = group.generation;
        let begun = group.is_new().then(|| handle.inner.lease_clock()).flatten();
        let result = store_with_retries(&handle, &group).await;
        // A task that was lost in the meantime, and perhaps reacquired, ignores the result.
        match result {
            Ok(committed) => {
                let is_shared = handle.inner.cluster.is_shared;
                let has_pushes = committed.has_pushes;
                let confirmation = Confirmation { begun, has_pushes, is_shared };
                let stored = handle.change(|live| live.stored(*group, confirmation));
                let Some(states) = stored else { return };
                states.into_iter().for_each(|state| handle.record_transition(state));
            }
            Err(StoreError::Conflict { .. }) => {
                if handle.change(|live| live.conflicted(generation)) {
                    tracing::warn!(task.id = %handle.task_id, "lease lost");
                    crate::metrics::lost_lease(handle.inner.config.metrics_label);
                }
                return;
            }
            Err(error) => {
                let failure = match &error {
                    StoreError::Claimed { task_id } => Failure::Superseded(task_id.as_str().into()),
                    StoreError::Full => Failure::Full,
                    StoreError::Rejected(_) => Failure::Rejected,
                    _ => Failure::Unavailable,
                };
                let is_superseded = matches!(failure, Failure::Superseded(_));
                if !handle.change(|live| live.not_stored(generation, failure)) {
                    return;
                }
                if is_superseded {
                    tracing::warn!(task.id = %handle.task_id, error = %error, "idempotency key taken over by another node");
                } else if let Some(omitted) = FAILURES.admit() {
                    tracing::error!(task.id = %handle.task_id, error = %error, source = ?error, omitted, "failed to store task");
                }
                return;
            }
        }
    }
}

/// Writes a group, with retries while the store fails.
async fn store_with_retries(handle: &Handle, group: &Group) -> Result<Committed, StoreError> {
    let mut pause = FIRST_PAUSE;
    // Set at the first failure.
    let mut deadline = None;
    let mut is_over = |pause| {
        let now = Instant::now();
        now + pause >= *deadline.get_or_insert(now + handle.inner.config.store_retry_timeout)
    };
    let mut tried = false;
    loop {
        match store(handle, group).await {
            Err(StoreError::Failed(cause))
                if !is_over(pause) && handle.lock().is_current(group.generation) =>
            {
                if let Some(omitted) = RETRIES.admit() {
                    tracing::warn!(task.id = %handle.task_id, cause = %cause, omitted, "store write failed, will retry");
                }
                tried = true;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            // An earlier attempt may have succeeded despite its error.
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
        Some(Payload::ArtifactUpdate(_)) => handle.inner.config.push.artifacts,
        Some(Payload::Message(_)) | None => false,
    };
    let pushes: Vec<EventId> = events.iter().filter(is_pushed).filter_map(Event::id).collect();
    let store = &handle.inner.store;
    match (&group.snapshot, group.is_new()) {
        (Some(task), true) => {
            let checkpoint = match &group.lease {
                LeaseUpdate::Checkpoint(checkpoint) => Some(checkpoint.clone()),
                LeaseUpdate::Keep => Some(Bytes::new()),
                LeaseUpdate::Release => None,
            };
            let new = NewTask {
                task: Arc::clone(task),
                key: group.key.clone(),
                events,
                pushes,
                webhooks: group.webhooks.clone(),
                checkpoint,
                journal: Bytes::copy_from_slice(group.journal.update.bytes()),
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
                lease: group.lease.clone(),
                journal: group.journal.update.clone(),
                answers: group.answers.clone(),
            };
            store.commit(&handle.scope, transition).await
        }
    }
}
