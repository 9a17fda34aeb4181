//! Journals of runs.

use std::sync::Arc;

use a2a_core::TaskState;
use a2a_kit_operations::{
    EventId, Store,
    store::{Acquired, JournalUpdate, LeaseUpdate, StoreError},
};
use bytes::Bytes;

use super::fixtures::{
    at, chunk, commit, get, insert, insert_held, new_task, scope, shown, task, transition,
};

fn replaced(text: &'static str) -> JournalUpdate {
    JournalUpdate::Replace(Bytes::from_static(text.as_bytes()))
}

fn appended(text: &'static str) -> JournalUpdate {
    JournalUpdate::Append(Bytes::from_static(text.as_bytes()))
}

/// A journal is returned, with what was appended to it, until another one replaces it or an empty
/// one deletes it, whatever else is written. A write may consist of nothing else.
pub async fn journal_is_kept_until_it_is_replaced_or_deleted(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let first = task("t", "c", TaskState::Working, 5);
    let new = new_task(&first).with_journal(Bytes::from_static(b"first"));
    store.insert(&scope, new).await.expect("the task is new");
    insert(&*store, &scope, &task("other", "c", TaskState::Working, 5)).await;
    let expected = [
        (replaced("second"), "second"),
        (JournalUpdate::Keep, "second"),
        (appended(", third"), "second, third"),
        (appended(" and\0fourth"), "second, third and\0fourth"),
        (JournalUpdate::Keep, "second, third and\0fourth"),
        (replaced("fifth"), "fifth"),
        (appended("!"), "fifth!"),
        (replaced(""), ""),
        (JournalUpdate::Keep, ""),
        (appended("sixth"), "sixth"),
    ];
    assert_eq!(&*get(&*store, &scope, "t").await.journal, b"first");
    for (version, (journal, kept)) in (1..).zip(expected) {
        let write = transition("t", version, 1, Vec::new()).with_journal(journal);
        store.commit(&scope, write).await.expect("it is current");
        let stored = get(&*store, &scope, "t").await;
        assert_eq!((&*stored.journal, stored.version), (kept.as_bytes(), version + 1));
        assert_eq!((&*stored.task, stored.last_event), (&first, EventId::FIRST));
    }
    let write = transition("t", 11, 1, Vec::new()).with_journal(replaced("last"));
    store.commit(&scope, write).await.expect("it is current");
    commit(&*store, &scope, "t", 12, vec![chunk(2, "t", "x")], None).await.expect("it is current");
    let (stored, _) =
        store.load(&scope, "t", at(1)).await.expect("it succeeds").expect("it exists");
    assert_eq!((&*stored.journal, stored.last_event), (&b"last"[..], at(2)));
    assert!(get(&*store, &scope, "other").await.journal.is_empty());
}

/// A rejected write leaves the journal as it was.
pub async fn rejected_commit_keeps_the_journal(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let first = task("t", "c", TaskState::Working, 5);
    let new = new_task(&first).with_journal(Bytes::from_static(b"first"));
    store.insert(&scope, new).await.expect("the task is new");
    for (version, epoch) in [(0, 1), (2, 1), (1, 0), (1, 2)] {
        let write = transition("t", version, epoch, Vec::new()).with_journal(appended("lost"));
        let refused = store.commit(&scope, write).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{version} {epoch}");
        assert_eq!(&*get(&*store, &scope, "t").await.journal, b"first");
    }
}

/// A journal outlives the lease, and comes with the task to each next holder.
pub async fn journal_outlives_the_lease(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    let write = transition("t", 1, 1, Vec::new()).with_journal(appended("j"));
    store.commit(&scope, write).await.expect("it is current");
    store.abandon("t", 1).await.expect("the store succeeds");
    let orphans = store.take_over(10).await.expect("the store succeeds");
    let [orphan] = &orphans[..] else { panic!("{orphans:?}") };
    assert_eq!((&*orphan.stored.journal, &*orphan.checkpoint), (&b"j"[..], &b"work"[..]));
    let event = shown(2, &orphan.stored.task);
    let write = transition("t", 2, 2, vec![event]).with_lease(LeaseUpdate::Release);
    store.commit(&scope, write).await.expect("it is current");
    let acquired = store.acquire(&scope, "t").await.expect("the store succeeds");
    let Some(Acquired::Here(stored)) = acquired else { panic!("{acquired:?}") };
    assert_eq!(&*stored.journal, b"j");
    assert!(store.release("t", 3).await.expect("the store succeeds"));
    assert_eq!(&*get(&*store, &scope, "t").await.journal, b"j");
}
