//! Deliveries while the store fails.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::{
    forward_store,
    store::{ClaimedDeliveries, StoreError},
};

/// A store that fails a number of times.
#[derive(Debug)]
struct FailingStore {
    store: Arc<MemoryStore>,
    claim_failures: AtomicU32,
    record_failures: AtomicU32,
}

fn fail_while(left: &AtomicU32) -> Result<(), StoreError> {
    match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
        Ok(_) => Err(StoreError::failed("the disk is gone")),
        Err(_) => Ok(()),
    }
}

#[async_trait]
impl PushStore for FailingStore {
    forward_store! {
        PushStore: this => this.store;
        put_config, configs, delete_config, backlog, dead_letters, redeliver, purge_dead_letters,
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError> {
        fail_while(&self.claim_failures)?;
        self.store.claim_deliveries(limit).await
    }

    async fn record_delivery(
        &self,
        key: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError> {
        fail_while(&self.record_failures)?;
        self.store.record_delivery(key, outcome).await
    }
}

#[tokio::test(start_paused = true)]
async fn store_failures_delay_events_without_loss() {
    let slow = vec![("a", Answer::Take(Duration::from_secs(1)))];
    let mut scene = Scene::new(&["a"], slow).await;
    scene.write(1).await;
    let (claim_failures, record_failures) =
        (AtomicU32::new(5), AtomicU32::new(RECORD_ATTEMPTS - 1));
    let store =
        Arc::new(FailingStore { store: Arc::clone(&scene.store), claim_failures, record_failures });
    let _running = scene.start_with(store.clone());
    // The outcome is recorded again.
    assert_eq!(scene.calls(2).await, ["a 1", "a 2"]);
    // If that keeps failing, the event is delivered again after the claim expires.
    scene.sender.answers.lock().unwrap().push_back(("a", Answer::Take(Duration::from_secs(1))));
    scene.write(2).await;
    assert_eq!(scene.calls(1).await, ["a 3"]);
    store.record_failures.store(RECORD_ATTEMPTS, Ordering::Relaxed);
    assert_eq!(scene.calls(2).await, ["a 3", "a 4"]);
    assert!(scene.is_quiet().await);
}
