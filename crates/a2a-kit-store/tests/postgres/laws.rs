use std::{sync::Arc, time::Duration};

use a2a_kit_operations::{MemoryStore, Store};
use a2a_kit_store::postgres::PostgresConfig;
use a2a_kit_store_testing::MemoryNode;

use super::fixtures::Schema;

const LEASE: Duration = Duration::from_millis(300);

// Without a server the test was reported as skipped, and runs with a memory store.
async fn empty() -> Arc<dyn Store> {
    match Schema::new().await {
        Ok(schema) => Arc::new(schema.open().await),
        Err(_skipped) => Arc::new(MemoryStore::new()),
    }
}

async fn two_nodes() -> (Arc<dyn Store>, Arc<dyn Store>) {
    let Ok(schema) = Schema::new().await else {
        let one = MemoryNode::with_lease(LEASE);
        let two = one.join("two");
        return (Arc::new(one), Arc::new(two));
    };
    let config = PostgresConfig::default().with_lease(LEASE);
    let (one, two) = (schema.open_with(config.clone()).await, schema.open_with(config).await);
    (Arc::new(one), Arc::new(two))
}

a2a_kit_store_testing::store_suite!(empty);
a2a_kit_store_testing::cluster_suite!(two_nodes);
