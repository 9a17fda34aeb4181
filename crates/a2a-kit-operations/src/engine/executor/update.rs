//! Updates of executors to their tasks.

use std::{
    future::Future,
    sync::{Arc, atomic::Ordering},
};

use a2a_core::{
    Error, Result, Role,
    v1::{
        Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
        stream_response::Payload,
    },
    well_known::Timestamp,
};

use crate::{
    UpdateError,
    engine::{moment, now, operations::DirectReply, runtime::Handle, task::LiveTask},
    store::TaskQuery,
};

/// Maximum number of pending changes before an executor has to wait for the store.
const MAX_PENDING: usize = 256;

impl Handle {
    /// The executor takes no message while it works.
    pub(crate) fn refuse_messages(&self) {
        self.change_silently(LiveTask::refuse_messages);
    }

    pub(crate) fn task(&self) -> Arc<Task> {
        self.lock().task_of_executor()
    }

    pub(crate) fn is_first_turn(&self) -> bool {
        self.lock().first_message() == 0
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.change_silently(LiveTask::watch_cancel)
    }

    pub(crate) async fn cancelled(&self) {
        self.change_silently(LiveTask::watch_cancel);
        self.cancel_signal().cancelled().await;
    }

    /// Returns tasks of the same scope.
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

    pub(crate) fn replies_in_context(&self) -> Vec<DirectReply> {
        self.inner.replies.of(&self.scope, &self.context_id)
    }

    /// Awaits a future while the run limits are suspended.
    pub(crate) async fn with_clocks_stopped<T>(&self, future: impl Future<Output = T>) -> T {
        self.change_silently(|live| live.stop_clocks(now()));
        let _started_again = ResumeClocks(self);
        future.await
    }

    pub(crate) async fn set_status(
        &self,
        generation: u64,
        state: TaskState,
        message: Option<Message>,
    ) -> Result<(), UpdateError> {
        let status = Some(TaskStatus::now(state, message));
        self.push_status(generation, TaskStatusUpdateEvent { status, ..Default::default() }).await
    }

    pub(crate) async fn push_status(
        &self,
        generation: u64,
        mut update: TaskStatusUpdateEvent,
    ) -> Result<(), UpdateError> {
        let status = update.status.get_or_insert_default();
        if status.state() == TaskState::Unspecified {
            status.state = TaskState::Working.into();
        }
        status.timestamp.get_or_insert_with(Timestamp::now);
        self.own_status(&mut update);
        let position = self.accept(generation, Payload::StatusUpdate(update))?;
        self.stored(generation, position).await
    }

    pub(crate) async fn push_artifact(
        &self,
        generation: u64,
        mut update: TaskArtifactUpdateEvent,
    ) -> Result<(), UpdateError> {
        self.own_artifact(&mut update);
        self.accept(generation, Payload::ArtifactUpdate(update))?;
        // Chunks are written in batches; backpressure applies only if the store falls behind.
        self.wait(|live| live.accepts_more(generation, MAX_PENDING)).await
    }

    fn accept(&self, generation: u64, payload: Payload) -> Result<u64, UpdateError> {
        let limits = &self.inner.config.task_limits;
        let accepted =
            self.change_silently(|live| live.update(generation, payload, limits, moment()));
        self.log_limit(&accepted);
        accepted
    }

    fn log_limit<T>(&self, accepted: &Result<T, UpdateError>) {
        if let Err(UpdateError::Limit(limit)) = accepted {
            tracing::warn!(task.id = %self.task_id, limit = limit.name(), "task limit exceeded");
        }
    }

    pub(crate) async fn reply(
        &self,
        generation: u64,
        mut message: Message,
    ) -> Result<(), UpdateError> {
        message.role = Role::Agent.into();
        message.context_id = (*self.context_id).to_owned();
        if message.message_id.is_empty() {
            message.message_id = a2a_core::fresh_id();
        }
        let is_reply = self.change(|live| {
            let replied = live.reply(generation, &message)?;
            if let Some(asked) = &replied {
                self.inner.replies.add(&self.scope, asked, &message);
            }
            Ok::<_, UpdateError>(replied.is_some())
        })?;
        if is_reply {
            return Ok(());
        }
        self.set_status(generation, TaskState::Completed, Some(message)).await
    }

