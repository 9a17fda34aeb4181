//! The store suite.

use std::sync::Arc;

use a2a_kit_operations::{
    Store, forward_store,
    store::{LeaseStore, PushStore, TaskStore},
};
use a2a_kit_store::sqlite::SqliteStore;
use tempfile::TempDir;

/// A store with the directory of its file, which is removed after it.
#[derive(Debug)]
struct Temporary {
    store: SqliteStore,
    _folder: TempDir,
}

impl TaskStore for Temporary {
    forward_store!(TaskStore: this => this.store);
}

impl LeaseStore for Temporary {
    forward_store!(LeaseStore: this => this.store);
}

impl PushStore for Temporary {
    forward_store!(PushStore: this => this.store);
}

/// An empty store.
async fn empty() -> Arc<dyn Store> {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("a2a.db")).await.unwrap();
    Arc::new(Temporary { store, _folder: folder })
}

a2a_kit_store_testing::store_suite!(empty);
