//! Group commit.

use std::{sync::Arc, time::Duration};

use a2a_core::TaskState;
use a2a_kit_operations::store::{StoreError, Sweep, TaskStore as _};
use a2a_kit_store::sqlite::{SqliteOptions, SqliteStore};
use a2a_kit_store_testing::store::fixtures::{
    change, chunk, commit, get, insert, list, new_task, query, scope, task,
};
use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use rusqlite::Connection;
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

#[tokio::test]
async fn tasks_of_a_shared_transaction_are_counted() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, SqliteOptions::default()).await;
    let ann = scope("ann");
    let ended = (0..TASKS / 2).map(async |number| {
        change(&*store, &ann, &format!("t{number}"), TaskState::Completed, 6).await;
        // No two tasks have the same id, in whatever context.
        let again = new_task(&task(&format!("t{number}"), "d", TaskState::Working, 7));
        let refused = store.insert(&ann, again).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    });
    join_all(ended).await;
    let half = usize::try_from(TASKS / 2).unwrap();
    let total = async |context: Option<&str>, state: Option<TaskState>| {
        let query = query(1).with_context_id(context.map(str::to_owned)).with_state(state);
        list(&*store, &ann, &query).await.total
    };
    for context in [None, Some("c")] {
        assert_eq!(total(context, None).await, 2 * half);
        assert_eq!(total(context, Some(TaskState::Working)).await, half);
        assert_eq!(total(context, Some(TaskState::Completed)).await, half);
    }
    assert_eq!(total(Some("d"), None).await, 0);
    let file = Connection::open(store.path()).unwrap();
    let contexts = "SELECT count(*) FROM contexts";
    assert_eq!(file.query_row(contexts, [], |row| row.get::<_, i64>(0)).unwrap(), 1);

    let before = store.usage("ann").await.unwrap();
    let sweep = Sweep::default().with_tasks(Duration::ZERO);
    assert_eq!(store.sweep(sweep).await.unwrap().len(), half);
    let after = store.usage("ann").await.unwrap();
    assert_eq!((before.open_tasks, after.open_tasks), (half, half));
    assert!(after.stored_bytes < before.stored_bytes, "{before:?} {after:?}");
    assert_eq!((total(None, None).await, total(Some("c"), None).await), (half, half));
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
