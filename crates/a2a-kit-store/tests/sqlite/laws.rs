//! The store suite.

use std::sync::Arc;

use a2a_kit_operations::Store;
use a2a_kit_store::sqlite::SqliteStore;
use tempfile::TempDir;

/// An empty store.
async fn empty() -> Arc<dyn Store> {
    // The directory is removed with the test; the store has its files open.
    let folder = TempDir::new().unwrap();
    Arc::new(SqliteStore::open(folder.path().join("a2a.db")).await.unwrap())
}

a2a_kit_store_testing::store_suite!(empty);