    pub(crate) async fn ask(
        &self,
        generation: u64,
        question: TaskStatusUpdateEvent,
        expiry: impl Future<Output = ()>,
    ) -> Result<Message, UpdateError> {
        let answer = self.ask_now(generation, question, expiry).await;
        if matches!(answer, Err(UpdateError::Canceled)) {
            // An executor that also waits for the cancel sees that first.
            tokio::task::yield_now().await;
        }
        answer
    }

    async fn ask_now(
        &self,
        generation: u64,
        mut question: TaskStatusUpdateEvent,
        expiry: impl Future<Output = ()>,
    ) -> Result<Message, UpdateError> {
        self.own_status(&mut question);
        let question = Payload::StatusUpdate(question);
        let limits = &self.inner.config.task_limits;
        let position = self.change(|live| live.ask(generation, question, limits, moment()));
        self.log_limit(&position);
        let position = position?;
        let _asking = Asking { handle: self, generation };
        self.stored(generation, position).await?;
        if self.inner.draining.is_cancelled() {
            // Shutdown drops the executors that are waiting when it begins.
            self.change(LiveTask::drop_asking);
        }

        let answer = async {
            tokio::select! {
                biased;
                answer = self.answer_to(generation) => Some(answer),
                () = expiry => None,
            }
        };
        // A waiting executor does not count as running.
        let _parked = Parked::new(self);
        match tokio::time::timeout(self.inner.config.ask_timeout, answer).await {
            Ok(Some(answer)) => answer,
            Ok(None) | Err(_) => {
                // Leaves the task unchanged, unless a message has just arrived.
                self.change(|live| live.ask_expired(moment()));
                self.answer_to(generation).await
            }
        }
    }

    /// Waits for the message that the executor asked for.
    async fn answer_to(&self, generation: u64) -> Result<Message, UpdateError> {
        loop {
            self.wait(|live| live.is_answered(generation).then_some(())).await;
            if let Some(answer) = self.change_silently(|live| live.asked(generation)) {
                return answer;
            }
        }
    }

    /// Returns whether the executor still repeats an earlier run.
    pub(crate) fn is_replay(&self) -> bool {
        self.lock().is_replaying()
    }

    /// The number of recorded answers that questions of this run have not been given yet.
    pub(crate) fn recorded_answers(&self) -> usize {
        self.lock().recorded_answers()
    }

    /// The result of named work in an earlier run.
    pub(crate) fn recall(&self, generation: u64, name: &str) -> Option<serde_json::Value> {
        self.change_silently(|live| live.recall(generation, name))
    }

    /// Fails if this node may no longer act for the task.
    pub(crate) fn check_lease(&self, generation: u64) -> Result<(), UpdateError> {
        self.lock().check_lease(generation, |since| self.inner.is_expired(since))
    }

    /// Stores the result of named work.
    pub(crate) async fn record(
        &self,
        generation: u64,
        name: &str,
        value: serde_json::Value,
    ) -> Result<(), UpdateError> {
        let limits = &self.inner.config.task_limits;
        let recorded = self.change(|live| live.record(generation, name, value, limits, moment()));
        self.log_limit(&recorded);
        let revision = recorded?;
        self.wait(|live| live.has_recorded(generation, revision)).await
    }
}

/// Resumes the run limits when dropped.
struct ResumeClocks<'a>(&'a Handle);

impl Drop for ResumeClocks<'_> {
    fn drop(&mut self) {
        self.0.change_silently(|live| live.start_clocks(now()));
    }
}

/// A question that the executor has asked, until it is answered or given up.
struct Asking<'a> {
    handle: &'a Handle,
    generation: u64,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.handle.change_silently(|live| live.stop_asking(self.generation));
    }
}

/// Counts an executor as waiting instead of running, until dropped.
struct Parked<'a>(&'a Handle);

impl<'a> Parked<'a> {
    fn new(handle: &'a Handle) -> Self {
        let inner = &handle.inner;
        let parked = Self(handle);
        inner.load.running.fetch_sub(1, Ordering::Relaxed);
        if inner.load.asking.fetch_add(1, Ordering::Relaxed) >= inner.config.max_input_waiters {
            handle.change(|live| live.drop_asking());
        }
        parked
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.0.inner.load.asking.fetch_sub(1, Ordering::Relaxed);
        self.0.inner.load.running.fetch_add(1, Ordering::Relaxed);
    }
}
