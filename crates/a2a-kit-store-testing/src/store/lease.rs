//! Leases and epochs.

use std::{sync::Arc, time::Duration};

use a2a_core::{TaskState, v1::Task};
use bytes::Bytes;

use super::fixtures::{
    at, change, changed, chunk, commit, get, insert, insert_held, replayed, scope, status, task,
    transition,
};
use a2a_kit_operations::{
    Store,
    store::{Acquired, LeaseUpdate, Orphan, StoreError, StoredTask},
};

/// Inserting with a checkpoint acquires the lease, in the first epoch.
pub async fn insert_with_a_checkpoint_acquires_the_lease(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    let stored = get(&*store, &scope, "t").await;
    assert_eq!((stored.node.as_deref(), stored.epoch), (Some(store.node()), 1));
    change(&*store, &scope, "t", TaskState::Working, 6).await;
    let stored = get(&*store, &scope, "t").await;
    assert_eq!((stored.node.as_deref(), stored.epoch), (Some(store.node()), 1), "a write changes");
}

/// Each acquire raises the epoch, even on the same node. Nothing else does.
pub async fn each_acquire_raises_the_epoch(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    for epoch in 2..=4 {
        let acquired = store.acquire(&scope, "t").await.expect("the store succeeds");
        let Some(Acquired::Here(stored)) = acquired else { panic!("{acquired:?}") };
        assert_eq!((stored.epoch, stored.version, stored.last_event), (epoch, 1, at(1)));
        assert_eq!(stored.node.as_deref(), Some(store.node()));
        assert_eq!(get(&*store, &scope, "t").await.epoch, epoch);
    }
}

/// An unknown task cannot be acquired; releasing an unleased one succeeds.
pub async fn absent_task_cannot_be_acquired(store: Arc<dyn Store>) {
    insert(&*store, &scope("bob"), &task("of-bob", "c", TaskState::Working, 5)).await;
    for id in ["unknown", "of-bob"] {
        let acquired = store.acquire(&scope("ann"), id).await.expect("the store succeeds");
        assert!(acquired.is_none(), "{acquired:?}");
    }
    assert_eq!(get(&*store, &scope("bob"), "of-bob").await.epoch, 1);
    store.renew(&[]).await.expect("there may be none");
    store.renew(&[("unknown".into(), 1)]).await.expect("unknown tasks are ignored");
    assert!(store.release("unknown", 1).await.expect("unknown tasks are ignored"));
    store.abandon("unknown", 1).await.expect("unknown tasks are ignored");
    assert!(take_over(&*store, 10).await.is_empty());
}

/// A commit with a stale epoch changes nothing, even with the right version: neither the task, nor
/// its events, nor the lease.
pub async fn commit_with_a_stale_epoch_changes_nothing(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    let before = get(&*store, &scope, "t").await.task;
    store.acquire(&scope, "t").await.expect("the store succeeds");
    let after = Task { status: Some(status(TaskState::Failed, 6)), ..Task::clone(&before) };
    for epoch in [0, 1, 3] {
        for snapshot in [None, Some(Arc::new(after.clone()))] {
            let events = vec![chunk(2, "t", "x"), changed(3, &after)];
            let write = transition("t", 1, epoch, events).with_snapshot(snapshot);
            let refused = store.commit(&scope, write.with_lease(LeaseUpdate::Release)).await;
            assert!(matches!(refused, Err(StoreError::Conflict { .. })), "epoch {epoch}");
            let StoredTask { task, version, epoch, node, last_event, .. } =
                get(&*store, &scope, "t").await;
            assert_eq!((task, version, epoch, last_event), (before.clone(), 1, 2, at(1)));
            assert_eq!(node.as_deref(), Some(store.node()));
            assert!(replayed(&*store, &scope, "t", 1).await.is_empty());
        }
    }
    let write = transition("t", 1, 2, vec![chunk(2, "t", "x")]);
    store.commit(&scope, write).await.expect("the epoch is the stored one");
    assert_eq!(get(&*store, &scope, "t").await.task.text(), "x");
}

/// A released task is unleased and keeps its epoch. A late release changes nothing.
pub async fn release_requires_the_current_epoch(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for _ in 0..2 {
        assert!(store.release("t", 1).await.expect("the store succeeds"));
        let stored = get(&*store, &scope, "t").await;
        assert_eq!((stored.node, stored.epoch, stored.version), (None, 1, 1));
    }
    store.acquire(&scope, "t").await.expect("the store succeeds");
    assert!(store.release("t", 1).await.expect("the store succeeds"), "already released");
    let node = get(&*store, &scope, "t").await.node;
    assert_eq!(node.as_deref(), Some(store.node()), "reacquired since");
}

/// A commit can release the lease; the task is then not taken over.
pub async fn commit_can_release_the_lease(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    let events = vec![chunk(2, "t", "x")];
    let write = transition("t", 1, 1, events).with_lease(LeaseUpdate::Release);
    store.commit(&scope, write).await.expect("version and epoch are current");
    let stored = get(&*store, &scope, "t").await;
    assert_eq!((stored.node, stored.epoch, stored.version), (None, 1, 2));
    assert_eq!(stored.task.text(), "x");
    store.abandon("t", 1).await.expect("already released");
    assert!(take_over(&*store, 10).await.is_empty());
}

