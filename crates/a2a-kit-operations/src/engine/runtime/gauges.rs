//! Metrics of an engine, and its health check.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use a2a_core::{Error, Result, TaskState};

use crate::{
    AgentLabel,
    engine::{Engine, Inner, runtime::Handle},
    metrics::{self, Sample},
};

impl Inner {
    /// Updates the gauges. No more expensive than renewing leases.
    pub(crate) fn sample(self: &Arc<Self>) {
        let mut sample = Sample {
            running: self.load.running.load(Ordering::Relaxed),
            asking: self.load.asking.load(Ordering::Relaxed),
            ..Sample::default()
        };
        for handle in self.handles() {
            let live = handle.lock();
            live.stored_state().into_iter().for_each(|state| sample.count(state));
            sample.held += usize::from(live.is_here());
            sample.queued += live.queue_len();
            let next = live.watchers().cursors.slowest().unwrap_or(u64::MAX);
            sample.lag = sample.lag.max((live.visible().1 + 1).saturating_sub(next));
        }
        sample.show(self.config.metrics_label);
    }
}

impl Handle {
    /// Counts a state transition, and writes it to the audit log.
    pub(crate) fn record_transition(&self, state: TaskState) {
        metrics::changed_state(self.inner.config.metrics_label, state);
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
    /// The label of this engine's metrics.
    pub fn metrics_label(&self) -> AgentLabel {
        self.inner.config.metrics_label
    }

    /// Checks that the store responds and accepts writes.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](a2a_core::ErrorKind::Unavailable) if the store fails, cannot write (until a
    /// write succeeds again), or does not respond `within` that time.
    pub async fn probe(&self, within: Duration) -> Result<()> {
        match tokio::time::timeout(within, self.inner.store.probe()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.into()),
            Err(elapsed) => {
                Err(Error::unavailable("the store did not respond in time").with_source(elapsed))
            }
        }
    }
}
