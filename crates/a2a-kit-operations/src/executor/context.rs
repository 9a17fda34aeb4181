//! The context of an executor.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use a2a_core::{
    Error, Result,
    v1::{Message, Task},
    well_known::Struct,
};

use crate::{
    CallContext,
    engine::{DirectReply, Handle, TurnRequest, now},
    store::{PageKey, TaskQuery},
};

/// A message to handle, and its context.
#[derive(Clone)]
pub struct RequestContext {
    pub(crate) handle: Handle,
    pub(crate) request: TurnRequest,
}

impl RequestContext {
    /// The message that began the run, with the ids of its task and context set. Answers to
    /// [`ask`](crate::TaskUpdater::ask) do not begin a run, whenever they arrive.
    pub fn message(&self) -> &Message {
        &self.request.message
    }

    /// All text parts of the message, joined.
    pub fn text(&self) -> String {
        self.request.message.text()
    }

    /// The id of the task. The caller sees it once the task is visible.
    pub fn task_id(&self) -> &str {
        &self.handle.task_id
    }

    /// The id of the context.
    pub fn context_id(&self) -> &str {
        &self.handle.context_id
    }

    /// The tenant of the task; empty without one.
    pub fn tenant(&self) -> &str {
        &self.handle.scope.tenant
    }

    /// The current task, with the history up to this message.
    pub fn task(&self) -> Arc<Task> {
        self.handle.lock().task_of_executor()
    }

    /// Returns whether this is the first message of the task.
    pub fn is_new(&self) -> bool {
        self.handle.lock().first_message() == 0
    }

    /// Returns whether an earlier run for this message was interrupted, because its node stopped or
    /// crashed. The updates of that run are in [`task`](Self::task).
    pub fn is_rerun(&self) -> bool {
        self.request.rerun
    }

    /// Returns whether the executor still repeats an earlier run, to continue its conversation: see
    /// [`ask`](crate::TaskUpdater::ask). What it does until then has been done before.
    pub fn is_replay(&self) -> bool {
        self.handle.lock().is_replaying()
    }

    /// The number of questions of this run that get a recorded answer at once: those that an earlier
    /// run asked before it was dropped. See [`ask`](crate::TaskUpdater::ask).
    pub fn recorded_answers(&self) -> usize {
        self.handle.lock().recorded_answers()
    }

    /// The call context: version, extensions, parameters, caller. In a run that repeats an earlier
    /// one, that of the message that continues the conversation. After a crash and on another node
    /// the caller has its subject and scopes, but no claims, expiry or credential.
    pub fn call(&self) -> &CallContext {
        &self.request.call
    }

    /// The media types that the client accepts; empty if it does not specify any.
    pub fn accepted_output_modes(&self) -> &[String] {
        &self.request.accepted_output_modes
    }

    /// The metadata of the request.
    pub fn metadata(&self) -> Option<&Struct> {
        self.request.metadata.as_deref()
    }

    /// Returns whether the client has canceled the task. From the first call on, a cancel gives the
    /// executor the [grace period](crate::EngineConfig::cancel_grace).
    pub fn is_cancelled(&self) -> bool {
        self.handle.change_silently(|live| live.watch_cancel())
    }

    /// Waits until the client cancels the task. From the first poll on, a cancel gives the executor
    /// the [grace period](crate::EngineConfig::cancel_grace). Ready before
    /// [`ask`](crate::TaskUpdater::ask) fails with [`Canceled`](crate::UpdateError::Canceled).
    pub async fn cancelled(&self) {
        self.is_cancelled();
        self.handle.cancel_signal().cancelled().await;
    }

    /// Refuses further messages while this run works. By default they wait for their turn, up to
    /// [`max_queued_messages`](crate::EngineConfig::max_queued_messages), and one whose turn never
    /// comes stays in the history with the reason. An executor that ends the task whatever else the
    /// client says calls this first, so that such a message is rejected at once, with
    /// [`UnsupportedOperation`](a2a_core::ErrorKind::UnsupportedOperation) (spec §3.4.3), also when
    /// it is sent to another node.
    ///
    /// Messages that already wait keep their turn, and so does a message to a run that waits in
    /// [`ask`](crate::TaskUpdater::ask).
    pub fn refuse_messages(&self) {
        self.handle.change_silently(|live| live.refuse_messages());
    }

