//! Waiting for what becomes of a task.

use std::{sync::Arc, time::Duration};

use a2a_core::{ErrorKind, Result, Task, TaskState};

use crate::{Client, Snapshot};

/// The pauses between two looks at a task that can't be subscribed to.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl Client {
    /// Waits until a task is in a state that is wanted, or has ended, and returns it as it was
    /// then. There is no time limit but the caller's own.
    ///
    /// It subscribes where the agent streams (spec §3.1.6), and looks at the task every now and
    /// then where not: first after half a second, later every 30 s.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), when tries to go on have failed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
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
        let mut pause = FIRST_PAUSE;
        loop {
            let task = self.get(task_id).await?;
            if is_over(task.state()) {
                return Ok(task);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Waits while a task is AUTH_REQUIRED: until the authorization that it asks for has come, by
    /// whatever way it comes, or the agent does not wait any more (spec §7.6.2).
    ///
    /// # Errors
    ///
    /// As [`wait_until`](Self::wait_until).
    pub async fn wait_while_auth_required(&self, task_id: &str) -> Result<Arc<Task>> {
        self.wait_until(task_id, |state| state != TaskState::AuthRequired).await
    }

    /// Reads the events of a task; `None` where they end before the wanted state, or are refused:
    /// some agents end them at any interruption, and refuse those of a task that has ended.
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
