//! Events of other nodes for tasks that are watched here.

use std::{sync::Weak, time::Duration};

use a2a_core::{Error, Result};
use futures_util::StreamExt as _;
use tokio::time::Instant;

use crate::{
    engine::{Inner, runtime::Handle, task::LiveTask},
    store::{Signal, Signals},
};

/// The delay between attempts to reload a task.
const PAUSE: Duration = Duration::from_millis(500);

/// Handles signals of other nodes, until the engine or the store ends.
pub(crate) async fn follow(engine: Weak<Inner>, mut signals: Signals) {
    while let Some(signal) = signals.next().await {
        let Some(inner) = engine.upgrade() else { return };
        match signal {
            Signal::Written { task_id, last_event, events } => {
                if let Some(handle) = inner.active(&task_id) {
                    handle.change(|live| live.apply_remote(last_event, events));
                }
            }
            Signal::Posted { task_id } => {
                if let Some(handle) = inner.active(&task_id) {
                    handle.change_silently(LiveTask::notice_commands);
                }
            }
            Signal::Answered { command_id } => inner.cluster.pending_calls.wake(&command_id),
            Signal::Abandoned => inner.cluster.takeover_notify.notify_one(),
            Signal::Lagged => {
                inner.cluster.pending_calls.wake_all();
                for handle in inner.handles() {
                    handle.change_silently(LiveTask::lagged);
                }
                inner.cluster.takeover_notify.notify_one();
            }
        }
    }
}

impl Handle {
    /// Reloads the task in the background.
    pub(crate) fn start_refresh(&self) {
        let handle = self.clone();
        self.inner.tasks.spawn(async move {
            let timeout = handle.inner.config.store_retry_timeout;
            let mut deadline = Instant::now() + timeout;
            loop {
                if let Err(error) = handle.catch_up().await {
                    tracing::warn!(error = ?error, "failed to refresh task");
                    if handle.inner.draining.is_cancelled() || Instant::now() >= deadline {
                        handle.change(LiveTask::stop_following);
                        return;
                    }
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                deadline = Instant::now() + timeout;
                let done = handle.change(LiveTask::end_refresh);
                if done {
                    return;
                }
            }
        });
    }

    /// Reloads the task, to apply what another node wrote.
    pub(crate) async fn catch_up(&self) -> Result<()> {
        let mark = self.change_silently(LiveTask::begin_read);
        let store = &self.inner.store;
        let Some(after) = mark.after else {
            // A task without visible events is reloaded only if its lease was lost.
            if !mark.is_here {
                let stored = store.get(&self.scope, &self.task_id).await.map_err(Error::from)?;
                self.change(|live| live.reload(stored));
            }
            return Ok(());
        };
        let loaded = store.load(&self.scope, &self.task_id, after).await.map_err(Error::from)?;
        self.change(|live| match loaded {
            Some((stored, replay)) => live.read(mark, stored, replay, store.node()),
            None => live.removed(),
        });
        Ok(())
    }
}
