//! What operators see of an engine: its state now and then, and whether its store answers.

use std::{sync::atomic::Ordering, time::Duration};

use a2a_core::{Error, Result, TaskState};

use crate::{
    engine::{Engine, Inner, runtime::Handle},
    metrics::{self, Sample},
};

impl Inner {
    /// Shows what this node works on and watches. No more work than renewing leases is.
    pub(in crate::engine) fn sample(&self) {
        let mut sample = Sample {
            running: self.load.running.load(Ordering::Relaxed),
            asking: self.load.asking.load(Ordering::Relaxed),
            ..Sample::default()
        };
        for entry in self.entries.all() {
            let live = entry.lock();
            if live.is_stored() {
                sample.count(live.task.state());
            }
            sample.held += usize::from(live.is_here());
            sample.queued += live.turns.queue_len();
            let next = live.watchers().cursors.slowest().unwrap_or(u64::MAX);
            sample.lag = sample.lag.max((live.log.last() + 1).saturating_sub(next));
        }
        sample.show();
    }
}

impl Handle {
    /// Counts a state that the task is in from now on, and has the audit log know.
    pub(in crate::engine) fn tell_of(&self, state: TaskState) {
        metrics::changed_state(state);
        tracing::debug!(
            target: "a2a::audit",
            event = "task_state",
            task = %self.task_id,
            context = %self.context_id,
            tenant = %self.scope.tenant,
            subject = %self.scope.owner,
            state = state.as_str_name(),
        );
    }
}

impl Engine {
    /// Checks that the store answers and takes writes.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](a2a_core::ErrorKind::Unavailable) where the store fails, can't write (until
    /// a write works again), or does not answer `within` that time.
    pub async fn probe(&self, within: Duration) -> Result<()> {
        match tokio::time::timeout(within, self.inner.store.probe()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.into()),
            Err(elapsed) => {
                Err(Error::unavailable("the store does not answer in time").with_source(elapsed))
            }
        }
    }
}
