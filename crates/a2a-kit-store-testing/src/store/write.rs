//! Inserts and commits.

use std::sync::Arc;

use a2a_core::{TaskState, v1::Task};
use bytes::Bytes;

use super::fixtures::{
    at, change, changed, chunk, commit, get, ids, insert, list, new_task, query, scope, shown,
    status, task, webhook, with_events,
};
use a2a_kit_operations::{
    Caller, Scope, Store,
    store::{Claim, MAX_ID_BYTES, MAX_TASK_ID_BYTES, MAX_TENANT_BYTES, StoreError, StoredTask},
};

/// An inserted task is returned unchanged, at version 1.
pub async fn stored_task_is_returned_unchanged(store: Arc<dyn Store>) {
    let (scope, task) = (scope("ann"), task("t", "c", TaskState::Working, 5));
    let events = vec![shown(1, &task), chunk(2, "t", "x")];
    store.insert(&scope, with_events(&task, events)).await.expect("the task is new");
    let stored = get(&*store, &scope, "t").await;
    assert_eq!(*stored.task, task);
    assert_eq!((stored.version, stored.epoch, stored.last_event), (1, 1, at(2)));
    assert_eq!(stored.node, None, "unleased");
}

/// An unknown task is not found, and cannot be written to.
pub async fn unknown_task_is_none_and_rejects_commits(store: Arc<dyn Store>) {
    let (scope, task) = (scope("ann"), task("t", "c", TaskState::Working, 5));
    assert!(store.get(&scope, "t").await.expect("the store succeeds").is_none());
    assert!(store.replay(&scope, "t", at(1)).await.expect("the store succeeds").is_none());
    let events = vec![changed(1, &task)];
    let refused = commit(&*store, &scope, "t", 0, events, Some(&task)).await;
    assert!(matches!(refused, Err(StoreError::Conflict { task_id }) if task_id == "t"));
}

/// An id can be inserted once, in all scopes together, and the existing task stays.
pub async fn duplicate_task_id_is_a_conflict(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let first = task("t", "c", TaskState::Working, 5);
    insert(&*store, &scope, &first).await;
    let second = task("t", "other", TaskState::Completed, 6);
    for scope in [&scope, &Scope::new("acme", &Caller::authenticated("bob"))] {
        let refused = store.insert(scope, new_task(&second)).await;
        let taken = matches!(refused, Err(StoreError::Conflict { task_id }) if task_id == "t");
        assert!(taken, "{scope:?}");
        assert_eq!(
            list(&*store, scope, &query(10)).await.tasks.len(),
            usize::from(scope.tenant.is_empty())
        );
    }
    assert_eq!(*get(&*store, &scope, "t").await.task, first);
    assert_eq!(list(&*store, &scope, &query(10)).await.total, 1);
}

/// Tasks of another tenant or owner are not found.
pub async fn scopes_are_isolated(store: Arc<dyn Store>) {
    let ann = scope("ann");
    let others =
        [Scope::default(), scope("bob"), Scope::new("acme", &Caller::authenticated("ann"))];
    let of_ann = task("t", "c", TaskState::Working, 5);
    insert(&*store, &ann, &of_ann).await;
    for other in &others {
        assert!(store.get(other, "t").await.expect("the store succeeds").is_none(), "{other:?}");
        let replay = store.replay(other, "t", at(1)).await.expect("the store succeeds");
        assert!(replay.is_none(), "{other:?}");
        let loaded = store.load(other, "t", at(1)).await.expect("the store succeeds");
        assert!(loaded.is_none(), "{other:?}");
        let events = vec![changed(2, &of_ann)];
        let refused = commit(&*store, other, "t", 1, events, Some(&of_ann)).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{other:?}");
        for context_id in [None, Some("c".to_owned())] {
            let query = query(10).with_context_id(context_id);
            let page = list(&*store, other, &query).await;
            assert_eq!((page.tasks.len(), page.total, page.has_more), (0, 0, false), "{other:?}");
        }
    }
    for (millis, other) in (6..).zip(&others) {
        let id = format!("t{millis}");
        insert(&*store, other, &task(&id, "c", TaskState::Completed, millis)).await;
    }
    assert_eq!(ids(&list(&*store, &ann, &query(10)).await), ["t"]);
    assert_eq!(*get(&*store, &ann, "t").await.task, of_ann);
}

/// A commit replaces the task, and increments its version and position.
pub async fn commit_replaces_the_task_and_increments_its_version(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let mut task = task("t", "c", TaskState::Submitted, 5);
    insert(&*store, &scope, &task).await;
    for (version, state) in [(1, TaskState::Working), (2, TaskState::Completed)] {
        task.status = Some(status(state, 6));
        let events = vec![changed(version + 1, &task)];
        let written = commit(&*store, &scope, "t", version, events, Some(&task)).await;
        written.expect("the version is current");
        let stored = get(&*store, &scope, "t").await;
        assert_eq!(*stored.task, task);
        assert_eq!((stored.version, stored.last_event), (version + 1, at(version + 1)));
    }
}

