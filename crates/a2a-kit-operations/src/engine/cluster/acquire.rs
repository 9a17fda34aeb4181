//! Acquiring, taking over and releasing the lease on a task.

use std::{future::Future, sync::Arc, time::Duration};

use a2a_core::{Error, Result, TaskState};
use futures_util::FutureExt as _;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::{
    Recovery,
    engine::{
        Inner,
        executor::StartMode,
        now,
        runtime::{Entry, Handle},
        task::{Holder, LeaseRequest, LiveTask, TurnRequest},
    },
    metrics,
    store::{Acquired, Orphan, StoredTask},
};

/// The delay between attempts to release a lease.
const PAUSE: Duration = Duration::from_millis(200);

impl Inner {
    /// Runs `work` to completion, even if the caller is dropped.
    pub(in crate::engine) async fn detached<T: Send + 'static>(
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

    /// Retries to abandon leases.
    pub(in crate::engine) async fn retry_abandoned(&self) {
        let abandoned = std::mem::take(&mut *self.cluster.abandoned.lock());
        for (index, (task_id, epoch)) in abandoned.iter().enumerate() {
            if self.store.abandon(task_id, *epoch).await.is_err() {
                self.cluster.abandoned.lock().extend_from_slice(&abandoned[index..]);
                return;
            }
        }
    }

    /// Resumes a task of a failed node.
    pub(in crate::engine) async fn resume_orphan(self: &Arc<Self>, orphan: Orphan) {
        tracing::info!(
            task.id = %orphan.stored.task.id, epoch = orphan.stored.epoch, "task taken over"
        );
        let stored = orphan.stored.clone();
        let entry = self.entries.insert(Entry::stored(self, orphan.scope.clone(), stored));
        Handle::new(Arc::clone(self), entry).resume_work(orphan).await;
    }
}

impl Handle {
    /// Acquires the lease on the task, and returns the holder.
    ///
    /// # Errors
    ///
    /// The store fails, or the task does not exist.
    pub(in crate::engine) async fn acquire_lease(&self) -> Result<Holder> {
        loop {
            match self.change(LiveTask::begin_lease_request) {
                LeaseRequest::Held => return Ok(Holder::Here),
                LeaseRequest::Send => {
                    let handle = self.clone();
                    let reached = async move {
                        let holder = handle.acquire().await;
                        handle.change(LiveTask::end_lease_request);
                        holder
                    };
                    return self.inner.detached(reached).await?;
                }
                LeaseRequest::InProgress => {
                    self.wait(|live| (!live.is_requesting_lease()).then_some(())).await;
                }
            }
        }
    }

    async fn acquire(&self) -> Result<Holder> {
        let acquired = self.inner.store.acquire(&self.scope, &self.task_id).await;
        let acquired = acquired.map_err(Error::from)?;
        // A late response may be about a lease that was lost since.
        let is_late = |stored: &StoredTask| self.lock().ownership.epoch > stored.epoch;
        match acquired {
            None => Err(Error::task_not_found(&self.task_id)),
            Some(Acquired::Here(stored)) if is_late(&stored) => Ok(self.lock().ownership.holder),
            Some(Acquired::Reacquired(orphan)) => {
                if self.lock().ownership.is_known(orphan.stored.epoch) {
                    // The lease was not released, because a command was pending or the store
                    // failed.
                    self.apply_acquired(orphan.stored, |_| ()).await;
                } else {
                    // This node has just taken the task over.
                    self.resume_work(orphan).await;
                }
                Ok(self.lock().ownership.holder)
            }
            Some(Acquired::Elsewhere(_)) => {
                self.catch_up().await?;
                // The response of the store, even if outdated by now: callers retry.
                let is_here = self.change(|live| live.is_here());
                Ok(if is_here { Holder::Here } else { Holder::Elsewhere })
            }
            Some(Acquired::Here(stored)) => {
                self.apply_acquired(stored, |_| ()).await;
                Ok(Holder::Here)
            }
        }
    }

