//! One task that is worked on or watched: its state under one lock, and those who wait for it.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use a2a_core::v1::{
    Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent, stream_response::Payload,
};
use tokio_util::sync::CancellationToken;

use super::{
    Inner,
    log::{Log, Waiters},
};
use crate::{CallContext, Event, EventId, Scope};

/// A task that is worked on or watched. Reached through a [`Handle`].
#[derive(Debug)]
pub(crate) struct Entry {
    pub(super) scope: Scope,
    pub(super) task_id: Arc<str>,
    pub(super) context_id: Arc<str>,
    /// How many [`Handle`]s there are; the registry counts.
    pub(super) handles: AtomicUsize,
    state: Mutex<State>,
}

/// What changes about a task. Everything that is `pub(super)` here is only touched under the
/// entry's lock.
#[derive(Debug)]
pub(super) struct State {
    /// The task as it is seen: every event in it is stored. Before it appears, the draft.
    pub(super) task: Arc<Task>,
    /// Whether the task appeared: it is in the store, and callers see it.
    pub(super) appeared: bool,
    /// How often the task was stored.
    pub(super) version: u64,
    /// The events that are seen.
    pub(super) log: Log,
    /// The state of the task with the pending changes in it.
    pub(super) head: TaskState,
    /// The position of the newest event, pending ones included.
    pub(super) last_assigned: u64,
    /// Changes that are not stored yet.
    pub(super) pending: Vec<Change>,
    /// Whether a writer is at work on the pending changes.
    pub(super) writing: bool,
    /// The store failed: nothing more can be told about the task from here.
    pub(super) broken: bool,
    /// The message that answers instead of a task.
    pub(super) reply: Option<Event>,
    /// Whether an executor is at work.
    pub(super) running: bool,
    /// Whether that executor waits in `ask`.
    pub(super) asking: bool,
    /// The message that an `ask` waits for.
    pub(super) handed: Option<Message>,
    /// Messages that wait for their turn, oldest first.
    pub(super) queue: VecDeque<Queued>,
    /// The number of the newest message that was accepted.
    pub(super) last_ticket: u64,
    /// The number of the message that is worked on, or was last.
    pub(super) turn: u64,
    /// The position of the event that began that turn.
    pub(super) turn_start: u64,
    /// The task at that event, where the turn is streamed.
    pub(super) turn_opening: Option<Arc<Task>>,
    /// Whether a client has canceled.
    pub(super) canceling: bool,
    /// Whether somebody delivers the events to webhooks.
    pub(super) pushing: bool,
    /// Signals the executor that the client cancels.
    pub(super) cancel: CancellationToken,
    /// Drops the executor.
    pub(super) kill: CancellationToken,
    pub(super) waiters: Waiters,
}

/// A message that waits for its turn.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) ticket: u64,
    pub(super) turn: TurnRequest,
}

/// What an executor gets to know of one message.
#[derive(Clone, Debug)]
pub(crate) struct TurnRequest {
    pub(crate) message: Arc<Message>,
    pub(crate) call: Arc<CallContext>,
    pub(crate) accepted_output_modes: Arc<[String]>,
    pub(crate) metadata: Option<Arc<a2a_core::well_known::Struct>>,
    /// Whether the sender reads a stream.
    pub(crate) streams: bool,
}

/// Something that changes a task.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// An event that readers see.
    Event(Event),
    /// A message of the client that enters the history.
    History(Message),
}

impl Change {
    /// Returns whether the stored snapshot has to be written again.
    pub(super) fn needs_snapshot(&self) -> bool {
        match self {
            Self::Event(event) => !matches!(event.payload(), Some(Payload::ArtifactUpdate(_))),
            Self::History(_) => true,
        }
    }

    /// Applies the change to the task.
    pub(super) fn apply(&self, task: &mut Task) {
        match self {
            Self::History(message) => task.history.push(message.clone()),
            Self::Event(event) => match event.payload() {
                Some(Payload::Task(new)) => task.clone_from(new),
                Some(Payload::StatusUpdate(update)) => task.apply_status(update),
                Some(Payload::ArtifactUpdate(update)) => task.apply_artifact(update),
                Some(Payload::Message(_)) | None => {}
            },
        }
    }
}

impl State {
    fn new(task: Arc<Task>, last: u64, log: Log) -> Self {
        Self {
            head: task.state(),
            task,
            appeared: false,
            version: 0,
            log,
            last_assigned: last,
            pending: Vec::new(),
            writing: false,
            broken: false,
            reply: None,
            running: false,
            asking: false,
            handed: None,
            queue: VecDeque::new(),
            last_ticket: 0,
            turn: 0,
            turn_start: last + 1,
            turn_opening: None,
            canceling: false,
            pushing: false,
            cancel: CancellationToken::new(),
            kill: CancellationToken::new(),
            waiters: Waiters::default(),
        }
    }

