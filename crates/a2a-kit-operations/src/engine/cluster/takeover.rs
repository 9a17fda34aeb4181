//! Taking over the tasks of failed nodes.

use std::sync::{Arc, atomic::Ordering};

use futures_util::{
    StreamExt as _,
    future::{join_all, ready},
    stream,
};
use tokio::time::Instant;

use crate::{
    engine::{
        Inner,
        runtime::{Entry, Handle},
        task::Takeover,
    },
    store::Orphan,
};

/// Maximum number of tasks to take over in one call, and of concurrent calls.
const BATCH: usize = 64;

impl Inner {
    /// Retries to abandon leases.
    pub(crate) async fn retry_abandoned(&self) {
        let abandoned = std::mem::take(&mut *self.cluster.abandoned.lock());
        let attempt = async |(task_id, epoch): (Arc<str>, u64)| {
            self.store.abandon(&task_id, epoch).await.is_err().then_some((task_id, epoch))
        };
        let failed: Vec<_> = stream::iter(abandoned.into_iter().map(attempt))
            .buffer_unordered(BATCH)
            .filter_map(ready)
            .collect()
            .await;
        self.cluster.abandoned.lock().extend(failed);
    }

    /// Takes over tasks of failed nodes, as many batches as fit into half a period of renewal, and
    /// at least one. Further ones are left for the next period, or to other nodes.
    pub(crate) async fn take_over(self: &Arc<Self>) {
        let deadline = Instant::now() + self.config.lease_renewal / 2;
        loop {
            // Leases that this node might not renew are left to other nodes, as are tasks beyond
            // its capacity.
            let running = self.load.running.load(Ordering::Relaxed);
            let limit = self.config.max_running.saturating_sub(running).min(BATCH);
            if limit == 0 || self.is_renewal_late() {
                return;
            }
            let since = self.lease_clock();
            let orphans = match self.store.take_over(limit).await {
                Ok(orphans) => orphans,
                Err(error) => {
                    tracing::warn!(error = ?error, "failed to query orphaned tasks");
                    return;
                }
            };
            let count = orphans.len();
            if count > 0 {
                tracing::info!(tasks = count, "tasks taken over");
            }
            join_all(orphans.into_iter().map(|orphan| self.resume(orphan, since))).await;
            if count < limit || Instant::now() >= deadline {
                return;
            }
        }
    }

    async fn resume(self: &Arc<Self>, orphan: Orphan, since: Option<std::time::Instant>) {
        let stored = orphan.stored.clone();
        let entry = self.entries.insert(Entry::stored(self, orphan.scope.clone(), stored));
        let handle = Handle::new(entry);
        handle.take_over(Takeover { orphan, since }).await;
    }
}
