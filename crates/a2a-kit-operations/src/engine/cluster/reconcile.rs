//! The loop of a task that reconciles its lease and its commands with the store: one step at a
//! time, so that no response is applied after a later one.

use std::{future::Future, sync::Arc, time::Duration};

use a2a_core::{Error, Result};
use futures_util::FutureExt as _;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use super::commands;
use crate::{
    Recovery,
    engine::{
        Inner, moment,
        runtime::Handle,
        task::{Holder, LiveTask, Resumption, Step, Takeover},
    },
    metrics,
    store::{Acquired, Orphan, StoredTask},
};

/// The delay between attempts to release a lease.
const RELEASE_PAUSE: Duration = Duration::from_millis(200);

/// The delay between attempts to read commands.
const SERVE_PAUSE: Duration = Duration::from_secs(1);

impl Inner {
    /// Runs `work` to completion, even if the caller is dropped.
    pub(crate) async fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let mut work = Box::pin(work);
        // With a memory store the future is ready on the first poll.
        if let Some(done) = (&mut work).now_or_never() {
            return Ok(done);
        }
        self.tasks.spawn(work.in_current_span()).await.map_err(Error::internal)
    }
}

impl Handle {
    /// Starts the loop.
    pub(crate) fn start_reconciling(&self) {
        let handle = self.clone();
        let mut work = Box::pin(async move {
            let stops = || handle.inner.draining.is_cancelled();
            while let Some(step) = handle.change(|live| live.next_step(stops())) {
                match step {
                    Step::Resume(takeover) => {
                        handle.resume(*takeover).await;
                        handle.change_silently(LiveTask::release_if_idle);
                    }
                    Step::Acquire => {
                        let failure = handle.acquire().await.err();
                        handle.change(|live| live.answer_lease_request(failure));
                    }
                    Step::Serve { generation } => handle.serve(generation).await,
                    Step::Release { epoch, is_unfinished: true } => handle.abandon(epoch).await,
                    Step::Release { epoch, is_unfinished: false } => handle.release(epoch).await,
                }
            }
        });
        if (&mut work).now_or_never().is_none() {
            self.inner.tasks.spawn(work);
        }
    }

    /// Acquires the lease on the task, and returns the holder.
    ///
    /// # Errors
    ///
    /// The store fails, or the task does not exist.
    pub(crate) async fn acquire_lease(&self) -> Result<Holder> {
        let Some(request) = self.change_silently(LiveTask::request_lease) else {
            return Ok(Holder::Here);
        };
        loop {
            self.wait(|live| live.has_lease_response(request).then_some(())).await;
            if let Some(response) = self.change_silently(|live| live.lease_response(request)) {
                return response;
            }
        }
    }

    /// Resumes work of a failed node, and waits until it has begun.
    pub(super) async fn take_over(&self, takeover: Takeover) {
        self.change_silently(|live| live.add_takeover(takeover));
        self.wait(|live| live.is_taken_over().then_some(())).await;
    }

    async fn acquire(&self) -> Result<()> {
        let since = self.inner.lease_clock();
        let acquired = self.inner.store.acquire(&self.scope, &self.task_id).await;
        match acquired.map_err(Error::from)? {
            None => return Err(Error::task_not_found(&self.task_id)),
            // The lease was not released, because a command was pending or the store failed.
            Some(Acquired::Reacquired(orphan)) if self.lock().is_known(orphan.stored.epoch) => {
                self.grant(orphan.stored, since).await;
            }
            // This node has just taken the task over.
            Some(Acquired::Reacquired(orphan)) => self.resume(Takeover { orphan, since }).await,
            Some(Acquired::Elsewhere(_)) => self.catch_up().await?,
            Some(Acquired::Here(stored)) => self.grant(stored, since).await,
        }
        Ok(())
    }

    /// Applies a lease on a task without unknown work.
    async fn grant(&self, stored: StoredTask, since: Option<std::time::Instant>) {
        let is_behind = self.lock().is_behind(stored.last_event);
        if is_behind {
            // No other node can write now, so the log continues without gaps.
            let _ = self.catch_up().await;
        }
        self.change(|live| live.granted(stored, since, false));
    }

