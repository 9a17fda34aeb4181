//! Tasks that wait for authorization.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The tasks that wait for an authorization.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authorizations(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

/// A task's place among those that wait; it is given up when this is dropped.
#[derive(Debug)]
pub(crate) struct WaitingTask {
    task_id: String,
    granted: Arc<Notify>,
    all: Authorizations,
}

impl Authorizations {
    /// Registers a task before it waits, so that no authorization is too early.
    pub(crate) fn enter(&self, task_id: &str) -> WaitingTask {
        let granted = Arc::new(Notify::new());
        self.lock().insert(task_id.to_owned(), granted.clone());
        WaitingTask { task_id: task_id.to_owned(), granted, all: self.clone() }
    }

    /// Lets a task go on, and returns whether one was waiting.
    pub(crate) fn grant(&self, task_id: &str) -> bool {
        let waiting = self.lock().get(task_id).cloned();
        if let Some(granted) = &waiting {
            granted.notify_one();
        }
        waiting.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        // Nothing that holds the lock can leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingTask {
    pub(crate) async fn granted(&self) {
        self.granted.notified().await;
    }
}

impl Drop for WaitingTask {
    fn drop(&mut self) {
        self.all.lock().remove(&self.task_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_grant_reaches_a_task_that_does_not_wait_yet() {
        let all = Authorizations::default();
        assert!(!all.grant("t"));
        let waiting = all.enter("t");
        assert!(all.grant("t"));
        waiting.granted().await;
        drop(waiting);
        assert!(!all.grant("t"));
    }
}
