//! Who writes to a task: this node, another, or whoever comes first.

use std::{
    future::Future,
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use a2a_core::{Error, Result, TaskState};
use futures_util::FutureExt as _;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::{
    Recovery,
    engine::{
        Inner,
        executor::Begins,
        now,
        runtime::{Entry, Handle},
        task::{Holder, LiveTask, Reach, TurnRequest},
    },
    metrics,
    store::{Acquired, Orphan, StoredTask},
};

/// The pause between two tries to let go of a task.
const PAUSE: Duration = Duration::from_millis(200);

impl Inner {
    /// Runs `work` to its end, even if the caller stops waiting for it.
    pub(in crate::engine) async fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let mut work = Box::pin(work);
        // A store in memory is done at the first look.
        if let Some(done) = (&mut work).now_or_never() {
            return Ok(done);
        }
        self.tasks.spawn(work.in_current_span()).await.map_err(Error::internal)
    }

    /// The tasks that are still to be handed back: no more than were at work when the store
    /// failed.
    fn lock_abandoned(&self) -> MutexGuard<'_, Vec<(Arc<str>, u64)>> {
        self.cluster.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands back what could not be handed back before.
    pub(in crate::engine) async fn abandon_the_rest(&self) {
        let abandoned = std::mem::take(&mut *self.lock_abandoned());
        for (index, (task_id, epoch)) in abandoned.iter().enumerate() {
            if self.store.abandon(task_id, *epoch).await.is_err() {
                self.lock_abandoned().extend_from_slice(&abandoned[index..]);
                return;
            }
        }
    }

    /// Goes on with a task whose node is gone.
    pub(in crate::engine) async fn adopt(self: &Arc<Self>, orphan: Orphan) {
        tracing::info!(
            task.id = %orphan.stored.task.id, epoch = orphan.stored.epoch, "took over a task"
        );
        let stored = orphan.stored.clone();
        let entry = self.entries.insert(Entry::stored(self, orphan.scope.clone(), stored));
        Handle::new(Arc::clone(self), entry).take_up(orphan).await;
    }
}

impl Handle {
    /// Asks the store for a hold on the task, and returns who holds it now.
    ///
    /// # Errors
    ///
    /// The store fails, or the task is gone.
    pub(in crate::engine) async fn reach(&self) -> Result<Holder> {
        loop {
            match self.change(LiveTask::begin_reaching) {
                Reach::Held => return Ok(Holder::Here),
                Reach::Ask => {
                    let handle = self.clone();
                    let reached = async move {
                        let holder = handle.acquire().await;
                        handle.change(LiveTask::end_reaching);
                        holder
                    };
                    return self.inner.detached(reached).await?;
                }
                Reach::Wait => self.wait(|live| (!live.is_reaching()).then_some(())).await,
            }
        }
    }

    async fn acquire(&self) -> Result<Holder> {
        let acquired = self.inner.store.acquire(&self.scope, &self.task_id).await;
        let acquired = acquired.map_err(Error::from)?;
        // An answer that comes late may be of a hold that was lost since.
        let is_late = |stored: &StoredTask| self.lock().ownership.epoch > stored.epoch;
        match acquired {
            None => Err(Error::task_not_found(&self.task_id)),
            Some(Acquired::Here(stored)) if is_late(&stored) => Ok(self.lock().ownership.holder),
            Some(Acquired::Again(orphan)) => {
                if self.lock().ownership.is_known(orphan.stored.epoch) {
                    // It was not let go, as something waits for it, or the store failed.
                    self.settle(orphan.stored, |_| ()).await;
                } else {
                    // It is one of those that this node has just taken over.
                    self.take_up(orphan).await;
                }
                Ok(self.lock().ownership.holder)
            }
            Some(Acquired::Elsewhere(_)) => {
                self.catch_up().await?;
                // The answer of the store, even if it is outdated by now: callers ask again.
                let is_here = self.change(|live| live.is_here());
                Ok(if is_here { Holder::Here } else { Holder::Elsewhere })
            }
            Some(Acquired::Here(stored)) => {
                self.settle(stored, |_| ()).await;
                Ok(Holder::Here)
            }
        }
    }

