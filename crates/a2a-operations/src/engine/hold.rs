//! Who writes to a task: this node, another, or whoever comes first.

use std::{
    future::Future,
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use a2a_core::{Error, Result, Role, Task, TaskState};
use futures_util::FutureExt as _;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::{
    Inner,
    entry::Entry,
    handle::Handle,
    record::Record,
    run::Begins,
    state::{Holder, State},
    turn::TurnRequest,
};
use crate::{
    Recovery, metrics,
    store::{Acquired, Orphan, StoredTask},
};

/// The pause between two tries to let go of a task.
const PAUSE: Duration = Duration::from_millis(200);

impl Inner {
    /// Runs `work` to its end, even if the caller stops waiting for it.
    pub(super) async fn detached<T: Send + 'static>(
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
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands back what could not be handed back before.
    pub(super) async fn abandon_the_rest(&self) {
        let abandoned = std::mem::take(&mut *self.lock_abandoned());
        for (index, (task_id, epoch)) in abandoned.iter().enumerate() {
            if self.store.abandon(task_id, *epoch).await.is_err() {
                self.lock_abandoned().extend_from_slice(&abandoned[index..]);
                return;
            }
        }
    }

    /// Goes on with a task whose node is gone.
    pub(super) async fn adopt(self: &Arc<Self>, orphan: Orphan) {
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
    pub(super) async fn reach(&self) -> Result<Holder> {
        loop {
            let begin = self.change(|state| {
                if state.holder == Holder::Here {
                    return None;
                }
                Some(!std::mem::replace(&mut state.reaching, true))
            });
            match begin {
                None => return Ok(Holder::Here),
                Some(true) => {
                    let handle = self.clone();
                    let reached = async move {
                        let holder = handle.acquire().await;
                        handle.change(|state| state.reaching = false);
                        holder
                    };
                    return self.inner.detached(reached).await?;
                }
                Some(false) => self.wait(|state| (!state.reaching).then_some(())).await,
            }
        }
    }

    async fn acquire(&self) -> Result<Holder> {
        let acquired = self.inner.store.acquire(&self.scope, &self.task_id).await;
        let acquired = acquired.map_err(Error::from)?;
        // An answer that comes late may be of a hold that was lost since.
        let is_late = |stored: &StoredTask| self.lock().epoch > stored.epoch;
        match acquired {
            None => Err(Error::task_not_found(&self.task_id)),
            Some(Acquired::Here(stored)) if is_late(&stored) => Ok(self.lock().holder),
            Some(Acquired::Again(orphan)) => {
                let is_known = {
                    let state = self.lock();
                    state.holder != Holder::Here && state.known_hold + 1 == orphan.stored.epoch
                };
                if is_known {
                    // It was not let go, as something waits for it, or the store failed.
                    self.settle(orphan.stored, |_| ()).await;
                } else {
                    // It is one of those that this node has just taken over.
                    self.take_up(orphan).await;
                }
                Ok(self.lock().holder)
            }
            Some(Acquired::Elsewhere(_)) => {
                self.catch_up().await?;
                self.change(|state| {
                    // As the store said, even if it has changed since: whoever goes by it asks
                    // the store again.
                    Ok(if state.holder == Holder::Here { Holder::Here } else { Holder::Elsewhere })
                })
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
        let is_late = self.change(|state| {
            // This node or another has taken hold of it since, and knew of the work.
            let is_late = state.epoch > stored.epoch;
            if !is_late {
                state.lose(Holder::Elsewhere);
            }
            is_late
        });
        if is_late {
            return;
        }
        let inner = &self.inner;
        let rerun =
            inner.executor.recovery() == Recovery::Rerun && reruns <= inner.config.max_reruns;
        // Decided under one lock with the hold, so that no message or cancel comes in between.
        let next = |state: &mut State| {
            if execution.is_empty() || state.head.is_terminal() {
                return Next::Leave;
            }
            match interrupted_turn(&state.task, &execution) {
                // The task waits for a message, and needs nobody meanwhile.
                _ if state.head == TaskState::InputRequired => Next::Leave,
                Some(turn) if rerun => {
                    // The work was accepted when it came, whatever its caller has running now.
                    if let Some(slot) = inner.slots.take(&self.scope.owner, None) {
                        state.begin_run(slot);
                    }
                    state.last_ticket += 1;
                    state.turn = state.last_ticket;
                    state.turn_start = state.log.last();
                    Next::Run(turn)
                }
                _ => {
                    self.fail_interrupted(state);
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
    async fn settle<T>(&self, stored: StoredTask, then: impl FnOnce(&mut State) -> T) -> T {
        let behind = self.lock().log.last() < stored.last_event.get();
        if behind {
            // Nobody else writes now, so this is the same task and the events that lead to it.
            let _ = self.catch_up().await;
        }
        let (then, passed_over) = self.change(|state| {
            if state.log.last() < stored.last_event.get() {
                state.log = self.inner.empty_log(stored.last_event.get());
            }
            state.follow(stored);
            state.holder = Holder::Here;
            state.known_hold = state.epoch;
            state.running = false;
            state.canceling = false;
            state.broken = false;
            (then(state), state.commands.were_passed_over())
        });
        if passed_over {
            self.inner.serve_commands(self);
        }
        then
    }

    /// Lets the task go, if this node holds it and has nothing more to do with it. Work that was
    /// cut off is left to whoever takes the task over.
    pub(super) fn let_go_if_idle(&self) {
        let held = self.change(|state| {
            let idle = state.is_idle_here() && !state.commands.is_busy();
            idle.then(|| {
                state.holder = Holder::Nobody;
                let unfinished = state.cut_off || state.broken;
                if unfinished {
                    state.known_hold = 0;
                }
                (state.epoch, unfinished)
            })
        });
        let Some((epoch, unfinished)) = held else { return };
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
                Ok(true) => return,
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
            if is_late || self.lock().epoch != epoch {
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

/// The turn that was cut off, made again from what was recorded of it.
fn interrupted_turn(task: &Task, execution: &[u8]) -> Option<TurnRequest> {
    let record = Record::read(execution)?;
    let mut messages = task.history.iter().rev();
    let message = messages.find(|message| message.role() == Role::User)?;
    let mut turn = record.into_turn(message.clone());
    turn.rerun = true;
    Some(turn)
}
