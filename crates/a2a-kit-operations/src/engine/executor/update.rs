//! Updates of executors to their tasks.

use std::{future::Future, sync::atomic::Ordering};

use a2a_core::{
    Role,
    v1::{Artifact, Message, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent},
    well_known::Timestamp,
};

use crate::{
    Event, TaskUpdater, UpdateError,
    engine::{
        moment,
        runtime::Handle,
        task::{LiveTask, Now},
    },
    updater::update,
};

/// Maximum number of pending changes before an executor has to wait for the store.
const MAX_PENDING: usize = 256;

impl TaskUpdater {
    // These are not async: each future around another one would have room for a copy of the update.
    // Inlined, as an update is passed by copy.

    /// Applies a whole artifact, or a chunk.
    pub(crate) fn put_chunk(
        &self,
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
    ) -> Result<(), UpdateError> {
        let update = TaskArtifactUpdateEvent {
            artifact: Some(artifact),
            append,
            last_chunk,
            ..TaskArtifactUpdateEvent::default()
        };
        self.put_artifact(update)
    }

    /// Applies an artifact update, after the hooks of the extensions.
    #[inline]
    pub(crate) fn put_artifact(
        &self,
        mut update: TaskArtifactUpdateEvent,
    ) -> Result<(), UpdateError> {
        self.extensions.iter().for_each(|extensions| extensions.artifact(&mut update));
        self.accept_artifact(update)
    }

    /// Applies a status update, after the hooks of the extensions, and returns the position of its
    /// event.
    pub(crate) fn set_status(&self, mut update: TaskStatusUpdateEvent) -> Result<u64, UpdateError> {
        self.extend_status(&mut update);
        self.accept_status(update)
    }

    /// Runs the hooks of the extensions, which see the time of the status.
    pub(crate) fn extend_status(&self, update: &mut TaskStatusUpdateEvent) {
        if let Some(extensions) = &self.extensions {
            if let Some(status) = &mut update.status {
                status.timestamp.get_or_insert_with(Timestamp::now);
            }
            extensions.status(update);
        }
    }

    #[inline]
    fn accept_status(&self, mut update: TaskStatusUpdateEvent) -> Result<u64, UpdateError> {
        let status = update.status.get_or_insert_default();
        if status.state() == TaskState::Unspecified {
            status.state = TaskState::Working.into();
        }
        let now = moment();
        status.timestamp.get_or_insert(now.time);
        self.handle.own_status(&mut update);
        self.accept(update.into(), now)
    }

    #[inline]
    fn accept_artifact(&self, mut update: TaskArtifactUpdateEvent) -> Result<(), UpdateError> {
        if let Some(artifact) = &mut update.artifact
            && artifact.artifact_id.is_empty()
        {
            artifact.artifact_id = a2a_core::fresh_id();
        }
        self.accept(update.into(), moment()).map(drop)
    }

    /// Waits while too many changes are pending.
    pub(crate) async fn accepts_more(&self) -> Result<(), UpdateError> {
        // Chunks are written in batches; backpressure applies only if the store falls behind.
        self.handle.wait(|live| live.accepts_more(self.run, MAX_PENDING)).await
    }

    fn accept(&self, event: Event, now: Now) -> Result<u64, UpdateError> {
        let limits = &self.handle.inner.config.task_limits;
        let accepted =
            self.handle.change_silently(|live| live.update(self.run, event, limits, now));
        self.log_limit(accepted)
    }

    fn log_limit<T>(&self, accepted: Result<T, UpdateError>) -> Result<T, UpdateError> {
        if let Err(UpdateError::Limit(limit)) = accepted {
            let task_id = &self.handle.task_id;
            tracing::warn!(task.id = %task_id, limit = limit.name(), "task limit exceeded");
        }
        accepted
    }

    /// Waits until the event at `position` is stored.
    pub(crate) async fn stored(&self, position: u64) -> Result<(), UpdateError> {
        self.handle.wait(|live| live.write_outcome(self.run, position)).await
    }

    pub(crate) async fn push_reply(&self, mut message: Message) -> Result<(), UpdateError> {
        let handle = &self.handle;
        message.role = Role::Agent.into();
        message.context_id = (*handle.context_id).to_owned();
        if message.message_id.is_empty() {
            message.message_id = a2a_core::fresh_id();
        }
        let is_reply = handle.change(|live| {
            let replied = live.reply(self.run, &message)?;
            if let Some(asked) = &replied {
                handle.inner.replies.add(&handle.scope, asked, &message);
            }
            Ok::<_, UpdateError>(replied.is_some())
        })?;
        if is_reply {
            return Ok(());
        }
        let position = self.accept_status(update(TaskState::Completed, Some(message)))?;
        self.stored(position).await
    }

    pub(crate) async fn push_question(
        &self,
        question: TaskStatusUpdateEvent,
        expiry: impl Future<Output = ()>,
    ) -> Result<Message, UpdateError> {
        let answer = self.answer(question, expiry).await;
        if matches!(answer, Err(UpdateError::Canceled)) {
            // An executor that also waits for the cancel sees that first.
            tokio::task::yield_now().await;
        }
        answer
    }

    async fn answer(
        &self,
        mut question: TaskStatusUpdateEvent,
        expiry: impl Future<Output = ()>,
    ) -> Result<Message, UpdateError> {
        let Self { handle, run, .. } = self;
        handle.own_status(&mut question);
        let now = moment();
        question.status.get_or_insert_default().timestamp.get_or_insert(now.time);
        let question = Event::from(question);
        let limits = &handle.inner.config.task_limits;
        let position =
            self.log_limit(handle.change(|live| live.ask(*run, question, limits, now)))?;
        let _asking = Asking(self);
        self.stored(position).await?;
        if handle.inner.draining.is_cancelled() {
            // Shutdown drops the executors that are waiting when it begins.
            handle.change(LiveTask::drop_asking);
        }

        let answer = async {
            tokio::select! {
                biased;
                answer = self.answered() => Some(answer),
                () = expiry => None,
            }
        };
        // A waiting executor does not count as running.
        let _parked = Parked::new(handle);
        match tokio::time::timeout(handle.inner.config.ask_timeout, answer).await {
            Ok(Some(answer)) => answer,
            Ok(None) | Err(_) => {
                // Leaves the task unchanged, unless a message has just arrived.
                handle.change(|live| live.ask_expired(moment()));
                self.answered().await
            }
        }
    }

    /// Waits for the message that the executor asked for.
    async fn answered(&self) -> Result<Message, UpdateError> {
        loop {
            self.handle.wait(|live| live.is_answered(self.run).then_some(())).await;
            if let Some(answer) = self.handle.change_silently(|live| live.asked(self.run)) {
                return answer;
            }
        }
    }

    /// Stores the result of named work.
    pub(crate) async fn record(
        &self,
        name: &str,
        value: serde_json::Value,
    ) -> Result<(), UpdateError> {
        let Self { handle, run, .. } = self;
        let limits = &handle.inner.config.task_limits;
        let recorded = handle.change(|live| live.record(*run, name, value, limits, moment()));
        let revision = self.log_limit(recorded)?;
        handle.wait(|live| live.has_recorded(*run, revision)).await
    }
}

/// A question that the executor has asked, until it is answered or given up.
struct Asking<'a>(&'a TaskUpdater);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.handle.change_silently(|live| live.stop_asking(self.0.run));
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
