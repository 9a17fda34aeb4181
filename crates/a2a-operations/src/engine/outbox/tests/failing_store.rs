//! What a store that fails does to deliveries.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::store::{Backlog, Due, Redelivery, StoreError};

/// A store that fails a number of times.
#[derive(Debug)]
struct Troubled {
    store: Arc<MemoryStore>,
    due: AtomicU32,
    pushed: AtomicU32,
}

fn trouble(left: &AtomicU32) -> Result<(), StoreError> {
    match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
        Ok(_) => Err(StoreError::failed("the disk is gone")),
        Err(_) => Ok(()),
    }
}

#[async_trait]
impl PushStore for Troubled {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError> {
        self.store.put_config(scope, webhook).await
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError> {
        self.store.configs(scope, task_id).await
    }

    async fn delete_config(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        self.store.delete_config(scope, task_id, id).await
    }

    async fn due(&self, limit: usize) -> Result<Due, StoreError> {
        trouble(&self.due)?;
        self.store.due(limit).await
    }

    async fn pushed(&self, key: &PushKey, outcome: PushOutcome) -> Result<bool, StoreError> {
        trouble(&self.pushed)?;
        self.store.pushed(key, outcome).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.store.backlog().await
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        self.store.dead_letters(query).await
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError> {
        self.store.redeliver(query).await
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError> {
        self.store.purge_dead_letters(query).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_delays_events_and_loses_none() {
    let slow = vec![("a", Answer::Take(Duration::from_secs(1)))];
    let mut scene = Scene::new(&["a"], slow).await;
    scene.write(1).await;
    let (due, pushed) = (AtomicU32::new(5), AtomicU32::new(NOTE_ATTEMPTS - 1));
    let store = Arc::new(Troubled { store: Arc::clone(&scene.store), due, pushed });
    let _running = scene.start_with(store.clone());
    // What came of a try is said again.
    assert_eq!(scene.calls(2).await, ["a 1", "a 2"]);
    // If that is of no use, the event comes again when the claim has ended.
    scene.sender.answers.lock().unwrap().push_back(("a", Answer::Take(Duration::from_secs(1))));
    scene.write(2).await;
    assert_eq!(scene.calls(1).await, ["a 3"]);
    store.pushed.store(NOTE_ATTEMPTS, Ordering::Relaxed);
    assert_eq!(scene.calls(2).await, ["a 3", "a 4"]);
    assert!(scene.is_quiet().await);
}