    /// Returns whether nothing more can come: the task has ended, or a message answered.
    pub(super) fn is_over(&self) -> bool {
        self.head.is_terminal() || self.reply.is_some() || self.broken
    }

    /// Returns whether every event is seen. What a writer is at work on is pending no more, and
    /// not in the log yet.
    pub(super) fn is_shown(&self) -> bool {
        self.pending.is_empty() && self.log.last() >= self.last_assigned
    }

    /// Makes the task appear, if it has not yet.
    pub(super) fn appear(&mut self) {
        if self.last_assigned == 0 {
            let task = Task::clone(&self.task);
            self.push(Payload::Task(task));
        }
    }

    /// Adds an event to the changes that are to be stored.
    pub(super) fn push(&mut self, payload: Payload) -> u64 {
        self.last_assigned += 1;
        let event =
            Event::new(EventId::new(self.last_assigned), StreamResponse { payload: Some(payload) });
        if let Some(state) = event.state() {
            self.head = state;
        }
        self.pending.push(Change::Event(event));
        self.last_assigned
    }
}

impl Entry {
    /// Creates the entry of a task that has not appeared yet.
    pub(super) fn draft(inner: &Inner, scope: Scope, task: Task) -> Self {
        let log = Log::new(0, inner.config.max_log_events, inner.config.max_log_bytes);
        Self {
            scope,
            task_id: task.id.as_str().into(),
            context_id: task.context_id.as_str().into(),
            handles: AtomicUsize::new(0),
            state: Mutex::new(State::new(Arc::new(task), 0, log)),
        }
    }

    /// Creates the entry of a task from the store.
    pub(super) fn stored(inner: &Inner, scope: Scope, stored: crate::store::StoredTask) -> Self {
        let last = stored.last_event.get();
        let log = Log::new(last, inner.config.max_log_events, inner.config.max_log_bytes);
        let task = stored.task;
        let (task_id, context_id) = (task.id.as_str().into(), task.context_id.as_str().into());
        let mut state = State::new(task, last, log);
        state.appeared = true;
        state.version = stored.version;
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

/// Keeps an entry in the engine for as long as somebody works on it or watches it.
pub(crate) struct Handle {
    pub(super) inner: Arc<Inner>,
    entry: Arc<Entry>,
}

impl Handle {
    /// Takes over an entry that the registry has counted one more handle on.
    pub(super) fn new(inner: Arc<Inner>, entry: Arc<Entry>) -> Self {
        Self { inner, entry }
    }

    /// The entry itself, which keeps nothing in the engine.
    pub(super) fn entry(&self) -> Arc<Entry> {
        Arc::clone(&self.entry)
    }

    /// Waits until `ready` finds what it looks for in the state.
    pub(super) fn wait<T, F>(&self, ready: F) -> Wait<'_, F>
    where
        F: FnMut(&mut State) -> Option<T> + Unpin,
    {
        Wait { entry: &self.entry, ready, slot: None }
    }
}

impl std::ops::Deref for Handle {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.entry.handles.fetch_add(1, Ordering::Relaxed);
        Self { inner: Arc::clone(&self.inner), entry: Arc::clone(&self.entry) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.inner.entries.release(&self.entry);
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("task_id", &self.entry.task_id).finish_non_exhaustive()
    }
}

/// See [`Handle::wait`].
#[derive(Debug)]
pub(super) struct Wait<'a, F> {
    entry: &'a Entry,
    ready: F,
    slot: Option<usize>,
}

impl<T, F: FnMut(&mut State) -> Option<T> + Unpin> Future for Wait<'_, F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let mut state = this.entry.lock();
        match (this.ready)(&mut state) {
            Some(value) => Poll::Ready(value),
            None => {
                // Under the same lock as the look, so no change can slip in between.
                state.waiters.register(&mut this.slot, cx.waker());
                Poll::Pending
            }
        }
    }
}

impl<F> Drop for Wait<'_, F> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.entry.lock().waiters.forget(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_being_written_is_not_shown_yet() {
        let mut state = State::new(Arc::default(), 0, Log::new(0, 10, usize::MAX));
        assert!(state.is_shown());
        state.appear();
        assert!(!state.is_shown());
        // As a writer takes it, and puts it into the log when it is stored.
        for change in std::mem::take(&mut state.pending) {
            assert!(!state.is_shown());
            if let Change::Event(event) = change {
                state.log.push(event);
            }
        }
        assert!(state.is_shown());
    }
}
