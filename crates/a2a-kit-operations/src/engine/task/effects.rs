//! What has to follow from a transition.

use std::sync::Arc;

use a2a_core::{v1::Task, well_known::Struct};
use bytes::Bytes;

use super::TurnRequest;
use crate::CallContext;

/// What has to follow from a transition. One function performs it, after each transition:
/// `Handle::change`.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// A new turn begins: earlier signals to the executor are void.
    pub(crate) begin: bool,
    /// The executor is dropped.
    pub(crate) drop: bool,
    /// Changes are pending: a writer starts.
    pub(crate) write: bool,
    /// The loop starts that reconciles the lease and the commands with the store.
    pub(crate) reconcile: bool,
    /// The task is reloaded.
    pub(crate) refresh: bool,
    /// Webhook deliveries may be due.
    pub(crate) wake_outbox: bool,
    /// The executor runs.
    pub(crate) run: Option<Box<Start>>,
    /// The client cancels.
    pub(crate) cancel: Option<Box<Cancellation>>,
    /// Answers to commands that no write follows for.
    pub(crate) answers: Vec<(Arc<str>, Bytes)>,
}

/// The start of a run.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) turn: TurnRequest,
    pub(crate) generation: u64,
    pub(crate) mode: StartMode,
}

/// How an executor is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartMode {
    /// Within the call that started it, which waits for the response: an executor that never yields
    /// then needs no task of its own.
    Inline,
    /// In a spawned task.
    Spawned,
}

/// A cancel of a running executor.
#[derive(Debug)]
pub(crate) struct Cancellation {
    pub(crate) task: Arc<Task>,
    pub(crate) request: CancelRequest,
    pub(crate) generation: u64,
}

/// A call that cancels a task.
#[derive(Debug)]
pub(crate) struct CancelRequest {
    pub(crate) context: Arc<CallContext>,
    pub(crate) metadata: Option<Struct>,
}

impl Effects {
    pub(super) fn is_empty(&self) -> bool {
        let Self { begin, drop, write, reconcile, refresh, wake_outbox, run, cancel, answers } =
            self;
        let is_flagged = *begin || *drop || *write || *reconcile || *refresh || *wake_outbox;
        !is_flagged && run.is_none() && cancel.is_none() && answers.is_empty()
    }
}