    /// Goes on with a task, and with what was worked on, which this node did not know.
    async fn take_up(&self, orphan: Orphan) {
        let Orphan { stored, execution, recorded, .. } = orphan;
        let reruns = stored.epoch.saturating_sub(recorded);
        if !self.change(|live| live.give_up_before(stored.epoch)) {
            return;
        }
        let inner = &self.inner;
        let rerun =
            inner.agent.executor.recovery() == Recovery::Rerun && reruns <= inner.config.max_reruns;
        // Decided under one lock with the hold, so that no message or cancel comes in between.
        let next = |live: &mut LiveTask| {
            if execution.is_empty() || live.changes.head.is_terminal() {
                return Next::Leave;
            }
            match live.interrupted_turn(&execution) {
                // The task waits for a message, and needs nobody meanwhile.
                _ if live.changes.head == TaskState::InputRequired => Next::Leave,
                Some(turn) if rerun => {
                    // The work was accepted when it came, whatever its caller has running now.
                    if let Some(slot) = inner.load.slots.take(&self.scope.owner, None) {
                        live.rerun(slot, now());
                    }
                    Next::Run(turn)
                }
                _ => {
                    live.fail_interrupted(&|state, text| self.say(state, text), now());
                    Next::Write
                }
            }
        };
        let next = self.settle(stored, next).await;
        metrics::took_over(match next {
            Next::Leave => "left",
            Next::Run(_) => "rerun",
            Next::Write => "failed",
        });
        match next {
            Next::Leave => {
                inner.serve_commands(self);
                self.let_go_if_idle();
                return;
            }
            Next::Run(turn) => self.run(turn, Begins::Apart),
            Next::Write => {
                self.write();
            }
        }
        inner.serve_commands(self);
        inner.wake_outbox();
    }

    /// Takes up a task that the store has handed to this node.
    async fn settle<T>(&self, stored: StoredTask, then: impl FnOnce(&mut LiveTask) -> T) -> T {
        let behind = self.lock().log.last() < stored.last_event.get();
        if behind {
            // Nobody else writes now, so this is the same task and the events that lead to it.
            let _ = self.catch_up().await;
        }
        let (were_passed_over, then) = self.change(|live| (live.acquired(stored), then(live)));
        if were_passed_over {
            self.inner.serve_commands(self);
        }
        then
    }

    /// Lets the task go, if this node holds it and has nothing more to do with it. Work that was
    /// cut off is left to whoever takes the task over.
    pub(in crate::engine) fn let_go_if_idle(&self) {
        let Some((epoch, unfinished)) = self.change(LiveTask::let_go) else { return };
        let handle = self.clone();
        let mut work = Box::pin(async move {
            if unfinished {
                handle.abandon(epoch).await;
            } else {
                handle.let_go(epoch).await;
            }
        });
        if (&mut work).now_or_never().is_none() {
            self.inner.tasks.spawn(work);
        }
    }

    async fn let_go(&self, epoch: u64) {
        let deadline = Instant::now() + self.inner.config.store_patience;
        loop {
            match self.inner.store.release(&self.task_id, epoch).await {
                Ok(true) => return self.change(|live| live.released(epoch)),
                // What waits is for a node that stays.
                Ok(false) if self.inner.draining.is_cancelled() => {
                    return self.abandon(epoch).await;
                }
                // What waits is this node's to do.
                Ok(false) => match self.reach().await {
                    Ok(_) => return self.inner.serve_commands(self),
                    Err(error) => {
                        tracing::warn!(error = ?error, "a task could not be taken up again");
                    }
                },
                Err(error) => tracing::warn!(error = ?error, "a task could not be let go"),
            }
            // It runs out by itself, but then it is not known that its work was done.
            let is_late = Instant::now() >= deadline || self.inner.draining.is_cancelled();
            if is_late || self.lock().ownership.epoch != epoch {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Gives the task to whichever node takes it over.
    async fn abandon(&self, epoch: u64) {
        if let Err(error) = self.inner.store.abandon(&self.task_id, epoch).await {
            tracing::warn!(error = ?error, "a task could not be handed back yet");
            self.inner.lock_abandoned().push((Arc::clone(&self.task_id), epoch));
        }
    }
}

/// What becomes of a task that was taken over.
enum Next {
    Leave,
    Run(TurnRequest),
    Write,
}
