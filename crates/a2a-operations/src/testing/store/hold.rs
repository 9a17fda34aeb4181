//! Who holds a task writes to it, under an epoch of its own.

use std::{sync::Arc, time::Duration};

use a2a_core::{TaskState, v1::Task};
use bytes::Bytes;

use super::scenery::{
    at, change, changed, chunk, commit, get, insert, insert_held, replayed, scope, status, task,
    transition,
};
use crate::{
    Store,
    store::{Acquired, Hold, Orphan, StoreError, StoredTask, Transition},
};

/// Who stores a task with what it works on holds it, in its first epoch.
pub async fn a_new_task_with_an_execution_is_held(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    let stored = get(&*store, &scope, "t").await;
    assert_eq!((stored.node.as_deref(), stored.epoch), (Some(store.node()), 1));
    change(&*store, &scope, "t", TaskState::Working, 6).await;
    let stored = get(&*store, &scope, "t").await;
    assert_eq!((stored.node.as_deref(), stored.epoch), (Some(store.node()), 1), "a write changes");
}

/// Each time that a node takes hold of a task counts, even if it held it before. Nothing else
/// does.
pub async fn every_hold_has_an_epoch_of_its_own(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    for epoch in 2..=4 {
        let acquired = store.acquire(&scope, "t").await.expect("the store works");
        let Some(Acquired::Here(stored)) = acquired else { panic!("{acquired:?}") };
        assert_eq!((stored.epoch, stored.version, stored.last_event), (epoch, 1, at(1)));
        assert_eq!(stored.node.as_deref(), Some(store.node()));
        assert_eq!(get(&*store, &scope, "t").await.epoch, epoch);
    }
}

/// What is not there can't be held, and what is not held can be let go.
pub async fn a_task_that_is_not_there_is_held_by_nobody(store: Arc<dyn Store>) {
    insert(&*store, &scope("bob"), &task("of-bob", "c", TaskState::Working, 5)).await;
    for id in ["unknown", "of-bob"] {
        let acquired = store.acquire(&scope("ann"), id).await.expect("the store works");
        assert!(acquired.is_none(), "{acquired:?}");
    }
    assert_eq!(get(&*store, &scope("bob"), "of-bob").await.epoch, 1);
    store.renew(&[]).await.expect("there may be none");
    store.renew(&[("unknown".into(), 1)]).await.expect("it may be gone");
    assert!(store.release("unknown", 1).await.expect("it may be gone"));
    store.abandon("unknown", 1).await.expect("it may be gone");
    assert!(take_over(&*store, 10).await.is_empty());
}