/// A commit with a stale version changes nothing.
pub async fn commit_with_a_stale_version_changes_nothing(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let before = task("t", "c", TaskState::Working, 5);
    insert(&*store, &scope, &before).await;
    for version in [0, 2] {
        let after = task("t", "c", TaskState::Failed, 6);
        let events = vec![chunk(2, "t", "x"), changed(3, &after)];
        let refused = commit(&*store, &scope, "t", version, events, Some(&after)).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "version {version}");
        let StoredTask { task, version, last_event, .. } = get(&*store, &scope, "t").await;
        assert_eq!((&*task, version, last_event), (&before, 1, at(1)));
        let page = list(&*store, &scope, &query(10)).await;
        assert_eq!((&*page.tasks[0], page.total), (&before, 1));
    }
}

/// A task is returned with the chunks that were committed without a snapshot.
pub async fn chunks_without_a_snapshot_are_applied_to_the_task(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    for version in 1..=3 {
        let events = vec![chunk(2 * version, "t", "a"), chunk(2 * version + 1, "t", "b")];
        let written = commit(&*store, &scope, "t", version, events, None).await;
        written.expect("the version is current");
        let length = usize::try_from(2 * version).expect("a small number");
        assert_eq!(get(&*store, &scope, "t").await.task.text().len(), length);
    }
    let read = get(&*store, &scope, "t").await;
    let page = list(&*store, &scope, &query(1)).await;
    assert_eq!(page.tasks[0], read.task, "a list shows the same");
    let ended = Task { status: Some(status(TaskState::Completed, 6)), ..Task::clone(&read.task) };
    let events = vec![changed(8, &ended)];
    let written = commit(&*store, &scope, "t", 4, events, Some(&ended)).await;
    written.expect("the version is current");
    let after = get(&*store, &scope, "t").await.task;
    assert_eq!(after.text(), "ababab", "no chunk is added twice");
}

/// A returned task does not change.
pub async fn returned_task_is_immutable(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    let events = vec![chunk(2, "t", "a")];
    commit(&*store, &scope, "t", 1, events, None).await.expect("the version is current");
    let before = get(&*store, &scope, "t").await.task;
    let events = vec![chunk(3, "t", "b")];
    commit(&*store, &scope, "t", 2, events, None).await.expect("the version is current");
    assert_eq!(get(&*store, &scope, "t").await.task.text(), "ab");
    assert_eq!(before.text(), "a");
}

/// Of concurrent commits with the same version, one succeeds.
pub async fn concurrent_commits_are_serialized(store: Arc<dyn Store>) {
    const WRITERS: u64 = 8;
    const COMMITS: u64 = 25;
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    let writers = (0..WRITERS).map(|_| {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        tokio::spawn(async move {
            let mut written = 0;
            while written < COMMITS {
                let StoredTask { version, last_event, .. } = get(&*store, &scope, "t").await;
                let events = vec![chunk(last_event.next().get(), "t", "x")];
                match commit(&*store, &scope, "t", version, events, None).await {
                    Ok(_) => written += 1,
                    Err(StoreError::Conflict { .. }) => tokio::task::yield_now().await,
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("no writer panics");
    }
    let stored = get(&*store, &scope, "t").await;
    let all = WRITERS * COMMITS;
    assert_eq!((stored.version, stored.last_event), (1 + all, at(1 + all)));
    assert_eq!(u64::try_from(stored.task.text().len()), Ok(all));
}

/// The longest texts that an engine accepts are stored, and found again.
pub async fn longest_texts_are_stored(store: Arc<dyn Store>) {
    let scope =
        Scope { tenant: text(1, MAX_TENANT_BYTES).into(), owner: text(2, MAX_ID_BYTES).into() };
    let (id, context) = (text(3, MAX_TASK_ID_BYTES), text(4, MAX_ID_BYTES));
    let (key, config) = (text(5, MAX_ID_BYTES), text(6, MAX_ID_BYTES));
    assert_eq!(store.claim_key(&scope, &key, 1, &id).await.expect("it is short"), Claim::New);
    let mut new = new_task(&task(&id, &context, TaskState::Working, 5));
    new.key = Some(key);
    new.checkpoint = Some(Bytes::from_static(b"work"));
    new.webhooks = vec![webhook(&id, &config)];
    store.insert(&scope, new).await.expect("every text is short enough");
    let filter = query(1).with_context_id(context);
    assert_eq!(ids(&list(&*store, &scope, &filter).await), [&id]);
    let found = store.configs(&scope, &id).await.expect("the store succeeds");
    assert_eq!(found, [webhook(&id, &config)]);
    change(&*store, &scope, &id, TaskState::Completed, 6).await;
    assert_eq!(get(&*store, &scope, &id).await.version, 2);
    assert_eq!(store.usage(&scope.owner).await.expect("the store succeeds").open_tasks, 0);
}

/// A text that no store can compress.
fn text(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                [usize::try_from(state >> 58).unwrap_or_default()],
        )
    };
    (0..length).map(letter).collect()
}
