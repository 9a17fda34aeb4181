//! Several nodes on one store.

mod commands;
mod lease;
mod pending_calls;
mod reconcile;
mod remote_call;
mod remote_events;
mod suspension;
mod takeover;

pub(crate) use self::{remote_call::Forwarded, remote_events::follow};

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use self::{lease::LastRenewal, pending_calls::PendingCalls};
use crate::store::Signals;

/// Cluster state of an engine.
#[derive(Default)]
pub(crate) struct Cluster {
    /// Whether other nodes share the store.
    pub(crate) is_shared: bool,
    /// Signals from the store, until the background task takes them.
    pub(crate) signals: Mutex<Option<Signals>>,
    /// The last lease renewal.
    pub(crate) last_renewal: LastRenewal,
    /// Triggers a takeover.
    pub(crate) takeover_notify: Arc<Notify>,
    /// Leases that could not be abandoned yet: at most as many as there were running tasks when the
    /// store failed.
    abandoned: Mutex<Vec<(Arc<str>, u64)>>,
    /// Calls to other nodes without an answer.
    pending_calls: PendingCalls,
}

impl Cluster {
    pub(crate) fn new(signals: Option<Signals>) -> Self {
        Self { is_shared: signals.is_some(), signals: Mutex::new(signals), ..Self::default() }
    }
}
