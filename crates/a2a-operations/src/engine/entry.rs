//! One task that is worked on or watched.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize};

use a2a_core::v1::{
    Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
    stream_response::Payload,
};

use super::{
    Inner,
    state::{Holder, State},
};
use crate::{Scope, store::StoredTask};

/// A task that is worked on or watched. Reached through a [`Handle`](super::Handle).
#[derive(Debug)]
pub(crate) struct Entry {
    pub(super) scope: Scope,
    pub(super) task_id: Arc<str>,
    pub(super) context_id: Arc<str>,
    /// How many handles there are; the registry counts.
    pub(super) handles: AtomicUsize,
    state: Mutex<State>,
}

impl Entry {
    /// Creates the entry of a task that has not appeared yet.
    pub(super) fn draft(inner: &Inner, scope: Scope, task: Task) -> Self {
        let log = inner.empty_log(0);
        let (task_id, context_id) = (task.id.as_str().into(), task.context_id.as_str().into());
        let mut state = State::new(Arc::new(task), 0, log);
        // Nobody else knows of it.
        state.holder = Holder::Here;
        Self { scope, task_id, context_id, handles: AtomicUsize::new(0), state: Mutex::new(state) }
    }

    /// Creates the entry of a task from the store.
    pub(super) fn stored(inner: &Inner, scope: Scope, stored: StoredTask) -> Self {
        let (task_id, context_id) =
            (stored.task.id.as_str().into(), stored.task.context_id.as_str().into());
        let last = stored.last_event.get();
        let mut state = State::new(Arc::clone(&stored.task), last, inner.empty_log(last));
        state.follow(stored);
        let handles = AtomicUsize::new(0);
        Self { scope, task_id, context_id, handles, state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Every change under the lock is complete before anything in it can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes everybody who waits for it.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let (value, wakers) = {
            let mut state = self.lock();
            let value = change(&mut state);
            (value, state.waiters.take())
        };
        for waker in wakers {
            waker.wake();
        }
        value
    }

    /// A status update of this task, as an event.
    pub(super) fn status_event(&self, state: TaskState, message: Option<Message>) -> Payload {
        let mut update = TaskStatusUpdateEvent {
            status: Some(TaskStatus::now(state, message)),
            ..TaskStatusUpdateEvent::default()
        };
        self.own_status(&mut update);
        Payload::StatusUpdate(update)
    }

    /// Puts the ids of this task into an update.
    pub(super) fn own_status(&self, update: &mut TaskStatusUpdateEvent) {
        update.task_id = (*self.task_id).to_owned();
        update.context_id = (*self.context_id).to_owned();
        if let Some(message) = update.status.as_mut().and_then(|status| status.message.as_mut()) {
            self.own_message(message);
        }
    }

    /// Puts the ids of this task into an update.
    pub(super) fn own_artifact(&self, update: &mut TaskArtifactUpdateEvent) {
        update.task_id = (*self.task_id).to_owned();
        update.context_id = (*self.context_id).to_owned();
        if let Some(artifact) = &mut update.artifact
            && artifact.artifact_id.is_empty()
        {
            artifact.artifact_id = a2a_core::fresh_id();
        }
    }

    /// Makes a message one of the agent's about this task.
    pub(super) fn own_message(&self, message: &mut Message) {
        message.role = a2a_core::Role::Agent.into();
        message.task_id = (*self.task_id).to_owned();
        message.context_id = (*self.context_id).to_owned();
        if message.message_id.is_empty() {
            message.message_id = a2a_core::fresh_id();
        }
    }
}
