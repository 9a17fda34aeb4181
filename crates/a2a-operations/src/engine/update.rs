//! What executors do to their tasks, under the entry's lock.

use std::{
    future::Future,
    sync::{Arc, atomic::Ordering},
};

use a2a_core::{
    Error, Result, Role,
    v1::{
        Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent,
        stream_response::Payload,
    },
    well_known::Timestamp,
};

use super::{
    Exchange, batch::Batch, change::Change, handle::Handle, state::State, writer::NotStored,
};
use crate::{Event, UpdateError, store::TaskQuery};

/// Changes that may wait for the store before an executor has to wait for it too.
const MAX_PENDING: usize = 256;

impl Handle {
    pub(crate) fn task_id(&self) -> &str {
        &self.task_id
    }

    pub(crate) fn context_id(&self) -> &str {
        &self.context_id
    }

    pub(crate) fn task(&self) -> Arc<Task> {
        let state = self.lock();
        let mut task = Arc::clone(&state.task);
        // Whoever works on the task knows what it has become before that is stored.
        for change in state.unseen() {
            change.apply(Arc::make_mut(&mut task));
        }
        task
    }

    pub(crate) fn is_first_turn(&self) -> bool {
        let state = self.lock();
        let is_users = |message: &&Message| message.role() == Role::User;
        let stored = state.task.history.iter().filter(is_users).count();
        let unseen = state.unseen().filter(|change| matches!(change, Change::History(_)));
        stored + unseen.count() <= 1
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.lock().cancel.is_cancelled()
    }

    pub(crate) async fn cancelled(&self) {
        let cancel = self.lock().cancel.clone();
        cancel.cancelled().await;
    }

    /// Reads tasks of the same scope.
    pub(crate) async fn tasks(&self, ids: &[String]) -> Result<Vec<Arc<Task>>> {
        let mut tasks = Vec::new();
        for id in ids {
            let stored = self.inner.store.get(&self.scope, id).await.map_err(Error::from)?;
            tasks.extend(stored.map(|stored| stored.task));
        }
        Ok(tasks)
    }

    pub(crate) async fn tasks_in_context(&self) -> Result<Vec<Arc<Task>>> {
        let query = TaskQuery {
            context_id: Some((*self.context_id).to_owned()),
            limit: 101,
            ..TaskQuery::default()
        };
        let page = self.inner.store.list(&self.scope, &query).await.map_err(Error::from)?;
        let others = page.tasks.into_iter().filter(|task| *task.id != *self.task_id);
        Ok(others.take(100).collect())
    }

    pub(crate) fn replies_in_context(&self) -> Vec<Exchange> {
        self.inner.replies.of(&self.scope, &self.context_id)
    }

    /// Lets a future end while the clocks of the executor stand.
    pub(crate) async fn off_the_clock<T>(&self, future: impl Future<Output = T>) -> T {
        self.lock().work.stop_clocks();
        let _started_again = StartClocks(self);
        future.await
    }

    pub(crate) async fn set_status(
        &self,
        run: u64,
        state: TaskState,
        message: Option<Message>,
    ) -> Result<(), UpdateError> {
        let event = self.status_event(state, message);
        let position = self.accept(run, event)?;
        self.stored(run, position).await.map_err(UpdateError::from)
    }

    pub(crate) async fn push_status(
        &self,
        run: u64,
        mut update: TaskStatusUpdateEvent,
    ) -> Result<(), UpdateError> {
        let status = update.status.get_or_insert_default();
        if status.state() == TaskState::Unspecified {
            status.state = TaskState::Working.into();
        }
        status.timestamp.get_or_insert_with(Timestamp::now);
        self.own_status(&mut update);
        let position = self.accept(run, Payload::StatusUpdate(update))?;
        self.stored(run, position).await.map_err(UpdateError::from)
    }

    pub(crate) async fn push_artifact(
        &self,
        run: u64,
        mut update: TaskArtifactUpdateEvent,
    ) -> Result<(), UpdateError> {
        self.own_artifact(&mut update);
        self.accept(run, Payload::ArtifactUpdate(update))?;
        // Chunks are stored in groups; only a store that falls behind holds the executor up.
        self.wait(|state| {
            if let Err(error) = listens(state, run) {
                return Some(Err(error));
            }
            if state.pending.len() < MAX_PENDING {
                return Some(Ok(()));
            }
            state.await_batch();
            None
        })
        .await
    }

    fn accept(&self, run: u64, payload: Payload) -> Result<u64, UpdateError> {
        let accept = |state: &mut State| {
            check(state, run)?;
            self.check_size(state, &payload)?;
            state.appear();
            Ok(state.push(payload))
        };
        let (accepted, batch) = {
            let mut state = self.lock();
            (accept(&mut state), state.batch)
        };
        if batch == Batch::Closed {
            self.write();
        }
        accepted
    }

