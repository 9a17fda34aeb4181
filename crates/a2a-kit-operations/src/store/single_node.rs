//! A store over a key-value store, for one process.

use std::{
    fmt,
    future::Future,
    sync::atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Mutex;

use super::{LeaseStore, MemoryLimits, MemoryStore, PushStore, StoreError, TaskStore};
use crate::intercept_store;

/// A key-value store, as [`SingleNode`] needs it.
///
/// Keys are printable ASCII without spaces, values are JSON. A value is at most as long as a task
/// with its history and artifacts.
///
/// # Laws
///
/// - All changes of a [`write`](Self::write) are applied, or none: also when the process is killed,
///   or the returned future is dropped.
/// - Changes that returned `Ok` are durable, and those of later writes replace them.
/// - Only one process has the data open. A second one has to be rejected when the store is opened,
///   for example with a file lock: it would not see the changes of the first.
#[async_trait]
pub trait KeyValue: fmt::Debug + Send + Sync + 'static {
    /// Returns all pairs, in any order. Called once, before the first write.
    async fn load(&self) -> Result<Vec<(String, Bytes)>, StoreError>;

    /// Sets the keys with a value, and deletes those without one; deleting an absent key succeeds.
    /// No two changes have the same key. Calls do not overlap. An empty slice checks that the
    /// store responds.
    ///
    /// # Errors
    ///
    /// [`Unwritable`](StoreError::Unwritable) if an operator has to intervene, otherwise
    /// [`Failed`](StoreError::Failed). The changes are written again with the next call.
    async fn write(&self, changes: &[(String, Option<Bytes>)]) -> Result<(), StoreError>;
}

/// Makes a store for one process out of a [`KeyValue`] store.
///
/// All state is in memory, as in a [`MemoryStore`], and every change is written to the key-value
/// store before the call that made it returns. Reads wait for the writes of what they return, so
/// nothing is visible that a crash could undo. Changes of concurrent calls are written together.
///
/// [`open`](Self::open) restores tasks, event logs, idempotency keys, webhooks with their cursors,
/// and dead letters. Work that a crash interrupted is returned by
/// [`take_over`](LeaseStore::take_over), so an engine reruns or fails it at its start, as
/// [`AgentExecutor::recovery`](crate::AgentExecutor::recovery) says.
///
/// # Limits
///
/// - All tasks are in memory, within [`MemoryLimits`], and are read at the start.
/// - Only one process may have the data open; see the [laws](KeyValue#laws). Leases do not expire,
///   and there are no [signals](LeaseStore::signals). For several nodes, use a store that they
///   share, such as PostgreSQL.
/// - A webhook that is more events behind than the log retains misses the oldest after a restart.
#[derive(Debug)]
pub struct SingleNode<K> {
    memory: MemoryStore,
    store: K,
    /// The number of the newest written change.
    written: Mutex<u64>,
    /// Whether the last write failed.
    has_failed: AtomicBool,
}

impl<K: KeyValue> SingleNode<K> {
    /// Restores the state with the default limits.
    ///
    /// # Errors
    ///
    /// An error of the key-value store; [`Failed`](StoreError::Failed) if it has a key or a value
    /// that is not from a `SingleNode`.
    pub async fn open(store: K) -> Result<Self, StoreError> {
        Self::open_with_limits(store, MemoryLimits::default()).await
    }

    /// Restores the state.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub async fn open_with_limits(store: K, limits: MemoryLimits) -> Result<Self, StoreError> {
        let memory = MemoryStore::restore(limits, store.load().await?)?;
        Ok(Self { memory, store, written: Mutex::new(0), has_failed: AtomicBool::new(false) })
    }

    /// Writes all changes so far.
    async fn flush(&self) -> Result<(), StoreError> {
        let newest = self.memory.changes.number();
        let mut written = self.written.lock().await;
        if *written >= newest {
            return Ok(());
        }
        // A failed or cancelled write leaves its changes pending.
        let Some(batch) = self.memory.changes.take() else { return Ok(()) };
        let result = self.store.write(batch.changes()).await;
        self.has_failed.store(result.is_err(), Ordering::Relaxed);
        result?;
        *written = batch.done();
        Ok(())
    }

    /// Makes a call, and writes the changes behind its result. Also behind an error, which may tell
    /// of a change.
    async fn durable<T>(
        &self,
        _: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if self.has_failed.load(Ordering::Relaxed) {
            // While writes fail, no changes are added to those that are pending.
            self.flush().await?;
        }
        let result = call.await;
        self.flush().await?;
        result
    }
}

#[async_trait]
impl<K: KeyValue> TaskStore for SingleNode<K> {
    async fn probe(&self) -> Result<(), StoreError> {
        if self.has_failed.load(Ordering::Relaxed) {
            return self.flush().await;
        }
        let _written = self.written.lock().await;
        self.store.write(&[]).await
    }

    async fn close(&self) {
        if let Err(error) = self.flush().await {
            tracing::error!(%error, "failed to write the last changes");
        }
    }

    intercept_store! {
        durable, TaskStore: this => this.memory;
        insert, commit, get, load, replay, list, usage, open_tasks, claim_key, take_over_key, release_key,
        sweep,
    }
}

impl<K: KeyValue> LeaseStore for SingleNode<K> {
    intercept_store!(durable, LeaseStore: this => this.memory);
}

impl<K: KeyValue> PushStore for SingleNode<K> {
    intercept_store!(durable, PushStore: this => this.memory);
}
