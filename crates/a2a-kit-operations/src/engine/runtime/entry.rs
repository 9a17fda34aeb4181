//! One active task and its waiters.

use std::{
    num::NonZeroUsize,
    ops::Deref,
    sync::{Arc, atomic::AtomicUsize},
};

use a2a_core::v1::{Task, TaskStatusUpdateEvent};
use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use crate::{
    Scope,
    caller_counts::{Count, Counted},
    engine::{
        Inner,
        runtime::{
            Handle,
            watchers::{Cursors, Waiters, Wakers},
        },
        task::{Effects, LiveTask},
    },
    store::StoredTask,
};

/// An active task. Reached through a [`Handle`](Handle).
pub(crate) struct Entry {
    /// The engine. It has the entry in its registry only while there are handles.
    pub(crate) inner: Arc<Inner>,
    pub(crate) scope: Scope,
    pub(crate) task_id: Arc<str>,
    pub(crate) context_id: Arc<str>,
    /// The number of handles, maintained by the registry.
    pub(crate) handles: AtomicUsize,
    shared: Mutex<Shared>,
}

a2a_core::debug_fields!(Entry { scope, task_id, .. });

#[derive(Debug)]
struct Shared {
    live: LiveTask,
    signals: Signals,
    watchers: Watchers,
    /// Counts the task while it runs, and until it is stored.
    running: Option<Count>,
    draft: Option<Count>,
}

/// Wakers of the waiters, and the positions of the readers.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    pub(crate) waiters: Waiters,
    pub(crate) cursors: Cursors,
}

/// Cancellation tokens of the executor, created on first use.
#[derive(Debug, Default)]
struct Signals {
    /// The client cancels.
    cancel: Option<CancellationToken>,
    /// The executor is dropped.
    drop: Option<CancellationToken>,
}

impl Signals {
    fn perform(&mut self, effects: &Effects) {
        let Self { cancel, drop } = self;
        if effects.begin {
            cancel.take_if(|cancel| cancel.is_cancelled());
            drop.take_if(|drop| drop.is_cancelled());
        }
        let signal = |token: &Option<CancellationToken>| {
            token.iter().for_each(CancellationToken::cancel);
        };
        if effects.cancel.is_some() {
            signal(cancel);
        }
        if effects.drop {
            signal(drop);
        }
    }
}

/// A token that is already cancelled if the signal was given.
fn listen(token: &mut Option<CancellationToken>, has_happened: bool) -> CancellationToken {
    let token = token.get_or_insert_default();
    if has_happened {
        token.cancel();
    }
    token.clone()
}

/// A locked task.
pub(crate) struct Locked<'a>(MutexGuard<'a, Shared>);

impl Deref for Locked<'_> {
    type Target = LiveTask;

    fn deref(&self) -> &LiveTask {
        &self.0.live
    }
}

impl Locked<'_> {
    /// The task and its watchers.
    pub(crate) fn watched(&mut self) -> (&LiveTask, &mut Watchers) {
        let shared = &mut *self.0;
        (&shared.live, &mut shared.watchers)
    }

    pub(crate) fn watchers(&self) -> &Watchers {
        &self.0.watchers
    }

    /// The task, for a transition. [`settle`](Self::settle) has to follow.
    pub(super) fn live(&mut self) -> &mut LiveTask {
        &mut self.0.live
    }

    /// Counts the task as running until it settles, and returns whether its caller may run that
    /// many.
    pub(super) fn reserve_slot(&mut self, handle: &Handle, max: Option<NonZeroUsize>) -> bool {
        let running = &mut self.0.running;
        if running.is_none() {
            *running = take_running(handle, max);
        }
        running.is_some()
    }

    /// Completes a transition: gives the signals to the executor, and counts the task as it is now.
    /// Returns what is to be done without the lock, if anything.
    pub(super) fn settle(
        &mut self,
        handle: &Handle,
        wakes: bool,
        batches: bool,
    ) -> Option<Settled> {
        let Shared { live, signals, watchers, running, draft } = &mut *self.0;
        let effects = live.take_effects(batches);
        let is_running = live.has_slot();
        let is_counted = running.is_some() == is_running && (draft.is_none() || live.is_draft());
        if effects.is_none() && is_counted && !wakes {
            return None;
        }
        if let Some(effects) = &effects {
            signals.perform(effects);
        }
        if is_running && running.is_none() {
            *running = take_running(handle, None);
        }
        let wakers = if wakes { watchers.waiters.take() } else { Wakers::default() };
        running.take_if(|_| !is_running);
        draft.take_if(|_| !live.is_draft());
        Some(Settled { effects, wakers })
    }
}