/// Who writes under another epoch changes nothing at all, though the version is right: neither
/// the task, nor its events, nor the hold on it.
pub async fn a_commit_under_another_epoch_changes_nothing(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    let before = get(&*store, &scope, "t").await.task;
    store.acquire(&scope, "t").await.expect("the store works");
    let after = Task { status: Some(status(TaskState::Failed, 6)), ..Task::clone(&before) };
    for epoch in [0, 1, 3] {
        for snapshot in [None, Some(Arc::new(after.clone()))] {
            let events = vec![chunk(2, "t", "x"), changed(3, &after)];
            let refused = store
                .commit(
                    &scope,
                    Transition {
                        snapshot,
                        hold: Hold::Release,
                        ..transition("t", 1, epoch, events)
                    },
                )
                .await;
            assert!(matches!(refused, Err(StoreError::Conflict { .. })), "epoch {epoch}");
            let StoredTask { task, version, epoch, node, last_event } =
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

/// A task that was let go is nobody's, and stays in its epoch. Who lets go too late changes
/// nothing.
pub async fn a_task_is_let_go_under_its_epoch(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for _ in 0..2 {
        assert!(store.release("t", 1).await.expect("the store works"));
        let stored = get(&*store, &scope, "t").await;
        assert_eq!((stored.node, stored.epoch, stored.version), (None, 1, 1));
    }
    store.acquire(&scope, "t").await.expect("the store works");
    assert!(store.release("t", 1).await.expect("the store works"), "it was let go before");
    let node = get(&*store, &scope, "t").await.node;
    assert_eq!(node.as_deref(), Some(store.node()), "it was taken again since");
}

/// A write can let go of its task, which nobody takes over then.
pub async fn a_write_can_let_go(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    let events = vec![chunk(2, "t", "x")];
    let write = Transition { hold: Hold::Release, ..transition("t", 1, 1, events) };
    store.commit(&scope, write).await.expect("version and epoch are the stored ones");
    let stored = get(&*store, &scope, "t").await;
    assert_eq!((stored.node, stored.epoch, stored.version), (None, 1, 2));
    assert_eq!(stored.task.text(), "x");
    store.abandon("t", 1).await.expect("it is let go already");
    assert!(take_over(&*store, 10).await.is_empty());
}

/// Who takes over a task learns what was worked on and when that was recorded, however often the
/// task has changed hands since.
pub async fn a_task_is_taken_over_with_what_was_recorded(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"first").await;
    store.abandon("t", 2).await.expect("the store works");
    assert!(take_over(&*store, 10).await.is_empty(), "abandoned under another epoch");
    let expected: [(&[u8], u64, u64); 3] = [(b"first", 1, 2), (b"first", 1, 3), (b"second", 3, 4)];
    for (execution, recorded, epoch) in expected {
        store.abandon("t", epoch - 1).await.expect("the store works");
        let orphans = take_over(&*store, 10).await;
        let [orphan] = &orphans[..] else { panic!("{orphans:?}") };
        assert_eq!((&orphan.scope, &*orphan.execution), (&scope, execution));
        assert_eq!((orphan.recorded, orphan.stored.epoch), (recorded, epoch));
        assert_eq!(orphan.stored.node.as_deref(), Some(store.node()));
        assert_eq!(orphan.stored.task, get(&*store, &scope, "t").await.task);
        assert!(take_over(&*store, 10).await.is_empty(), "it is held again");
        if epoch == 3 {
            let hold = Hold::Record(Bytes::from_static(b"second"));
            let write = Transition { hold, ..transition("t", 1, 3, vec![chunk(2, "t", "x")]) };
            store.commit(&scope, write).await.expect("version and epoch are the stored ones");
        }
    }
}

/// Once a task is let go, whoever has it next does not learn what was worked on before.
pub async fn what_was_recorded_is_forgotten_with_the_hold(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "released", b"work").await;
    store.release("released", 1).await.expect("the store works");
    insert_held(&*store, &scope, "written", b"work").await;
    let events = vec![chunk(2, "written", "x")];
    let write = Transition { hold: Hold::Release, ..transition("written", 1, 1, events) };
    store.commit(&scope, write).await.expect("version and epoch are the stored ones");
    for id in ["released", "written"] {
        store.acquire(&scope, id).await.expect("the store works");
        store.abandon(id, 2).await.expect("the store works");
        let orphans = take_over(&*store, 10).await;
        let [orphan] = &orphans[..] else { panic!("{orphans:?}") };
        assert_eq!((orphan.stored.task.id.as_str(), &*orphan.execution), (id, &b""[..]));
    }
}

/// A node that takes hold of what it holds already learns what it recorded, which may be what it
/// took over and does not know of.
pub async fn who_takes_hold_again_learns_what_was_recorded(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    store.abandon("t", 1).await.expect("the store works");
    take_over(&*store, 10).await;
    for epoch in 3..5 {
        let acquired = store.acquire(&scope, "t").await.expect("the store works");
        let Some(Acquired::Again(orphan)) = acquired else { panic!("{acquired:?}") };
        assert_eq!((&orphan.scope, &*orphan.execution), (&scope, &b"work"[..]));
        assert_eq!((orphan.recorded, orphan.stored.epoch), (1, epoch));
        assert_eq!(orphan.stored.node.as_deref(), Some(store.node()));
    }
    store.release("t", 4).await.expect("the store works");
    let acquired = store.acquire(&scope, "t").await.expect("the store works");
    assert!(matches!(acquired, Some(Acquired::Here(_))), "it was forgotten: {acquired:?}");
}

/// Those whose lease ran out first are taken over first, and no more than are wanted.
pub async fn the_oldest_are_taken_over_first(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for id in ["c", "a", "b"] {
        insert_held(&*store, &scope, id, b"work").await;
        store.abandon(id, 1).await.expect("the store works");
        // So that the times differ in milliseconds.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    assert!(take_over(&*store, 0).await.is_empty());
    for expected in [&["c", "a"][..], &["b"], &[]] {
        let orphans = take_over(&*store, 2).await;
        let mut ids: Vec<_> = orphans.iter().map(|orphan| orphan.stored.task.id.as_str()).collect();
        // What is taken over at once comes in any order.
        ids.sort_by_key(|id| expected.iter().position(|expected| expected == id));
        assert_eq!(ids, expected);
    }
}

/// A task of which commits come in between can be taken in hand all the same, and whoever held
/// it before is out.
pub async fn a_hold_ends_with_the_next_one(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    commit(&*store, &scope, "t", 1, vec![chunk(2, "t", "a")], None).await.expect("it is held");
    let acquired = store.acquire(&scope, "t").await.expect("the store works");
    assert!(matches!(acquired, Some(Acquired::Again(orphan)) if orphan.stored.version == 2));
    let refused = commit(&*store, &scope, "t", 2, vec![chunk(3, "t", "b")], None).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    let write = transition("t", 2, 2, vec![chunk(3, "t", "c")]);
    store.commit(&scope, write).await.expect("version and epoch are the stored ones");
    assert_eq!(get(&*store, &scope, "t").await.task.text(), "ac");
}

async fn take_over(store: &dyn Store, limit: usize) -> Vec<Orphan> {
    store.take_over(limit).await.expect("the store works")
}
