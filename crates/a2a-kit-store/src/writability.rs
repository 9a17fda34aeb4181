//! Whether the writes of a store succeed, for readiness.

use std::{fmt, sync::Arc};

use crate::Result;
use a2a_kit_operations::store::StoreError;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

/// The size of the failed write that no write of at least this size has succeeded after, in bytes.
///
/// A smaller write that succeeds tells nothing: a full disk may still have room for it.
#[derive(Debug, Default)]
pub(crate) struct Writability {
    failing: Mutex<Option<usize>>,
    /// Locked during a test write.
    probing: Arc<AsyncMutex<()>>,
}

impl Writability {
    /// Records a failed write; the first one is logged.
    pub(crate) fn failed(&self, bytes: usize, error: &(impl fmt::Display + fmt::Debug)) {
        let mut failing = self.failing.lock();
        if failing.is_none() {
            tracing::error!(%error, source = ?error, "database is not writable");
        }
        *failing = failing.max(Some(bytes));
    }

    /// Records a successful write.
    pub(crate) fn succeeded(&self, bytes: usize) {
        if self.failing.lock().take_if(|failing| bytes >= *failing).is_some() {
            tracing::info!("database is writable again");
        }
    }

    /// The size that a write must have to show that writes succeed again, if they fail.
    pub(crate) fn failing(&self) -> Option<usize> {
        *self.failing.lock()
    }

    /// Makes a test write, one at a time. It goes on if the caller gives up, however long a write of
    /// this size takes.
    pub(crate) async fn probe(
        &self,
        write: impl Future<Output = Result<()>> + Send + 'static,
    ) -> Result<()> {
        let Ok(turn) = Arc::clone(&self.probing).try_lock_owned() else {
            return Err(StoreError::Unwritable("a test write is not done yet".into()));
        };
        let probe = tokio::spawn(async move {
            let written = write.await;
            drop(turn);
            written
        });
        probe.await.map_err(StoreError::failed)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_write_at_least_as_large_as_the_failed_one_shows_that_writes_succeed() {
        let writes = Writability::default();
        writes.succeeded(0);
        for (failed, succeeded, failing) in [
            (Some(100), None, Some(100)),
            (Some(70), Some(99), Some(100)),
            (None, Some(100), None),
            (Some(0), None, Some(0)),
            (None, Some(0), None),
        ] {
            failed.into_iter().for_each(|bytes| writes.failed(bytes, &"disk full"));
            succeeded.into_iter().for_each(|bytes| writes.succeeded(bytes));
            assert_eq!(writes.failing(), failing, "{failed:?} {succeeded:?}");
        }
    }
}
