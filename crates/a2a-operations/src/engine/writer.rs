//! Written before seen: changes go to the store, and only then to the readers.

use std::sync::Arc;

use a2a_core::v1::Task;
use futures_util::FutureExt as _;

use super::entry::{Change, Handle};
use crate::{
    Event,
    store::{StoreError, Transition},
};

impl Handle {
    /// Sees to it that the pending changes are stored and shown.
    ///
    /// There is one writer per task at most; changes that come meanwhile go in its next group.
    pub(super) fn write(&self) {
        if !self.begin_writing() {
            return;
        }
        let mut writer = Box::pin(write(self.clone()));
        // A store in memory is done at the first look. Any other goes on in a task of its own,
        // so that no executor or caller that is dropped leaves a change half written.
        if (&mut writer).now_or_never().is_none() {
            self.inner.tasks.spawn(writer);
        }
    }

    fn begin_writing(&self) -> bool {
        let mut state = self.lock();
        let begin = !state.writing && !state.pending.is_empty() && !state.broken;
        state.writing |= begin;
        begin
    }

    /// Waits until the event at `position` is stored.
    ///
    /// # Errors
    ///
    /// The store has failed.
    pub(super) async fn stored(&self, position: u64) -> Result<(), StoreFailed> {
        self.wait(|state| {
            if state.log.last() >= position {
                Some(Ok(()))
            } else if state.broken {
                Some(Err(StoreFailed))
            } else {
                None
            }
        })
        .await
    }
}

/// The store failed while a task was worked on.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreFailed;

async fn write(handle: Handle) {
    while let Some(group) = next_group(&handle) {
        let result = store(&handle, &group).await;
        if let Err(error) = &result {
            tracing::error!(task.id = %handle.task_id, error = %error, source = ?error, "a task could not be stored");
        }
        handle.change(|state| match result {
            Ok(()) => {
                match group.snapshot {
                    Some(task) => state.task = task,
                    None => {
                        let task = Arc::make_mut(&mut state.task);
                        group.changes.iter().for_each(|change| change.apply(task));
                    }
                }
                state.version += 1;
                state.appeared = true;
                for change in group.changes {
                    if let Change::Event(event) = change {
                        state.log.push(event);
                    }
                }
            }
            Err(_) => {
                state.broken = true;
                state.writing = false;
                state.pending.clear();
                state.kill.cancel();
            }
        });
    }
}

/// Changes that are stored together.
struct Group {
    changes: Vec<Change>,
    version: u64,
    is_new: bool,
    snapshot: Option<Arc<Task>>,
}

fn next_group(handle: &Handle) -> Option<Group> {
    let mut state = handle.lock();
    if state.pending.is_empty() || state.broken {
        state.writing = false;
        return None;
    }
    let changes = std::mem::take(&mut state.pending);
    let is_new = !state.appeared;
    let snapshot = (is_new || changes.iter().any(Change::needs_snapshot)).then(|| {
        let mut task = Task::clone(&state.task);
        changes.iter().for_each(|change| change.apply(&mut task));
        Arc::new(task)
    });
    Some(Group { changes, version: state.version, is_new, snapshot })
}

async fn store(handle: &Handle, group: &Group) -> Result<(), StoreError> {
    let events: Vec<Event> = group
        .changes
        .iter()
        .filter_map(|change| match change {
            Change::Event(event) => Some(event.clone()),
            Change::History(_) => None,
        })
        .collect();
    let store = &handle.inner.store;
    match (&group.snapshot, group.is_new) {
        (Some(task), true) => store.insert(&handle.scope, Arc::clone(task), events).await,
        (snapshot, _) => {
            let transition = Transition {
                task_id: Arc::clone(&handle.task_id),
                version: group.version,
                events,
                snapshot: snapshot.clone(),
            };
            store.commit(&handle.scope, transition).await
        }
    }
}
