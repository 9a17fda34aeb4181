//! Waiting for a task state.

use std::{sync::Arc, time::Duration};

use a2a_core::{ErrorKind, Result, Task, TaskState};

use crate::{Client, Snapshot};

/// Poll intervals for a task that can't be subscribed to.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(500);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);

impl Client {
    /// Waits until `is_wanted` accepts the state of a task or the task has ended, and returns the
    /// task in that state. There is no timeout.
    ///
    /// Subscribes if the agent supports streaming (spec §3.1.6), otherwise polls with an interval
    /// that grows from 500 ms to 30 s.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), after retries are exhausted.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe.
    pub async fn wait_until(
        &self,
        task_id: &str,
        mut is_wanted: impl FnMut(TaskState) -> bool + Send,
    ) -> Result<Arc<Task>> {
        let mut is_over = |state: TaskState| state.is_terminal() || is_wanted(state);
        if self.card().can_stream()
            && let Some(task) = self.watch(task_id, &mut is_over).await?
        {
            return Ok(task);
        }
        let mut interval = MIN_POLL_INTERVAL;
        loop {
            let task = self.get(task_id).await?;
            if is_over(task.state()) {
                return Ok(task);
            }
            tokio::time::sleep(interval).await;
            interval = (interval * 2).min(MAX_POLL_INTERVAL);
        }
    }

    /// Waits until a task leaves AUTH_REQUIRED: the authorization was granted, in or out of band,
    /// or the agent stopped waiting (spec §7.6.2).
    ///
    /// # Errors
    ///
    /// As [`wait_until`](Self::wait_until).
    pub async fn wait_while_auth_required(&self, task_id: &str) -> Result<Arc<Task>> {
        self.wait_until(task_id, |state| state != TaskState::AuthRequired).await
    }

    /// Follows the events of a task; `None` if the stream ends before the wanted state or is
    /// rejected: some agents end it at any interrupted state, and reject ended tasks.
    async fn watch(
        &self,
        task_id: &str,
        is_over: &mut (impl FnMut(TaskState) -> bool + Send),
    ) -> Result<Option<Arc<Task>>> {
        let mut events = match self.subscribe(task_id).await {
            Ok(events) => events,
            Err(error) if error.kind() == ErrorKind::UnsupportedOperation => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut snapshot = Snapshot::new();
        while let Some(event) = events.next().await {
            let event = event?;
            snapshot.apply(&event);
            if event.state().is_some_and(&mut *is_over) {
                return Ok(snapshot.into_task().map(Arc::new));
            }
        }
        Ok(None)
    }
}
