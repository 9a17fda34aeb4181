//! Calls to other nodes that are waiting for an answer.

use std::{collections::HashMap, sync::Arc};

use a2a_core::fresh_id;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Callers on this node, by command id.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls(Mutex<HashMap<Arc<str>, Arc<Notify>>>);

impl PendingCalls {
    /// Wakes the caller of a command.
    pub(crate) fn wake(&self, command_id: &str) {
        if let Some(waiting) = self.0.lock().get(command_id) {
            waiting.notify_one();
        }
    }

    /// Wakes all callers.
    pub(crate) fn wake_all(&self) {
        self.0.lock().values().for_each(|waiting| waiting.notify_one());
    }
}

/// A call that is waiting for its answer.
pub(crate) struct PendingCall<'a> {
    pending_calls: &'a PendingCalls,
    pub(crate) id: Arc<str>,
    pub(crate) answered: Arc<Notify>,
}

impl<'a> PendingCall<'a> {
    pub(crate) fn new(pending_calls: &'a PendingCalls) -> Self {
        let id: Arc<str> = fresh_id().into();
        let answered = Arc::new(Notify::new());
        pending_calls.0.lock().insert(Arc::clone(&id), Arc::clone(&answered));
        Self { pending_calls, id, answered }
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        self.pending_calls.0.lock().remove(&self.id);
    }
}