    /// Resumes a task with work that is unknown to this node.
    async fn resume_work(&self, orphan: Orphan) {
        let Orphan { stored, checkpoint, checkpoint_epoch, .. } = orphan;
        let reruns = stored.epoch.saturating_sub(checkpoint_epoch);
        if !self.change(|live| live.discard_before(stored.epoch)) {
            return;
        }
        let inner = &self.inner;
        let rerun =
            inner.agent.executor.recovery() == Recovery::Rerun && reruns <= inner.config.max_reruns;
        // Decided under one lock with the lease, so that no message or cancel can intervene.
        let next = |live: &mut LiveTask| {
            if checkpoint.is_empty() || live.changes.head.is_terminal() {
                return Next::Leave;
            }
            match live.interrupted_turn(&checkpoint) {
                // The task waits for input and needs no executor.
                _ if live.changes.head == TaskState::InputRequired => Next::Leave,
                // The answer to its question resumes the run.
                _ if live.is_parked_in_question() && !rerun => Next::Leave,
                Some(turn) if rerun => {
                    // The work was accepted before, regardless of the current limits of its caller.
                    if let Some(slot) = inner.load.slots.take(&self.scope.owner, None) {
                        live.rerun(slot, now());
                    }
                    Next::Run(live.resumed(turn))
                }
                _ => {
                    live.fail_interrupted(&|state, text| self.new_status(state, text), now());
                    Next::Write
                }
            }
        };
        let next = self.apply_acquired(stored, next).await;
        let next_step = match next {
            Next::Leave => "left",
            Next::Run(_) => "rerun",
            Next::Write => "failed",
        };
        metrics::took_over(inner.config.metrics_label, next_step);
        match next {
            Next::Leave => {
                inner.serve_commands(self);
                self.release_if_idle();
                return;
            }
            Next::Run(turn) => self.run(turn, StartMode::Spawned),
            Next::Write => {
                self.write();
            }
        }
        inner.serve_commands(self);
        inner.wake_outbox();
    }

    /// Applies a task whose lease was acquired.
    async fn apply_acquired<T>(
        &self,
        stored: StoredTask,
        then: impl FnOnce(&mut LiveTask) -> T,
    ) -> T {
        let behind = self.lock().log.last() < stored.last_event.get();
        if behind {
            // No other node can write now, so the log continues without gaps.
            let _ = self.catch_up().await;
        }
        let (take_skipped, then) = self.change(|live| (live.acquired(stored), then(live)));
        if take_skipped {
            self.inner.serve_commands(self);
        }
        then
    }

    /// Releases the lease, if this node holds it and the task is idle. Interrupted work is left to
    /// the node that takes the task over.
    pub(in crate::engine) fn release_if_idle(&self) {
        let Some((epoch, unfinished)) = self.change(LiveTask::begin_release) else { return };
        let handle = self.clone();
        let mut work = Box::pin(async move {
            if unfinished {
                handle.abandon(epoch).await;
            } else {
                handle.release_lease(epoch).await;
            }
        });
        if (&mut work).now_or_never().is_none() {
            self.inner.tasks.spawn(work);
        }
    }

    async fn release_lease(&self, epoch: u64) {
        let deadline = Instant::now() + self.inner.config.store_retry_timeout;
        loop {
            match self.inner.store.release(&self.task_id, epoch).await {
                Ok(true) => return self.change(|live| live.released(epoch)),
                // Pending commands are for a node that keeps running.
                Ok(false) if self.inner.draining.is_cancelled() => {
                    return self.abandon(epoch).await;
                }
                // Pending commands are for this node.
                Ok(false) => match self.acquire_lease().await {
                    Ok(_) => return self.inner.serve_commands(self),
                    Err(error) => {
                        tracing::warn!(error = ?error, "failed to reacquire lease");
                    }
                },
                Err(error) => tracing::warn!(error = ?error, "failed to release lease"),
            }
            // The lease would expire by itself, but the completion of the work would be lost.
            let is_late = Instant::now() >= deadline || self.inner.draining.is_cancelled();
            if is_late || self.lock().ownership.epoch != epoch {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Abandons the lease, so that another node takes the task over.
    async fn abandon(&self, epoch: u64) {
        if let Err(error) = self.inner.store.abandon(&self.task_id, epoch).await {
            tracing::warn!(error = ?error, "failed to abandon lease, will retry");
            self.inner.cluster.abandoned.lock().push((Arc::clone(&self.task_id), epoch));
        }
    }
}

/// The next step for a task that was taken over.
enum Next {
    Leave,
    Run(TurnRequest),
    Write,
}
