//! Performs what follows from the transitions of a task.

use std::{cell::Cell, num::NonZeroUsize, ptr};

use crate::engine::{
    runtime::{
        Entry, Handle,
        entry::{Locked, Settled},
    },
    task::LiveTask,
};

thread_local! {
    /// The poll of an executor on this thread.
    static POLL: Cell<ExecutorPoll> =
        const { Cell::new(ExecutorPoll { entry: ptr::null(), waits: false }) };
}

#[derive(Clone, Copy)]
struct ExecutorPoll {
    /// The task of the executor, or null; only compared.
    entry: *const Entry,
    /// Whether the executor waits for its task.
    waits: bool,
}

impl Entry {
    /// Returns whether the executor of this task is being polled on this thread.
    fn is_polled(&self) -> bool {
        ptr::eq(POLL.get().entry, self)
    }

    /// Notes that the caller waits for this task.
    pub(super) fn note_wait(&self) {
        if self.is_polled() {
            POLL.set(ExecutorPoll { entry: self, waits: true });
        }
    }
}

impl Handle {
    /// Makes a transition, performs its effects, and wakes all waiters.
    pub(crate) fn change<T>(&self, transition: impl FnOnce(&mut LiveTask) -> T) -> T {
        self.make(true, |locked| transition(locked.live()))
    }

    /// Makes a transition and performs its effects, without waking waiters.
    pub(crate) fn change_silently<T>(&self, transition: impl FnOnce(&mut LiveTask) -> T) -> T {
        self.make(false, |locked| transition(locked.live()))
    }

    /// Makes a transition like [`change`](Self::change), and tells it whether the task may run:
    /// whether it does already, or its caller runs fewer tasks than this.
    pub(crate) fn admit<T>(
        &self,
        max_running: Option<NonZeroUsize>,
        transition: impl FnOnce(&mut LiveTask, bool) -> T,
    ) -> T {
        self.make(true, |locked| {
            let may_run = locked.reserve_slot(self, max_running);
            transition(locked.live(), may_run)
        })
    }

    fn make<T>(&self, wakes: bool, transition: impl FnOnce(&mut Locked<'_>) -> T) -> T {
        let (value, settled) = {
            let mut locked = self.lock();
            let value = transition(&mut locked);
            // An executor that is polled leaves the rest to what follows its poll.
            let batches = self.is_polled();
            let settles = wakes || !batches;
            (value, if settles { locked.settle(self, wakes, batches) } else { None })
        };
        if let Some(settled) = settled {
            self.perform(settled);
        }
        value
    }

    /// Polls the executor of the task, and returns whether it waits for the task. What it changes
    /// meanwhile on this thread is left to [`write_batch`](Self::write_batch), or to the transition
    /// that ends its run.
    pub(crate) fn batch<T>(&self, poll: impl FnOnce() -> T) -> (T, bool) {
        let outer = POLL.replace(ExecutorPoll { entry: &raw const **self, waits: false });
        let value = poll();
        (value, POLL.replace(outer).waits)
    }

    /// Writes what an executor has changed while it was polled. Returns whether there was something
    /// to write, and it is written.
    pub(crate) fn write_batch(&self) -> bool {
        let settled = self.lock().settle(self, false, false);
        settled.is_some_and(|settled| self.perform(settled))
    }

    /// Returns whether changes were written.
    fn perform(&self, Settled { effects, wakers }: Settled) -> bool {
        wakers.wake();
        let Some(effects) = effects else { return false };
        let is_written = effects.write && self.start_writer();
        if let Some(start) = effects.run {
            self.start_run(*start);
        }
        if let Some(cancellation) = effects.cancel {
            self.start_cancel(*cancellation);
        }
        if effects.reconcile {
            self.start_reconciling();
        }
        if effects.refresh {
            self.start_refresh();
        }
        for (id, body) in effects.answers {
            let handle = self.clone();
            self.inner.tasks.spawn(async move { handle.answer(&id, body).await });
        }
        if effects.wake_outbox {
            self.inner.push.outbox.iter().for_each(|outbox| outbox.wake());
        }
        is_written
    }
}