/// A takeover returns the checkpoint and the epoch it was written in, however often the lease has
/// changed hands since.
pub async fn take_over_returns_the_checkpoint_and_its_epoch(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"first").await;
    store.abandon("t", 2).await.expect("the store succeeds");
    assert!(take_over(&*store, 10).await.is_empty(), "abandoned with a stale epoch");
    let expected: [(&[u8], u64, u64); 3] = [(b"first", 1, 2), (b"first", 1, 3), (b"second", 3, 4)];
    for (checkpoint, checkpoint_epoch, epoch) in expected {
        store.abandon("t", epoch - 1).await.expect("the store succeeds");
        let orphans = take_over(&*store, 10).await;
        let [orphan] = &orphans[..] else { panic!("{orphans:?}") };
        assert_eq!((&orphan.scope, &*orphan.checkpoint), (&scope, checkpoint));
        assert_eq!((orphan.checkpoint_epoch, orphan.stored.epoch), (checkpoint_epoch, epoch));
        assert_eq!(orphan.stored.node.as_deref(), Some(store.node()));
        assert_eq!(orphan.stored.task, get(&*store, &scope, "t").await.task);
        assert!(take_over(&*store, 10).await.is_empty(), "leased again");
        if epoch == 3 {
            let lease = LeaseUpdate::Checkpoint(Bytes::from_static(b"second"));
            let write = transition("t", 1, 3, vec![chunk(2, "t", "x")]).with_lease(lease);
            store.commit(&scope, write).await.expect("version and epoch are current");
        }
    }
}

/// After a release, the next holder does not get the old checkpoint.
pub async fn release_discards_the_checkpoint(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "released", b"work").await;
    store.release("released", 1).await.expect("the store succeeds");
    insert_held(&*store, &scope, "written", b"work").await;
    let events = vec![chunk(2, "written", "x")];
    let write = transition("written", 1, 1, events).with_lease(LeaseUpdate::Release);
    store.commit(&scope, write).await.expect("version and epoch are current");
    for id in ["released", "written"] {
        store.acquire(&scope, id).await.expect("the store succeeds");
        store.abandon(id, 2).await.expect("the store succeeds");
        let orphans = take_over(&*store, 10).await;
        let [orphan] = &orphans[..] else { panic!("{orphans:?}") };
        assert_eq!((orphan.stored.task.id.as_str(), &*orphan.checkpoint), (id, &b""[..]));
    }
}

/// A node that reacquires its own lease gets the checkpoint, which may be one that it took over and
/// does not know.
pub async fn reacquire_returns_the_checkpoint(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    store.abandon("t", 1).await.expect("the store succeeds");
    take_over(&*store, 10).await;
    for epoch in 3..5 {
        let acquired = store.acquire(&scope, "t").await.expect("the store succeeds");
        let Some(Acquired::Reacquired(orphan)) = acquired else { panic!("{acquired:?}") };
        assert_eq!((&orphan.scope, &*orphan.checkpoint), (&scope, &b"work"[..]));
        assert_eq!((orphan.checkpoint_epoch, orphan.stored.epoch), (1, epoch));
        assert_eq!(orphan.stored.node.as_deref(), Some(store.node()));
    }
    store.release("t", 4).await.expect("the store succeeds");
    let acquired = store.acquire(&scope, "t").await.expect("the store succeeds");
    assert!(
        matches!(acquired, Some(Acquired::Here(_))),
        "the checkpoint was deleted: {acquired:?}"
    );
}

/// Leases that expired first are taken over first, up to the limit.
pub async fn expired_leases_are_taken_over_oldest_first(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for id in ["c", "a", "b"] {
        insert_held(&*store, &scope, id, b"work").await;
        store.abandon(id, 1).await.expect("the store succeeds");
        // So that the times differ in milliseconds.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    assert!(take_over(&*store, 0).await.is_empty());
    for expected in [&["c", "a"][..], &["b"], &[]] {
        let orphans = take_over(&*store, 2).await;
        let mut ids: Vec<_> = orphans.iter().map(|orphan| orphan.stored.task.id.as_str()).collect();
        // Tasks taken over in one call are in any order.
        ids.sort_by_key(|id| expected.iter().position(|expected| expected == id));
        assert_eq!(ids, expected);
    }
}

/// A task can be reacquired between commits, which fences the previous lease.
pub async fn acquire_fences_the_previous_lease(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    commit(&*store, &scope, "t", 1, vec![chunk(2, "t", "a")], None).await.expect("it is held");
    let acquired = store.acquire(&scope, "t").await.expect("the store succeeds");
    assert!(matches!(acquired, Some(Acquired::Reacquired(orphan)) if orphan.stored.version == 2));
    let refused = commit(&*store, &scope, "t", 2, vec![chunk(3, "t", "b")], None).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    let write = transition("t", 2, 2, vec![chunk(3, "t", "c")]);
    store.commit(&scope, write).await.expect("version and epoch are current");
    assert_eq!(get(&*store, &scope, "t").await.task.text(), "ac");
}

async fn take_over(store: &dyn Store, limit: usize) -> Vec<Orphan> {
    store.take_over(limit).await.expect("the store succeeds")
}
