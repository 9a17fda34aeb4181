//! Several nodes on one store: which of them works on a task, and how the others have a part.

mod command;
mod expected;
mod follow;
mod hold;
mod lease;

pub(in crate::engine) use self::{command::answer_late, follow::follow};

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use self::{expected::Expected, lease::Renewed};
use crate::store::Signals;

/// What an engine knows of the nodes beside it.
pub(in crate::engine) struct Cluster {
    /// Whether other nodes may work on the same tasks.
    pub(in crate::engine) is_shared: bool,
    /// What the other nodes do, until somebody listens.
    pub(in crate::engine) signals: Mutex<Option<Signals>>,
    /// When this node said last what it holds.
    pub(in crate::engine) renewed: Renewed,
    /// Wakes whoever takes over tasks.
    pub(in crate::engine) look_around: Arc<Notify>,
    /// Tasks to hand back, which the store did not take back yet.
    abandoned: Mutex<Vec<(Arc<str>, u64)>>,
    /// Who waits for other nodes.
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
