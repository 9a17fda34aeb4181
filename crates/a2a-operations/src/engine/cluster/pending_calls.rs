//! Those on this node who wait for an answer of another.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use a2a_core::fresh_id;
use tokio::sync::Notify;

/// Those on this node who wait for the answer to a command.
#[derive(Debug, Default)]
pub(in crate::engine) struct Expected(Mutex<HashMap<Arc<str>, Arc<Notify>>>);

impl Expected {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that a command was answered.
    pub(in crate::engine) fn wake(&self, command_id: &str) {
        if let Some(waiting) = self.lock().get(command_id) {
            waiting.notify_one();
        }
    }

    /// Says that any command may have been answered.
    pub(in crate::engine) fn wake_all(&self) {
        self.lock().values().for_each(|waiting| waiting.notify_one());
    }
}

/// Waits for the answer to one command.
pub(in crate::engine) struct Expecting<'a> {
    expected: &'a Expected,
    pub(in crate::engine) id: Arc<str>,
    pub(in crate::engine) answered: Arc<Notify>,
}

impl<'a> Expecting<'a> {
    pub(in crate::engine) fn new(expected: &'a Expected) -> Self {
        let id: Arc<str> = fresh_id().into();
        let answered = Arc::new(Notify::new());
        expected.lock().insert(Arc::clone(&id), Arc::clone(&answered));
        Self { expected, id, answered }
    }
}

impl Drop for Expecting<'_> {
    fn drop(&mut self) {
        self.expected.lock().remove(&self.id);
    }
}
