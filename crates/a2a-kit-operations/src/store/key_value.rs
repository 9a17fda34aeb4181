use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

use super::StoreError;

/// A key-value store, as [`SingleNode`](super::SingleNode) needs it.
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
