//! How a task is canceled, here or on the node that holds it.

use std::{panic::AssertUnwindSafe, sync::Arc};

use a2a_core::{
    Error, ErrorKind, Result, TaskState,
    v1::{CancelTaskRequest, Task},
    well_known::Struct,
};
use futures_util::FutureExt as _;
use tracing::Instrument as _;

use crate::{
    CallContext, CancelContext, Scope,
    engine::{
        Inner, now,
        runtime::Handle,
        task::{CancelStep, Holder},
    },
};

/// What became of a cancel that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Cancel {
    /// The task is being canceled, by this call or by one before it.
    Begun,
    /// The task has an end already, which is on its way to the store. Whoever asked on another
    /// node may have been told of it.
    CameLate,
}

impl Inner {
    /// Cancels a task and waits for its end.
    pub(in crate::engine) async fn cancel(
        self: &Arc<Self>,
        context: CallContext,
        request: CancelTaskRequest,
    ) -> Result<Arc<Task>> {
        let scope = Scope::new(&request.tenant, &context.caller);
        let id = &request.id;
        let handle =
            self.find_or_load(&scope, id).await?.ok_or_else(|| Error::task_not_found(id))?;
        let mut again = false;
        loop {
            let generation = handle.lock().ownership.generation;
            let inner = Arc::clone(self);
            let (canceled, context, request) = (handle.clone(), context.clone(), request.clone());
            // Whoever hangs up now leaves no half of it behind.
            let passed = self
                .detached(async move { inner.pass_cancel_on(&canceled, context, request).await })
                .await?;
            let came_late = match passed {
                // It is the end that an earlier round has brought.
                Err(_) if again && handle.lock().task.state() == TaskState::Canceled => false,
                passed => passed? == Cancel::CameLate && !again,
            };
            again = true;
            let task = handle
                .wait(|live| {
                    if live.disk.has_failed() {
                        return Some(Err(live.failure()));
                    }
                    let task = live.has_ended().then(|| Arc::clone(&live.task));
                    let is_moved = live.ownership.generation != generation;
                    (task.is_some() || is_moved).then_some(Ok(task))
                })
                .await?;
            match task {
                // Another node, or this one anew, has taken the task over meanwhile.
                None => {}
                Some(task) if task.state() == TaskState::Canceled && !came_late => return Ok(task),
                Some(task) => return Err(not_cancelable(&handle.task_id, task.state())),
            }
        }
    }

    /// Cancels a task, here or on the node that holds it.
    async fn pass_cancel_on(
        self: &Arc<Self>,
        handle: &Handle,
        context: CallContext,
        request: CancelTaskRequest,
    ) -> Result<Cancel> {
        let context = Arc::new(context);
        loop {
            // An end that is not stored yet is told when it is: a node that was taken for dead
            // stores none.
            let (appeared, state) = {
                let live = handle.lock();
                (live.is_stored(), live.task.state())
            };
            if !appeared {
                return Err(Error::task_not_found(&handle.task_id));
            }
            if state.is_terminal() {
                return Err(not_cancelable(&handle.task_id, state));
            }
            match handle.reach().await? {
                Holder::Here => {
                    let metadata = request.metadata.clone();
                    match self.cancel_here(handle, Arc::clone(&context), metadata, None) {
                        // It was lost just now; who has it is asked again.
                        Err(_) if handle.lock().is_away() => {}
                        result => return result,
                    }
                }
                Holder::Elsewhere | Holder::Nobody => {
                    let ended = self.hand_over_cancel(handle, &context, &request).await?;
                    // Otherwise the task was let go in between.
                    if ended.is_some() {
                        return Ok(Cancel::Begun);
                    }
                }
            }
        }
    }

    /// Cancels a task that this node holds, without waiting for its end.
    pub(in crate::engine) fn cancel_here(
        &self,
        handle: &Handle,
        context: Arc<CallContext>,
        metadata: Option<Struct>,
        command: Option<&Arc<str>>,
    ) -> Result<Cancel> {
        let error = match handle.change(|live| live.cancel(command)) {
            CancelStep::Tell(task) => {
                handle.spawn_cancel(CancelContext { task, call: context, metadata });
                return Ok(Cancel::Begun);
            }
            CancelStep::Force => {
                handle.force_canceled();
                return Ok(Cancel::Begun);
            }
            CancelStep::Wait => return Ok(Cancel::Begun),
            CancelStep::Late => return Ok(Cancel::CameLate),
            CancelStep::Ended(state) => not_cancelable(&handle.task_id, state),
            CancelStep::Away => Error::unavailable("another node took the task over; send again"),
        };
        handle.let_go_if_idle();
        Err(error)
    }
}

impl Handle {
    /// Calls `cancel` of an executor that was signalled, and drops `execute` when its grace is
    /// over. Goes on when the caller hangs up.
    pub(in crate::engine) fn spawn_cancel(&self, context: CancelContext) {
        let handle = self.clone();
        let generation = self.lock().ownership.generation;
        let span = tracing::info_span!("cancel", task.id = %self.task_id);
        self.inner.tasks.spawn(
            async move {
                let grace = handle.inner.config.cancel_grace;
                let executor = &handle.inner.agent.executor;
                // `cancel` is called and has the grace period even if `execute` has already
                // returned.
                let told = AssertUnwindSafe(async { executor.cancel(context).await });
                let told = async {
                    if let Ok(Err(_)) = tokio::time::timeout(grace, told.catch_unwind()).await {
                        tracing::error!(task.id = %handle.task_id, "the executor panicked in its cancel");
                    }
                };
                let stopped = handle.wait(|live| {
                    let is_moved = live.ownership.generation != generation;
                    (!live.run.is_running() || is_moved).then_some(())
                });
                let stopped = async {
                    if tokio::time::timeout(grace, stopped).await.is_err() {
                        tracing::warn!(task.id = %handle.task_id, "the executor ignored a cancel and is dropped");
                        handle.force_canceled();
                    }
                };
                tokio::join!(told, stopped);
            }
            .instrument(span),
        );
    }

    /// Sets CANCELED, whatever the executor does.
    pub(in crate::engine) fn force_canceled(&self) {
        self.change(|live| live.force_cancel(&|state, text| self.say(state, text), now()));
        self.write();
    }
}

fn not_cancelable(id: &str, state: TaskState) -> Error {
    let name = state.as_str_name().trim_start_matches("TASK_STATE_");
    Error::new(ErrorKind::TaskNotCancelable, format!("task {id} is {name} already"))
        .with_metadata("taskId", id)
}
