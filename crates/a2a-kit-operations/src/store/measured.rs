//! A store wrapper that measures calls.

use std::{future::Future, sync::Arc, time::Instant};

use super::{LeaseStore, PushStore, Store, StoreError, TaskStore};
use crate::{intercept_store, metrics};

/// Measures the duration and the errors of store calls (`a2a_store_call_duration_seconds`,
/// `a2a_store_errors_total`). Pointless around a [`MemoryStore`](super::MemoryStore), whose calls
/// are faster than the measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    store: Arc<dyn Store>,
}

impl Measured {
    /// Wraps a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
    async fn measure<T>(
        &self,
        call: &'static str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let result = work.await;
        let outcome = match &result {
            Ok(_) => metrics::OK,
            Err(StoreError::Conflict { .. }) => "conflict",
            Err(StoreError::Claimed { .. }) => "claimed",
            Err(StoreError::Full) => "full",
            Err(StoreError::Unwritable(_)) => "unwritable",
            Err(StoreError::Rejected(_)) => "rejected",
            Err(StoreError::Failed(_)) => "failed",
        };
        metrics::stored(call, outcome, begun.elapsed());
        result
    }
}

impl TaskStore for Measured {
    intercept_store!(measure, TaskStore: this => *this.store);
}

impl LeaseStore for Measured {
    intercept_store!(measure, LeaseStore: this => *this.store);
}

impl PushStore for Measured {
    intercept_store!(measure, PushStore: this => *this.store);
}
