//! Several nodes on one store: which of them works on a task, and how the others have a part.

mod acquire;
mod lease;
mod pending_calls;
mod remote_call;
mod remote_events;

pub(in crate::engine) use self::{remote_call::answer_late, remote_events::follow};

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use self::{lease::Renewed, pending_calls::Expected};
use crate::store::Signals;

/// What an engine knows of the nodes beside it.
pub(in crate::engine) struct Cluster {
    /// Whether other nodes may work on the same tasks.
    pub(in crate::engine) is_shared: bool,
    /// Notifications from the store, until the task that follows them takes them.
    pub(in crate::engine) signals: Mutex<Option<Signals>>,
    /// When the leases of this node were last renewed.
    pub(in crate::engine) renewed: Renewed,
    /// Wakes the task that takes over abandoned tasks.
    pub(in crate::engine) look_around: Arc<Notify>,
    /// Tasks whose hand-over the store has not accepted yet.
    abandoned: Mutex<Vec<(Arc<str>, u64)>>,
    /// Calls to other nodes that have no answer yet.
    expected: Expected,
}

impl Cluster {
    pub(in crate::engine) fn new(signals: Option<Signals>) -> Self {
        Self {
            is_shared: signals.is_some(),
            signals: Mutex::new(signals),
            renewed: Renewed::now(),
            look_around: Arc::new(Notify::new()),
            abandoned: Mutex::default(),
            expected: Expected::default(),
        }
    }
}
