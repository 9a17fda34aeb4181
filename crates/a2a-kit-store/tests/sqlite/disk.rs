//! An unwritable file.

use std::{env, process::Command};

use a2a_core::TaskState;
use a2a_kit_operations::store::{StoreError, TaskStore as _};
use a2a_kit_store::sqlite::SqliteStore;
use a2a_kit_store_testing::store::fixtures::{get, insert, new_task, scope, task};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

/// Set in the child process: a file size limit applies to a whole process.
const ALONE: &str = "A2A_STORE_TEST_ALONE";

/// A file size limit fails writes like a full disk.
#[tokio::test]
async fn writes_to_a_full_disk_are_unwritable_until_space_is_freed() {
    if env::var_os(ALONE).is_none() {
        let name = "sqlite::disk::writes_to_a_full_disk_are_unwritable_until_space_is_freed";
        let mut alone = Command::new(env::current_exe().unwrap());
        let status = alone.args(["--exact", name, "--nocapture"]).env(ALONE, "1").status();
        assert!(status.unwrap().success());
        return;
    }
    // Without a handler the signal would end the process.
    let _handler = signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).unwrap();
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("a2a.db")).await.unwrap();
    let ann = scope("ann");
    insert(&store, &ann, &task("before", "c", TaskState::Working, 5)).await;

    let unlimited = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: Some(1), ..unlimited }).unwrap();
    store.probe().await.expect("no write has failed yet");
    for _ in 0..3 {
        let refused = store.insert(&ann, new_task(&task("t", "c", TaskState::Working, 5))).await;
        assert!(matches!(refused, Err(StoreError::Unwritable(_))), "{refused:?}");
        let probed = store.probe().await;
        assert!(matches!(probed, Err(StoreError::Unwritable(_))), "{probed:?}");
        assert_eq!(get(&store, &ann, "before").await.version, 1);
    }

    setrlimit(Resource::Fsize, unlimited).unwrap();
    store.probe().await.expect("a write works again");
    insert(&store, &ann, &task("t", "c", TaskState::Working, 5)).await;
    store.close().await;
}