    /// Checks that an update fits into the task, and fails the task otherwise.
    fn check_size(&self, state: &mut State, payload: &Payload) -> Result<(), UpdateError> {
        let limits = &self.inner.config.task_limits;
        let Some(limit) = state.exceeded(payload, limits) else { return Ok(()) };
        let reason = limit.reason(limits);
        tracing::warn!(task.id = %self.task_id, limit = limit.name(), "task failed at a limit");
        state.appear();
        let failed = self.status_event(TaskState::Failed, Some(Message::agent(reason)));
        state.push(failed);
        Err(UpdateError::Limit(limit))
    }

    pub(crate) async fn reply(&self, run: u64, mut message: Message) -> Result<(), UpdateError> {
        let replied = self.change(|state| {
            check(state, run)?;
            if state.last_assigned > 0 {
                return Ok::<_, UpdateError>(Err(message));
            }
            message.role = Role::Agent.into();
            message.context_id = (*self.context_id).to_owned();
            if message.message_id.is_empty() {
                message.message_id = a2a_core::fresh_id();
            }
            if let Some(asked) = state.task.history.last() {
                self.inner.replies.add(&self.scope, asked, &message);
            }
            let payload = Some(Payload::Message(message));
            state.reply = Some(Event::new(None, StreamResponse { payload }));
            Ok(Ok(()))
        })?;
        match replied {
            Ok(()) => Ok(()),
            Err(message) => self.set_status(run, TaskState::Completed, Some(message)).await,
        }
    }

    pub(crate) async fn ask(
        &self,
        run: u64,
        mut question: TaskStatusUpdateEvent,
    ) -> Result<Message, UpdateError> {
        self.own_status(&mut question);
        let question = Payload::StatusUpdate(question);
        let position = self.change(|state| {
            check(state, run)?;
            if state.canceling {
                return Err(UpdateError::Canceled);
            }
            self.check_size(state, &question)?;
            state.appear();
            let position = state.push(question);
            match state.queue.pop_front() {
                Some(queued) => {
                    self.begin_turn(state, queued.ticket, &queued.turn);
                    state.handed = Some(Message::clone(&queued.turn.message));
                }
                None => state.asking = true,
            }
            Ok(position)
        });
        self.write();
        self.stored(run, position?).await?;

        let answer = self.wait(|state| {
            if let Err(error) = listens(state, run) {
                return Some(Err(error));
            }
            if let Some(message) = state.handed.take() {
                return Some(Ok(message));
            }
            if state.canceling {
                return Some(Err(UpdateError::Canceled));
            }
            check(state, run).err().map(Err)
        });
        // While it waits, an executor holds no place among the running ones.
        let _parked = Parked::new(self);
        match tokio::time::timeout(self.inner.config.ask_timeout, answer).await {
            Ok(answer) => answer,
            Err(_elapsed) => {
                self.drop_executor();
                std::future::pending().await
            }
        }
    }

    /// Drops the executor and leaves the task as it is, unless a message came just now.
    fn drop_executor(&self) {
        self.change(|state| {
            if state.asking {
                state.kill.cancel();
            }
        });
    }
}

/// Starts the clocks of an executor when dropped.
struct StartClocks<'a>(&'a Handle);

impl Drop for StartClocks<'_> {
    fn drop(&mut self) {
        self.0.lock().work.start_clocks();
    }
}

/// Counts an executor as waiting instead of running.
struct Parked<'a>(&'a Handle);

impl<'a> Parked<'a> {
    fn new(handle: &'a Handle) -> Self {
        let inner = &handle.inner;
        let parked = Self(handle);
        inner.running.fetch_sub(1, Ordering::Relaxed);
        if inner.asking.fetch_add(1, Ordering::Relaxed) >= inner.config.max_asking {
            handle.drop_executor();
        }
        parked
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        // A message that comes from now on queues; one that was handed stays for the next `ask`.
        self.0.lock().asking = false;
        self.0.inner.asking.fetch_sub(1, Ordering::Relaxed);
        self.0.inner.running.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns whether the task listens to a run of its executor.
fn listens(state: &State, run: u64) -> Result<(), UpdateError> {
    if state.run != run {
        Err(UpdateError::Moved)
    } else if state.broken {
        Err(UpdateError::Store)
    } else {
        Ok(())
    }
}

fn check(state: &State, run: u64) -> Result<(), UpdateError> {
    listens(state, run)?;
    if state.is_over() { Err(UpdateError::Ended) } else { Ok(()) }
}

impl From<NotStored> for UpdateError {
    fn from(not_stored: NotStored) -> Self {
        match not_stored {
            NotStored::Failed => Self::Store,
            NotStored::Moved => Self::Moved,
        }
    }
}
