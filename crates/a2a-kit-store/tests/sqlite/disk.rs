//! An unwritable file.

use std::{env, fs, process::Command};

use a2a_core::TaskState;
use a2a_kit_operations::store::{StoreError, TaskStore as _};
use a2a_kit_store::sqlite::SqliteStore;
use a2a_kit_store_testing::store::fixtures::{get, insert, new_task, scope, task};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

/// Set in the child process: a file size limit applies to a whole process.
const ALONE: &str = "A2A_STORE_TEST_ALONE";

/// Runs a test of this module in a process of its own. Returns whether this is that process.
fn is_alone(test: &str) -> bool {
    if env::var_os(ALONE).is_some() {
        return true;
    }
    let name = format!("sqlite::disk::{test}");
    let mut alone = Command::new(env::current_exe().unwrap());
    let status = alone.args(["--exact", &name, "--nocapture"]).env(ALONE, "1").status();
    assert!(status.unwrap().success());
    false
}

/// There is room for small writes, but not for one like the failed one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_writes_do_not_make_a_full_disk_ready() {
    if !is_alone("small_writes_do_not_make_a_full_disk_ready") {
        return;
    }
    let _handler = signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).unwrap();
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("a2a.db")).await.unwrap();
    let ann = scope("ann");
    insert(&store, &ann, &task("before", "c", TaskState::Working, 5)).await;
    let large = || {
        let mut large = task("large", "c", TaskState::Working, 5);
        large.history = vec![a2a_core::Message::user("x".repeat(1 << 20))];
        new_task(&large)
    };

    let unlimited = getrlimit(Resource::Fsize);
    let log = fs::metadata(folder.path().join("a2a.db-wal")).unwrap().len();
    setrlimit(Resource::Fsize, Rlimit { current: Some(log + (256 << 10)), ..unlimited }).unwrap();
    for number in 0..3 {
        let refused = store.insert(&ann, large()).await;
        assert!(matches!(refused, Err(StoreError::Unwritable(_))), "{refused:?}");
        let key = format!("key {number}");
        store.claim_key(&ann, &key, 1, "t").await.expect("there is room for it");
        let probed = store.probe().await;
        assert!(matches!(probed, Err(StoreError::Unwritable(_))), "{probed:?}");
    }

    setrlimit(Resource::Fsize, unlimited).unwrap();
    store.probe().await.expect("a large write works again");
    store.insert(&ann, large()).await.expect("there is room again");
    store.close().await;
}

/// A file size limit fails writes like a full disk.
#[tokio::test]
async fn writes_to_a_full_disk_are_unwritable_until_space_is_freed() {
    if !is_alone("writes_to_a_full_disk_are_unwritable_until_space_is_freed") {
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
