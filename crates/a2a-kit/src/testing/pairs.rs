//! A key-value store whose state at one moment can be copied, as a crash would leave it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use a2a_kit_operations::store::{KeyValue, StoreError};
use async_trait::async_trait;
use axum::body::Bytes;

type Pairs = BTreeMap<String, Bytes>;

#[derive(Clone, Debug, Default)]
pub(super) struct CrashablePairs(Arc<Mutex<Pairs>>);

impl CrashablePairs {
    /// Copies what is written.
    pub(super) fn crash(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    fn lock(&self) -> MutexGuard<'_, Pairs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl KeyValue for CrashablePairs {
    async fn load(&self) -> Result<Vec<(String, Bytes)>, StoreError> {
        Ok(self.lock().clone().into_iter().collect())
    }

    async fn write(&self, changes: &[(String, Option<Bytes>)]) -> Result<(), StoreError> {
        let mut pairs = self.lock();
        for (key, value) in changes.iter().cloned() {
            match value {
                Some(value) => pairs.insert(key, value),
                None => pairs.remove(&key),
            };
        }
        Ok(())
    }
}
