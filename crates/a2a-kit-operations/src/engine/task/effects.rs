//! What has to follow from a transition.

use std::sync::Arc;

use a2a_core::v1::Task;
use bytes::Bytes;

use super::{CancelRequest, LiveTask, TurnRequest};

/// What has to follow from a transition. One function performs it, after each transition:
/// `Handle::change`.
#[derive(Debug, Default)]
pub(in crate::engine) struct Effects {
    /// A new turn begins: earlier signals to the executor are void.
    pub(in crate::engine) begin: bool,
    /// The executor is dropped.
    pub(in crate::engine) drop: bool,
    /// Changes are pending: a writer starts.
    pub(in crate::engine) write: bool,
    /// The loop starts that reconciles the lease and the commands with the store.
    pub(in crate::engine) reconcile: bool,
    /// The task is reloaded.
    pub(in crate::engine) refresh: bool,
    /// Webhook deliveries may be due.
    pub(in crate::engine) wake_outbox: bool,
    /// The executor runs.
    pub(in crate::engine) run: Option<Start>,
    /// The client cancels.
    pub(in crate::engine) cancel: Option<Box<Cancellation>>,
    /// Answers to commands that no write follows for.
    pub(in crate::engine) answers: Vec<(Arc<str>, Bytes)>,
}

/// The start of a run.
#[derive(Debug)]
pub(in crate::engine) struct Start {
    pub(in crate::engine) turn: TurnRequest,
    pub(in crate::engine) generation: u64,
    pub(in crate::engine) mode: StartMode,
}

/// How an executor is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum StartMode {
    /// Within the call that started it, which waits for the response: an executor that never yields
    /// then needs no task of its own.
    Inline,
    /// In a spawned task.
    Spawned,
}

/// A cancel of a running executor.
#[derive(Debug)]
pub(in crate::engine) struct Cancellation {
    pub(in crate::engine) task: Arc<Task>,
    pub(in crate::engine) request: CancelRequest,
    pub(in crate::engine) generation: u64,
}

impl Effects {
    fn is_empty(&self) -> bool {
        let Self { begin, drop, write, reconcile, refresh, wake_outbox, run, cancel, answers } =
            self;
        let is_flagged = *begin || *drop || *write || *reconcile || *refresh || *wake_outbox;
        !is_flagged && run.is_none() && cancel.is_none() && answers.is_empty()
    }
}

impl LiveTask {
    /// Takes what has to follow from the transitions since the last call; `None` if nothing has.
    /// Changes that are to be batched are not written yet.
    pub(in crate::engine) fn take_effects(&mut self, batches: bool) -> Option<Effects> {
        self.effects.write = !batches && self.begin_writing();
        self.effects.reconcile = self.begin_reconciling();
        (!self.effects.is_empty()).then(|| std::mem::take(&mut self.effects))
    }

    /// Runs the executor for a message.
    pub(super) fn start(&mut self, turn: TurnRequest, mode: StartMode) {
        let generation = self.ownership.generation;
        self.effects.run = Some(Start { turn, generation, mode });
    }
}
