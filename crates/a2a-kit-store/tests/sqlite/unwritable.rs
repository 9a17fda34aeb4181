//! A file that is locked by another process, or no longer in its place.

use std::{fs, path::Path, sync::Arc, time::Duration};

use a2a_core::{TaskState, error_chain};
use a2a_kit_operations::store::{StoreError, TaskStore as _};
use a2a_kit_store::sqlite::SqliteStore;
use a2a_kit_store_testing::store::fixtures::{get, insert, new_task, scope, task};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

const TIMEOUT: Duration = Duration::from_secs(20);

async fn is_ready(store: &SqliteStore) {
    let ready = async {
        while store.probe().await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, ready).await.expect("writes succeed again");
}

/// The error of a write, with its causes.
async fn refusal(store: &SqliteStore, id: &str) -> String {
    let new = new_task(&task(id, "c", TaskState::Working, 5));
    let refused = store.insert(&scope("ann"), new).await;
    let error = refused.expect_err("the database is not writable");
    assert!(matches!(error, StoreError::Unwritable(_)), "{error:?}");
    let probed = store.probe().await;
    assert!(matches!(probed, Err(StoreError::Unwritable(_))), "{probed:?}");
    error_chain(&error)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locked_database_is_unwritable_after_five_seconds_until_it_is_unlocked() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let store = Arc::new(SqliteStore::open(&path).await.unwrap());
    insert(&*store, &scope("ann"), &task("before", "c", TaskState::Working, 5)).await;
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    let new = new_task(&task("t", "c", TaskState::Working, 5));
    let refused = store.insert(&scope("ann"), new).await.expect_err("it is locked");
    let waited = begun.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_secs(9)).contains(&waited), "{waited:?}");
    assert!(matches!(refused, StoreError::Unwritable(_)), "{refused:?}");
    assert!(
        error_chain(&refused).contains("locked by another process"),
        "{}",
        error_chain(&refused)
    );
    // The test write waits for the lock, too.
    for _ in 0..3 {
        let probed = timeout(Duration::from_millis(100), store.probe()).await;
        assert!(!matches!(probed, Ok(Ok(()))), "{probed:?}");
    }
    assert_eq!(get(&*store, &scope("ann"), "before").await.version, 1);
    other.execute_batch("ROLLBACK").unwrap();
    is_ready(&store).await;
    insert(&*store, &scope("ann"), &task("t", "c", TaskState::Working, 5)).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_that_is_moved_removed_or_replaced_is_unwritable() {
    let folder = TempDir::new().unwrap();
    let (path, aside) = (folder.path().join("a2a.db"), folder.path().join("aside.db"));
    let store = SqliteStore::open(&path).await.unwrap();
    let ann = scope("ann");
    insert(&store, &ann, &task("before", "c", TaskState::Working, 5)).await;

    fs::rename(&path, &aside).unwrap();
    let probed = store.probe().await;
    assert!(matches!(probed, Err(StoreError::Unwritable(_))), "before any write: {probed:?}");
    let error = refusal(&store, "moved").await;
    assert!(error.contains(&*path.to_string_lossy()) && error.contains("moved"), "{error}");

    fs::copy(&aside, &path).unwrap();
    refusal(&store, "replaced").await;
    assert_eq!(get(&store, &ann, "before").await.version, 1, "reads go on");

    fs::rename(&aside, &path).unwrap();
    is_ready(&store).await;
    insert(&store, &ann, &task("after", "c", TaskState::Working, 5)).await;

    let log = folder.path().join("a2a.db-wal");
    let log_aside = folder.path().join("log");
    fs::rename(&log, &log_aside).unwrap();
    let error = refusal(&store, "log").await;
    assert!(error.contains("a2a.db-wal"), "{error}");
    fs::rename(&log_aside, &log).unwrap();
    is_ready(&store).await;

    fs::remove_file(&path).unwrap();
    refusal(&store, "removed").await;
    store.close().await;
}

/// The link is part of the path under which the next start looks for the data.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn link_that_points_elsewhere_makes_its_database_unwritable() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let point = |to: &Path| {
        let _ = fs::remove_file(at("link.db"));
        std::os::unix::fs::symlink(to, at("link.db")).unwrap();
    };
    fs::write(at("one.db"), []).unwrap();
    fs::write(at("two.db"), []).unwrap();
    point(&at("one.db"));
    let store = SqliteStore::open(at("link.db")).await.unwrap();
    insert(&store, &scope("ann"), &task("t", "c", TaskState::Working, 5)).await;
    point(&at("two.db"));
    refusal(&store, "u").await;
    point(&at("one.db"));
    is_ready(&store).await;
    store.close().await;
}