    /// The tasks that the message refers to (`referenceTaskIds`), as far as they belong to the
    /// caller.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn referenced_tasks(&self) -> Result<Vec<Arc<Task>>> {
        let store = &self.handle.inner.store;
        let mut tasks = Vec::new();
        for id in &self.request.message.reference_task_ids {
            let stored = store.get(&self.handle.scope, id).await.map_err(Error::from)?;
            tasks.extend(stored.map(|stored| stored.task));
        }
        Ok(tasks)
    }

    /// Exchanges of the same conversation that were answered [with a
    /// message](crate::TaskUpdater::reply), oldest first. They belong to no task.
    ///
    /// This node keeps the newest 32 of a conversation in memory, up to 1 MiB per caller; they are
    /// lost on a restart.
    pub fn replies_in_context(&self) -> Vec<DirectReply> {
        self.handle.inner.replies.of(&self.handle.scope, &self.handle.context_id)
    }

    /// Awaits something that the work depends on before it can begin, such as a free slot. [Run
    /// limits](crate::RunLimits) do not count this time.
    pub async fn wait_for<T>(&self, future: impl Future<Output = T>) -> T {
        self.handle.change_silently(|live| live.stop_clocks(now()));
        let _started_again = ResumeClocks(&self.handle);
        future.await
    }

    /// The newest 100 tasks of the caller in the same context, except this one, newest first.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn tasks_in_context(&self) -> Result<Vec<Arc<Task>>> {
        self.list_context(None).await
    }

    /// As [`tasks_in_context`](Self::tasks_in_context), but only as many tasks as have this size
    /// together, in bytes as protobuf, and at least one if there is any. The store reads no more
    /// than that, and this task.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn tasks_in_context_within(&self, bytes: usize) -> Result<Vec<Arc<Task>>> {
        self.list_context(Some(bytes)).await
    }

    async fn list_context(&self, max_bytes: Option<usize>) -> Result<Vec<Arc<Task>>> {
        let Self { handle, .. } = self;
        let mut query = TaskQuery {
            context_id: Some((*handle.context_id).to_owned()),
            limit: 101,
            max_bytes,
            ..TaskQuery::default()
        };
        let mut page = handle.inner.store.list(&handle.scope, &query).await.map_err(Error::from)?;
        let own = page.tasks.iter().position(|task| *task.id == *handle.task_id);
        if let Some(own) = own.filter(|_| max_bytes.is_some() && page.has_more) {
            // This task counts as well, so what is older than it gets a page of its own.
            page.tasks.truncate(own + 1);
            query.after = Some(PageKey::of(&page.tasks[own]));
            let newer: usize = page.tasks[..own].iter().map(|task| query.view.len(task)).sum();
            query.max_bytes = max_bytes.map(|most| most.saturating_sub(newer));
            let older =
                handle.inner.store.list(&handle.scope, &query).await.map_err(Error::from)?;
            page.tasks.extend(older.tasks);
        }
        let others = page.tasks.into_iter().filter(|task| *task.id != *handle.task_id);
        Ok(others.take(100).collect())
    }
}

/// Resumes the run limits when dropped.
struct ResumeClocks<'a>(&'a Handle);

impl Drop for ResumeClocks<'_> {
    fn drop(&mut self) {
        self.0.change_silently(|live| live.start_clocks(now()));
    }
}

impl fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestContext")
            .field("task_id", &self.task_id())
            .field("message", &self.request.message)
            .finish_non_exhaustive()
    }
}

/// A cancel, and its context.
#[derive(Clone, Debug)]
pub struct CancelContext {
    pub(crate) task: Arc<Task>,
    pub(crate) call: Arc<CallContext>,
    pub(crate) metadata: Option<Struct>,
    /// Whether the default `cancel` was called.
    pub(crate) is_default: Arc<AtomicBool>,
}

impl CancelContext {
    /// Tells the engine that the executor does not implement `cancel`.
    pub(super) fn leave_to_the_engine(&self) {
        self.is_default.store(true, Ordering::Relaxed);
    }

    /// The task at the time of the cancel.
    pub fn task(&self) -> Arc<Task> {
        Arc::clone(&self.task)
    }

    /// The call context: version, extensions, parameters, caller.
    pub fn call(&self) -> &CallContext {
        &self.call
    }

    /// The metadata of the request.
    pub fn metadata(&self) -> Option<&Struct> {
        self.metadata.as_ref()
    }
}