    /// Resumes a task with work that is unknown to this node.
    async fn resume(&self, Takeover { orphan, since }: Takeover) {
        let Orphan { stored, checkpoint, checkpoint_epoch, .. } = orphan;
        let epoch = stored.epoch;
        let rerun = epoch.saturating_sub(checkpoint_epoch);
        let (inner, store) = (&self.inner, &self.inner.store);
        // The lease may have changed hands again since it was granted. What is sent to the task
        // meanwhile is handled after what was sent before.
        let read = async {
            self.catch_up().await?;
            store.commands(&self.task_id).await.map_err(Error::from)
        };
        let commands = match read.await {
            Ok(commands) => commands,
            Err(error) => {
                tracing::warn!(task.id = %self.task_id, error = ?error, "failed to resume task");
                return self.abandon(epoch).await;
            }
        };
        let acknowledged = commands::acknowledged(&commands);
        let reruns =
            inner.agent.executor.recovery() == Recovery::Rerun && rerun <= inner.config.max_reruns;
        // Decided under one lock with the lease, so that no message or cancel can intervene.
        let resumed = self.change(|live| {
            live.resume(stored, since, (&checkpoint, reruns), acknowledged, moment())
        });
        let Some((resumption, generation)) = resumed else { return };
        tracing::debug!(task.id = %self.task_id, epoch, outcome = resumption.name(), "task taken over");
        metrics::took_over(inner.config.metrics_label, resumption.name());
        if !matches!(resumption, Resumption::Failed) {
            self.execute(commands, generation, true).await;
        }
        self.change_silently(|live| live.resumed_after_commands(generation, resumption));
    }

    /// Reads and handles the pending commands.
    async fn serve(&self, generation: u64) {
        match self.inner.store.commands(&self.task_id).await {
            Ok(commands) => self.execute(commands, generation, false).await,
            Err(error) => {
                tracing::warn!(error = ?error, "failed to read commands");
                self.pause(SERVE_PAUSE).await;
                self.change_silently(LiveTask::notice_commands);
            }
        }
        self.change(|live| live.end_serving(generation));
    }

    async fn release(&self, epoch: u64) {
        let deadline = Instant::now() + self.inner.config.store_retry_timeout;
        loop {
            match self.inner.store.release(&self.task_id, epoch).await {
                Ok(true) => return self.change(|live| live.released(epoch)),
                // Pending commands are for a node that keeps running.
                Ok(false) if self.inner.draining.is_cancelled() => {
                    return self.abandon(epoch).await;
                }
                // Pending commands are for this node.
                Ok(false) => match self.acquire().await {
                    Ok(()) => return self.change_silently(LiveTask::notice_commands),
                    Err(error) => tracing::warn!(error = ?error, "failed to reacquire lease"),
                },
                Err(error) => tracing::warn!(error = ?error, "failed to release lease"),
            }
            // The lease would expire by itself, but the completion of the work would be lost.
            let is_late = Instant::now() >= deadline || self.inner.draining.is_cancelled();
            if is_late || !self.pause(RELEASE_PAUSE).await || !self.lock().is_last_epoch(epoch) {
                return;
            }
        }
    }

    /// Waits before a failed step is repeated; `false` if another one is more urgent.
    async fn pause(&self, pause: Duration) -> bool {
        let is_urgent = self.wait(|live| live.is_urgent().then_some(()));
        timeout(pause, is_urgent).await.is_err()
    }

    /// Abandons the lease, so that another node takes the task over.
    async fn abandon(&self, epoch: u64) {
        if let Err(error) = self.inner.store.abandon(&self.task_id, epoch).await {
            tracing::warn!(error = ?error, "failed to abandon lease, will retry");
            self.inner.cluster.abandoned.lock().push((Arc::clone(&self.task_id), epoch));
        }
    }
}
