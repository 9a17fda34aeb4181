//! Written before seen: changes go to the store, and only then to the readers.

use std::{sync::Arc, time::Duration};

use a2a_core::{
    TaskState,
    v1::{Task, stream_response::Payload},
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::{
    change::{self, Change},
    command::answer_late,
    handle::Handle,
    record::Record,
    state::{Birth, Holder, State},
};
use crate::{
    Event, EventId, Webhook,
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
    pub(super) fn write(&self) -> bool {
        {
            let mut state = self.lock();
            if state.writing || state.pending.is_empty() || state.broken {
                return !state.writing;
            }
            state.writing = true;
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
    pub(super) async fn stored(&self, run: u64, position: u64) -> Result<(), NotStored> {
        self.wait(|state| {
            if state.run != run {
                Some(Err(NotStored::Moved))
            } else if state.log.last() >= position.min(state.last_assigned) {
                Some(Ok(()))
            } else if state.broken {
                Some(Err(NotStored::Failed))
            } else {
                state.await_batch();
                None
            }
        })
        .await
    }
}

/// Why an event was not stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum NotStored {
    Failed,
    Moved,
}

async fn write(handle: Handle) {
    while let Some(group) = next_group(&handle) {
        let result = store_patiently(&handle, &group).await;
        if handle.lock().run != group.run {
            // The task was lost meanwhile, and perhaps taken up again: this is of the past.
            return;
        }
        match result {
            Ok(committed) => {
                let lets_go = group.hold == Hold::Release;
                let states = handle.change(|state| show(state, group));
                states.into_iter().for_each(|state| handle.tell_of(state));
                answer_late(&handle);
                if committed.has_pushes {
                    handle.inner.wake_outbox();
                }
                if lets_go && handle.inner.clustered {
                    handle.inner.serve_commands(&handle);
                }
            }
            Err(StoreError::Conflict { .. }) => {
                tracing::warn!(task.id = %handle.task_id, "another node has taken the task over");
                crate::metrics::lost_lease();
                handle.change(|state| state.lose(Holder::Elsewhere));
                handle.refresh();
                return;
            }
            Err(StoreError::Claimed { task_id }) => {
                tracing::warn!(task.id = %handle.task_id, by = %task_id, "another node took the message over before its task was stored");
                handle.change(|state| {
                    state.superseded = Some(task_id.into());
                    state.give_up();
                });
                return;
            }
            Err(error) => {
                tracing::error!(task.id = %handle.task_id, error = %error, source = ?error, "a task could not be stored");
                handle.change(|state| {
                    state.full = matches!(error, StoreError::Full);
                    state.give_up();
                });
                handle.let_go_if_idle();
                return;
            }
        }
    }
    // Whoever waited for the writer to be done may let the task go now.
    handle.let_go_if_idle();
}

/// Shows readers a group that is stored, and returns the states that the task goes through.
fn show(state: &mut State, group: Group) -> Vec<TaskState> {
    match &group.snapshot {
        Some(task) => state.task = Arc::clone(task),
        None => {
            let task = Arc::make_mut(&mut state.task);
            group.changes.iter().for_each(|change| change.apply(task));
        }
    }
    state.storing = Arc::default();
    group.answers.iter().for_each(|(command, _)| state.commands.finish(command));
    state.version = group.version + 1;
    state.epoch = group.epoch;
    state.known_hold = group.epoch;
    state.appeared = true;
    state.birth = Birth::default();
    if group.hold == Hold::Release {
        state.holder = Holder::Nobody;
    }
    if group.is_whole {
        state.log.skip_to(EventId::FIRST.get());
    }
    group.events().for_each(|event| state.log.push(event.clone()));
    group.states
}

/// Changes that are stored together.
struct Group {
    changes: Arc<Vec<Change>>,
    /// The states that the task goes through.
    states: Vec<TaskState>,
    version: u64,
    epoch: u64,
    run: u64,
    is_new: bool,
    /// Whether the task is stored when it has ended, without the events that led there.
    is_whole: bool,
    snapshot: Option<Arc<Task>>,
    webhooks: Vec<Webhook>,
    key: Option<String>,
    hold: Hold,
    answers: Vec<(Arc<str>, Bytes)>,
}

impl Group {
    /// The events that are stored.
    fn events(&self) -> impl Iterator<Item = &Event> {
        let changes = if self.is_whole { &[] } else { self.changes.as_slice() };
        changes.iter().filter_map(|change| match change {
            Change::Event(event) => Some(event),
            Change::Appeared | Change::History(_) => None,
        })
    }
}

fn next_group(handle: &Handle) -> Option<Group> {
    let mut state = handle.lock();
    if state.pending.is_empty() || state.broken {
        state.writing = false;
        return None;
    }
    let pending = std::mem::take(&mut state.pending);
    let is_new = !state.appeared;
    let ends = state.head.is_terminal();
    let states = pending.iter().filter_map(Change::state).collect();
    let snapshot = (is_new || pending.iter().any(Change::needs_snapshot))
        .then(|| Arc::new(change::applied(&state.task, pending.iter())));
    // Nobody has seen what happened on the way, or can ask for it.
    let is_whole = is_new && ends && state.birth.is_private();
    let changes = if is_whole {
        state.last_assigned = EventId::FIRST.get();
        Arc::new(pending)
    } else {
        let task = &state.task;
        Arc::new(pending.into_iter().map(|change| change.into_event(task)).collect())
    };
    state.storing = Arc::clone(&changes);
    let execution = state.execution.take();
    // What has ended, or was never worked on by an executor, is nobody's.
    let hold = match execution {
        _ if ends || is_new && !state.running && !state.cut_off => Hold::Release,
        Some(turn) => Hold::Record(Record::execution(&turn)),
        None => Hold::Keep,
    };
    let last = state.last_assigned;
    let answers = state.commands.answers(ends.then_some(last));
    // A task that is new is stored under the first epoch.
    let epoch = if is_new { 1 } else { state.epoch };
    let webhooks = std::mem::take(&mut state.birth.webhooks);
    let key = state.birth.key.clone().filter(|_| is_new);
    let (version, run) = (state.version, state.run);
    Some(Group {
        changes,
        states,
        version,
        epoch,
        run,
        is_new,
        is_whole,
        snapshot,
        webhooks,
        key,
        hold,
        answers,
    })
}

/// Stores a group, and tries again for a while where the store fails.
async fn store_patiently(handle: &Handle, group: &Group) -> Result<Committed, StoreError> {
    let deadline = Instant::now() + handle.inner.config.store_patience;
    let mut pause = FIRST_PAUSE;
    let mut tried = false;
    loop {
        match store(handle, group).await {
            Err(StoreError::Failed(cause)) if Instant::now() + pause < deadline => {
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
                Err(error) if Instant::now() + pause >= deadline => return Err(error),
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
    match (&group.snapshot, group.is_new) {
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