fn take_running(handle: &Handle, max: Option<NonZeroUsize>) -> Option<Count> {
    handle.inner.load.counts.take(&handle.scope.owner, Counted::RunningTask, max)
}

/// What is to be done after a transition, without the lock.
pub(super) struct Settled {
    pub(super) effects: Option<Effects>,
    pub(super) wakers: Wakers,
}

impl Entry {
    /// Creates the entry of a task that is not visible yet.
    pub(crate) fn draft(
        inner: &Arc<Inner>,
        scope: Scope,
        task: Task,
        (running, draft): (Count, Option<Count>),
    ) -> Arc<Self> {
        let live = LiveTask::draft(task, inner.empty_log(0));
        Self::new(inner, scope, live, (Some(running), draft))
    }

    /// Creates the entry of a stored task.
    pub(crate) fn stored(inner: &Arc<Inner>, scope: Scope, stored: StoredTask) -> Arc<Self> {
        let log = inner.empty_log(stored.last_event.get());
        Self::new(inner, scope, LiveTask::stored_before(stored, log), (None, None))
    }

    fn new(
        inner: &Arc<Inner>,
        scope: Scope,
        live: LiveTask,
        (running, draft): (Option<Count>, Option<Count>),
    ) -> Arc<Self> {
        let (task, _) = live.visible();
        let (task_id, context_id) = (task.id.as_str().into(), task.context_id.as_str().into());
        let (signals, watchers) = Default::default();
        let shared = Mutex::new(Shared { live, signals, watchers, running, draft });
        let (inner, handles) = (Arc::clone(inner), AtomicUsize::new(0));
        Arc::new(Self { inner, scope, task_id, context_id, handles, shared })
    }

    pub(crate) fn lock(&self) -> Locked<'_> {
        // Every change under the lock is complete before anything in it can panic.
        Locked(self.shared.lock())
    }

    /// Cancelled when the client cancels.
    pub(crate) fn cancel_signal(&self) -> CancellationToken {
        let mut locked = self.lock();
        let shared = &mut *locked.0;
        listen(&mut shared.signals.cancel, shared.live.is_canceling())
    }

    /// Cancelled when the executor of a generation is dropped.
    pub(crate) fn drop_signal(&self, generation: u64) -> CancellationToken {
        let mut locked = self.lock();
        let Shared { live, signals, .. } = &mut *locked.0;
        match live.is_dropped(generation) {
            // Of an earlier run: not that of the current one.
            None => listen(&mut None, true),
            Some(is_dropped) => listen(&mut signals.drop, is_dropped),
        }
    }

    /// Sets the ids of this task in the message of an update. Those of the update itself are set when
    /// it is stored, unless only the task is.
    pub(crate) fn own_status(&self, update: &mut TaskStatusUpdateEvent) {
        if let Some(message) = update.status.as_mut().and_then(|status| status.message.as_mut()) {
            message.role = a2a_core::Role::Agent.into();
            message.task_id = (*self.task_id).to_owned();
            message.context_id = (*self.context_id).to_owned();
            if message.message_id.is_empty() {
                message.message_id = a2a_core::fresh_id();
            }
        }
    }
}
