//! The store of the example passes the suite, and keeps its data.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/custom_store.rs"]
#[allow(dead_code, reason = "the tests use the store, not the agent")]
mod example;

use std::sync::Arc;

use a2a_kit::operations::{Store, store::SingleNode};
use a2a_kit_store_testing::store::fixtures::{change, get, insert, scope, task};
use example::LogFile;

async fn empty() -> Arc<dyn Store> {
    let file = tempfile::NamedTempFile::new().unwrap();
    Arc::new(SingleNode::open(LogFile::open(file.path()).unwrap()).await.unwrap())
}

a2a_kit_store_testing::store_suite!(empty);

#[tokio::test]
async fn reopened_file_has_its_tasks_and_no_half_written_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.log");
    let scope = scope("ann");
    {
        let store = SingleNode::open(LogFile::open(&path).unwrap()).await.unwrap();
        insert(&store, &scope, &task("t", "c", a2a_kit::TaskState::Working, 5)).await;
        change(&store, &scope, "t", a2a_kit::TaskState::Completed, 6).await;
        assert!(LogFile::open(&path).is_err(), "the file is locked");
    }
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, br#"[["task/eHg","half of a"#).unwrap();
    for version in [2, 3] {
        let store = SingleNode::open(LogFile::open(&path).unwrap()).await.unwrap();
        let stored = get(&store, &scope, "t").await;
        assert_eq!((stored.version, stored.task.state()), (version, a2a_kit::TaskState::Completed));
        change(&store, &scope, "t", a2a_kit::TaskState::Completed, 7).await;
    }
}
