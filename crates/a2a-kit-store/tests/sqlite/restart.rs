//! Restarts.

use std::{path::Path, time::Duration};

use a2a_core::TaskState;
use a2a_kit_operations::store::{
    Acquired, Claim, DeliveryOutcome, LeaseStore as _, PushStore as _, StoreError, Sweep,
    TaskQuery, TaskStore as _,
};
use a2a_kit_store::sqlite::SqliteStore;
use a2a_kit_store_testing::store::fixtures::{
    at, change, chunk, commit, due, get, hooked, insert, insert_held, list, positions, post, push,
    query, replayed, scope, task, waiting, webhook,
};
use rusqlite::Connection;
use tempfile::TempDir;

async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path).await.unwrap()
}

#[tokio::test]
async fn everything_survives_a_restart() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let ann = scope("ann");
    let store = open(&path).await;
    insert(&store, &ann, &task("t", "c", TaskState::Working, 5)).await;
    let chunks = vec![chunk(2, "t", "a"), chunk(3, "t", "b")];
    commit(&store, &ann, "t", 1, chunks, None).await.unwrap();
    store.put_config(&ann, webhook("t", "hook")).await.unwrap();
    push(&store, &ann, "t").await;
    let state = store.claim_key(&ann, "key", u64::MAX, "t").await.unwrap();
    assert_eq!(state, Claim::New);
    let before = get(&store, &ann, "t").await;
    let events = replayed(&store, &ann, "t", 1).await;
    store.close().await;

    let store = open(&path).await;
    let after = get(&store, &ann, "t").await;
    assert_eq!(after.task, before.task);
    assert_eq!((after.version, after.epoch, after.last_event), (3, 1, at(4)));
    let again = replayed(&store, &ann, "t", 1).await;
    assert_eq!(positions(&again), positions(&events));
    assert_eq!(again[0].response(), events[0].response());
    assert_eq!(store.configs(&ann, "t").await.unwrap(), [webhook("t", "hook")]);
    let known = Claim::Known { task_id: "t".into(), fingerprint: u64::MAX };
    assert_eq!(store.claim_key(&ann, "key", 1, "other").await.unwrap(), known);
    let page = list(&store, &ann, &query(10)).await;
    assert_eq!((page.tasks.len(), page.total), (1, 1));
    let due = due(&store, 10).await;
    assert_eq!(positions(&due[0].events), [4]);
}

#[tokio::test]
async fn leases_of_an_earlier_process_are_taken_over() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let ann = scope("ann");
    let store = open(&path).await;
    let first = store.node().to_owned();
    insert_held(&store, &ann, "t", b"work").await;
    insert(&store, &ann, &task("free", "c", TaskState::Working, 5)).await;
    assert!(post(&store, &ann, "t", "command").await);
    assert!(store.take_over(10).await.unwrap().is_empty(), "they are held");
    store.close().await;

    let store = open(&path).await;
    assert_ne!(store.node(), first);
    assert_eq!(get(&store, &ann, "t").await.node.as_deref(), Some(&*first));
    assert!(post(&store, &ann, "t", "late").await, "somebody will take it over");
    // A caller may come before the takeover, and would lose the checkpoint.
    let early = store.acquire(&ann, "t").await.unwrap();
    assert!(matches!(early, Some(Acquired::Elsewhere(_))), "{early:?}");
    let orphans = store.take_over(10).await.unwrap();
    let [orphan] = &orphans[..] else { panic!("{orphans:?}") };
    assert_eq!((orphan.stored.task.id.as_str(), &*orphan.checkpoint), ("t", &b"work"[..]));
    assert_eq!((orphan.checkpoint_epoch, orphan.stored.epoch, &orphan.scope), (1, 2, &ann));
    assert_eq!(orphan.stored.node.as_deref(), Some(store.node()));
    assert_eq!(waiting(&store, "t").await, ["command", "late"]);
    let late = commit(&store, &ann, "t", 1, vec![chunk(2, "t", "x")], None).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "the first epoch is over");
}

#[tokio::test]
async fn delivery_claims_of_an_earlier_process_are_void() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let ann = scope("ann");
    let store = open(&path).await;
    store.insert(&ann, hooked("t", &["a"])).await.unwrap();
    push(&store, &ann, "t").await;
    push(&store, &ann, "t").await;
    let claimed = due(&store, 10).await;
    assert!(
        store.record_delivery(&claimed[0].key, DeliveryOutcome::Delivered(at(2))).await.unwrap()
    );
    assert!(due(&store, 10).await.is_empty(), "it is claimed");
    store.close().await;

    let store = open(&path).await;
    let claimed = due(&store, 10).await;
    assert_eq!(positions(&claimed[0].events), [3]);
    let retry = DeliveryOutcome::Retry { event: at(3), after: Duration::from_secs(3600) };
    assert!(!store.record_delivery(&claimed[0].key, retry).await.unwrap());
    store.close().await;

    let store = open(&path).await;
    assert!(due(&store, 10).await.is_empty(), "a try that waits still waits");
}

#[tokio::test]
async fn closed_store_returns_closed() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder.path().join("a2a.db")).await;
    store.close().await;
    store.close().await;
    let read = store.get(&scope("ann"), "t").await;
    assert!(matches!(read, Err(StoreError::Failed(_))), "{read:?}");
    let written = store.release_key(&scope("ann"), "key", "t").await;
    assert!(matches!(written, Err(StoreError::Failed(_))), "{written:?}");
}

#[tokio::test]
async fn closed_store_leaves_the_database_and_the_lock_file() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder.path().join("a2a.db")).await;
    insert(&store, &scope("ann"), &task("t", "c", TaskState::Working, 5)).await;
    store.close().await;
    let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
    let mut files: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["a2a.db", "a2a.db.lock"]);
}

#[tokio::test]
async fn sweep_leaves_no_rows() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let ann = scope("ann");
    let store = open(&path).await;
    for number in 0..100 {
        let id = format!("t{number}");
        store.insert(&ann, hooked(&id, &["a", "b"])).await.unwrap();
        push(&store, &ann, &id).await;
        change(&store, &ann, &id, TaskState::Completed, 7).await;
    }
    store.claim_key(&scope("bob"), "key", 1, "t").await.unwrap();
    let mut sweep = Sweep::default();
    (sweep.tasks, sweep.claims) = (Some(Duration::ZERO), Duration::ZERO);
    assert_eq!(store.sweep(sweep).await.unwrap().len(), 100);
    assert_eq!(store.list(&ann, &TaskQuery::default()).await.unwrap().total, 0);
    store.close().await;
    let db = Connection::open(&path).unwrap();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table'
                  AND name NOT IN ('refinery_schema_history', 'sqlite_sequence')";
    let mut tables = db.prepare(tables).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    for table in tables.map(Result::unwrap) {
        let count = format!("SELECT count(*) FROM {table}");
        let rows: i64 = db.query_row(&count, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}
