//! Group commit.

use std::sync::Arc;

use a2a_core::TaskState;
use a2a_kit_operations::store::{StoreError, TaskStore as _};
use a2a_kit_store::sqlite::{SqliteOptions, SqliteStore};
use a2a_kit_store_testing::store::fixtures::{chunk, commit, get, insert, scope, task};
use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use tempfile::TempDir;

const TASKS: u64 = 200;

async fn open(folder: &TempDir, options: SqliteOptions) -> Arc<SqliteStore> {
    let store = SqliteStore::open_with(folder.path().join("a2a.db"), options).await.unwrap();
    let ann = scope("ann");
    let tasks = (0..TASKS).map(|number| {
        let store = Arc::new(&store);
        let ann = ann.clone();
        async move {
            let task = task(&format!("t{number}"), "c", TaskState::Working, 5);
            insert(&**store, &ann, &task).await;
        }
    });
    join_all(tasks).await;
    Arc::new(store)
}

#[tokio::test]
async fn concurrent_writes_share_a_transaction() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, SqliteOptions::default()).await;
    let before = store.transactions();
    let ann = scope("ann");
    let writes = (0..TASKS).map(async |number| {
        let id = format!("t{number}");
        commit(&*store, &ann, &id, 1, vec![chunk(2, &id, "x")], None).await.unwrap();
    });
    join_all(writes).await;
    let made = store.transactions() - before;
    assert!(made <= TASKS / 10, "{made} transactions for {TASKS} writes");
}

#[tokio::test]
async fn rejected_write_does_not_fail_its_group() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, SqliteOptions::default()).await;
    let ann = scope("ann");
    let writes = (0..TASKS).map(async |number| {
        let id = format!("t{number}");
        let version = 1 + number % 2;
        commit(&*store, &ann, &id, version, vec![chunk(2, &id, "x")], None).await
    });
    for (number, written) in (0..TASKS).zip(join_all(writes).await) {
        let is_current = number % 2 == 0;
        assert_eq!(written.is_ok(), is_current, "{number}: {written:?}");
        let stored = get(&*store, &ann, &format!("t{number}")).await;
        assert_eq!(stored.version, if is_current { 2 } else { 1 });
    }
}

/// A duplicate position cannot be stored; a correct engine never creates one.
#[tokio::test]
async fn failing_write_does_not_fail_its_group() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, SqliteOptions::default()).await;
    let ann = scope("ann");
    let writes = (0..TASKS).map(async |number| {
        let id = format!("t{number}");
        let position = 2 - number % 2;
        commit(&*store, &ann, &id, 1, vec![chunk(position, &id, "x")], None).await
    });
    for (number, written) in (0..TASKS).zip(join_all(writes).await) {
        let is_sound = number % 2 == 0;
        assert_eq!(written.is_ok(), is_sound, "{number}: {written:?}");
        assert!(is_sound || matches!(written, Err(StoreError::Rejected(_))), "{written:?}");
        let stored = get(&*store, &ann, &format!("t{number}")).await;
        assert_eq!(stored.version, if is_sound { 2 } else { 1 }, "nothing of it is written");
    }
}

#[tokio::test]
async fn dropped_callers_do_not_affect_others() {
    let folder = TempDir::new().unwrap();
    let options = SqliteOptions::default().with_group(4).with_readers(1);
    let store = open(&folder, options).await;
    let ann = scope("ann");
    let mut calls: FuturesUnordered<_> = (0..TASKS)
        .map(async |number| {
            let id = format!("t{number}");
            let written = commit(&*store, &ann, &id, 1, vec![chunk(2, &id, "x")], None).await;
            (written.is_ok(), store.get(&ann, &id).await.unwrap().unwrap().version)
        })
        .collect();
    assert_eq!(calls.next().await, Some((true, 2)));
    drop(calls);
    store.close().await;
}
