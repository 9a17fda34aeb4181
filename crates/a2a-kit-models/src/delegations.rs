//! What the calls of a run share that delegate to other agents.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use a2a_kit_operations::extension::{Delegation, UsageReport};

/// What the calls of a run share.
#[derive(Debug)]
pub(crate) struct Delegations {
    pub(crate) delegation: Delegation,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// The contexts of the remote agents, by the names of their tools.
    pub(crate) contexts: BTreeMap<String, String>,
    /// What the agents reported of tasks that ended since the last [`Delegations::take_usage`].
    pub(crate) usage: Vec<Option<UsageReport>>,
}

impl Delegations {
    pub(crate) fn new(max_depth: u32) -> Self {
        Self { delegation: Delegation::new(max_depth), state: Mutex::default() }
    }

    /// What delegated tasks that have ended since the last time used; `None` for each whose agent
    /// reported nothing.
    pub(crate) fn take_usage(&self) -> Vec<Option<UsageReport>> {
        mem::take(&mut self.state().usage)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
