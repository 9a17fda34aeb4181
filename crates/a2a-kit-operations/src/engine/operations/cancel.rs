//! Cancellation, on this node or on the one that holds the task.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
};

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
        Inner, moment,
        runtime::Handle,
        task::{Cancel, CancelRefusal, CancelRequest, Cancellation, Holder},
    },
};

impl Inner {
    /// Cancels a task and waits for its end.
    pub(crate) async fn cancel(
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
            let generation = handle.lock().generation();
            let inner = Arc::clone(self);
            let (canceled, context, request) = (handle.clone(), context.clone(), request.clone());
            // Runs to completion even if the caller disconnects.
            let passed = self
                .detached(async move { inner.route_cancel(&canceled, context, request).await })
                .await?;
            let is_too_late = match passed {
                // An earlier iteration canceled the task.
                Err(_) if again && handle.lock().visible().0.state() == TaskState::Canceled => {
                    false
                }
                passed => passed? == Cancel::TooLate && !again,
            };
            again = true;
            match handle.wait(|live| live.ended_task(generation)).await? {
                // The task was taken over in the meantime, by another node or by this one.
                None => {}
                Some(task) if task.state() == TaskState::Canceled && !is_too_late => {
                    return Ok(task);
                }
                Some(task) => return Err(not_cancelable(&handle.task_id, task.state())),
            }
        }
    }

    /// Cancels a task, on this node or on the one that holds it.
    async fn route_cancel(
        self: &Arc<Self>,
        handle: &Handle,
        context: CallContext,
        request: CancelTaskRequest,
    ) -> Result<Cancel> {
        let context = Arc::new(context);
        loop {
            // An end that is not stored yet does not count: a node that lost its lease stores none.
            match handle.lock().stored_state() {
                None => return Err(Error::task_not_found(&handle.task_id)),
                Some(state) if state.is_terminal() => {
                    return Err(not_cancelable(&handle.task_id, state));
                }
                Some(_) => {}
            }
            match handle.acquire_lease().await? {
                Holder::Here => {
                    let metadata = request.metadata.clone();
                    match self.cancel_here(handle, Arc::clone(&context), metadata, None) {
                        // The lease was lost; retry with the new holder.
                        Err(_) if handle.lock().is_away() => {}
                        result => return result,
                    }
                }
                Holder::Elsewhere | Holder::Nobody => {
                    let ended = self.forward_cancel(handle, &context, &request).await?;
                    // Otherwise the lease was released in the meantime.
                    if ended.is_some() {
                        return Ok(Cancel::Started);
                    }
                }
            }
        }
    }

    /// Cancels a task that this node holds, without waiting for its end.
    pub(crate) fn cancel_here(
        &self,
        handle: &Handle,
        context: Arc<CallContext>,
        metadata: Option<Struct>,
        command: Option<&Arc<str>>,
    ) -> Result<Cancel> {
        let request = CancelRequest { context, metadata };
        let canceled = handle.change(|live| live.cancel(request, command, moment()));
        canceled.map_err(|refusal| match refusal {
            CancelRefusal::Ended(state) => not_cancelable(&handle.task_id, state),
            CancelRefusal::NotHolder => {
                Error::unavailable("another node took over the task; retry the request")
            }
        })
    }
}

impl Handle {
    /// Calls `cancel` of the executor, and drops `execute` after the grace period, or at once if it
    /// cannot notice the cancel. Continues if the caller disconnects.
    pub(crate) fn start_cancel(&self, cancellation: Cancellation) {
        let Cancellation { task, request, generation } = cancellation;
        let CancelRequest { context: call, metadata } = request;
        let is_default = Arc::default();
        let context = CancelContext { task, call, metadata, is_default: Arc::clone(&is_default) };
        let handle = self.clone();
        let span = tracing::info_span!("cancel", task.id = %self.task_id);
        self.inner.tasks.spawn(
            async move {
                let grace = handle.inner.config.cancel_grace;
                let executor = &handle.inner.agent.executor;
                // `cancel` has the grace period even if `execute` has already returned.
                let call = AssertUnwindSafe(async { executor.cancel(context).await });
                let mut call = Box::pin(async {
                    if let Ok(Err(_)) = tokio::time::timeout(grace, call.catch_unwind()).await {
                        tracing::error!(task.id = %handle.task_id, "executor panicked in cancel");
                    }
                });
                let is_told = (&mut call).now_or_never().is_some();
                if is_default.load(Ordering::Relaxed)
                    && handle.change(|live| live.cancel_unnoticed(moment()))
                {
                    return;
                }
                let call = async {
                    if !is_told {
                        call.await;
                    }
                };
                let stopped = handle.wait(|live| live.has_stopped(generation));
                let stopped = async {
                    if tokio::time::timeout(grace, stopped).await.is_err() {
                        tracing::warn!(task.id = %handle.task_id, "executor ignored cancel, dropped");
                        handle.change(|live| live.force_cancel(moment()));
                    }
                };
                tokio::join!(call, stopped);
            }
            .instrument(span),
        );
    }
}

fn not_cancelable(id: &str, state: TaskState) -> Error {
    let name = state.as_str_name().trim_start_matches("TASK_STATE_");
    Error::new(ErrorKind::TaskNotCancelable, format!("task {id} is already {name}"))
        .with_metadata("taskId", id)
}
