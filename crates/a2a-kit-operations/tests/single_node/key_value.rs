//! A key-value store in memory, whose writes can be made to fail.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use a2a_kit_operations::store::{KeyValue, StoreError};
use async_trait::async_trait;
use bytes::Bytes;

#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    pairs: Arc<Mutex<BTreeMap<String, Bytes>>>,
    fails: Arc<AtomicBool>,
}

impl Pairs {
    pub(crate) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::Relaxed);
    }

    pub(crate) fn put(&self, key: &str, value: &'static str) {
        self.pairs.lock().unwrap().insert(key.into(), value.into());
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.lock().unwrap().len()
    }

    pub(crate) fn copy(&self) -> Self {
        let pairs = self.pairs.lock().unwrap().clone();
        Self { pairs: Arc::new(Mutex::new(pairs)), fails: Arc::default() }
    }
}

#[async_trait]
impl KeyValue for Pairs {
    async fn load(&self) -> Result<Vec<(String, Bytes)>, StoreError> {
        let pairs = self.pairs.lock().unwrap();
        Ok(pairs.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    async fn write(&self, changes: &[(String, Option<Bytes>)]) -> Result<(), StoreError> {
        // Lets other calls in between.
        tokio::task::yield_now().await;
        if self.fails.load(Ordering::Relaxed) {
            return Err(StoreError::failed("the write failed"));
        }
        let mut pairs = self.pairs.lock().unwrap();
        for (key, value) in changes {
            assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
            match value {
                Some(value) => pairs.insert(key.clone(), value.clone()),
                None => pairs.remove(key),
            };
        }
        Ok(())
    }
}
