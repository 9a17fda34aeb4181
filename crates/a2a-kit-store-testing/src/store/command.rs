//! Commands.

use std::sync::Arc;

use a2a_core::TaskState;
use bytes::Bytes;

use super::fixtures::{
    chunk, command, get, insert, insert_held, post, scope, task, transition, waiting,
};
use a2a_kit_operations::{
    Store,
    store::{Acquired, LeaseUpdate, StoreError},
};

/// A command for an unleased task, or one of another scope, is rejected.
pub async fn command_without_a_lease_holder_is_rejected(store: Arc<dyn Store>) {
    let ann = scope("ann");
    insert(&*store, &ann, &task("free", "c", TaskState::Working, 5)).await;
    insert_held(&*store, &scope("bob"), "of-bob", b"work").await;
    insert_held(&*store, &ann, "released", b"work").await;
    store.release("released", 1).await.expect("the store succeeds");
    for id in ["free", "of-bob", "released", "unknown"] {
        assert!(!post(&*store, &ann, id, "one").await, "{id}");
        assert!(waiting(&*store, id).await.is_empty(), "{id}");
    }
    store.acquire(&ann, "free").await.expect("the store succeeds");
    assert!(post(&*store, &ann, "free", "two").await);
}

/// Commands are returned unchanged, in order.
pub async fn commands_are_returned_in_order(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for task_id in ["t", "other"] {
        insert_held(&*store, &scope, task_id, b"work").await;
    }
    for id in ["c", "a", "b"] {
        assert!(post(&*store, &scope, "t", id).await);
    }
    assert!(post(&*store, &scope, "other", "d").await);
    let commands = store.commands("t").await.expect("the store succeeds");
    assert_eq!(commands, ["c", "a", "b"].map(command));
    assert_eq!(waiting(&*store, "other").await, ["d"]);
}

/// The first answer counts, and is kept until it is deleted.
pub async fn first_answer_to_a_command_wins(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    assert!(post(&*store, &scope, "t", "one").await);
    assert_eq!(answered(&*store, "one").await, None, "pending");
    answer(&*store, "unknown", "x").await;
    assert_eq!(answered(&*store, "unknown").await, None);
    answer(&*store, "one", "first").await;
    answer(&*store, "one", "second").await;
    assert!(waiting(&*store, "t").await.is_empty());
    for _ in 0..2 {
        assert_eq!(answered(&*store, "one").await.as_deref(), Some(&b"first"[..]));
    }
    for _ in 0..2 {
        store.delete_answer("one").await.expect("deleting again succeeds");
        assert_eq!(answered(&*store, "one").await, None);
    }
    assert!(post(&*store, &scope, "t", "two").await);
    store.delete_answer("two").await.expect("the store succeeds");
    assert_eq!(waiting(&*store, "t").await, ["two"], "there is no answer to forget");
}

/// Posting again after a failure creates no second command.
pub async fn reposted_command_is_not_duplicated(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for _ in 0..2 {
        assert!(post(&*store, &scope, "t", "one").await);
        assert_eq!(waiting(&*store, "t").await, ["one"]);
    }
    answer(&*store, "one", "done").await;
    assert!(store.release("t", 1).await.expect("the store succeeds"), "nothing waits");
}

/// A lease is not released while commands are pending.
pub async fn release_fails_while_commands_are_pending(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for id in ["one", "two"] {
        assert!(post(&*store, &scope, "t", id).await);
    }
    for id in ["one", "two"] {
        assert!(!store.release("t", 1).await.expect("the store succeeds"), "{id} waits");
        assert_eq!(get(&*store, &scope, "t").await.node.as_deref(), Some(store.node()));
        answer(&*store, id, "done").await;
    }
    assert!(store.release("t", 1).await.expect("the store succeeds"));
    assert_eq!(get(&*store, &scope, "t").await.node, None);
}

/// The answers of a transition are stored if it commits, and only then.
pub async fn answers_are_committed_with_their_transition(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for id in ["one", "two", "three"] {
        assert!(post(&*store, &scope, "t", id).await);
    }
    let write = |version, epoch| {
        transition("t", version, epoch, vec![chunk(2, "t", "x")]).with_answers([
            ("one".into(), Bytes::from_static(b"1")),
            ("three".into(), Bytes::from_static(b"3")),
            ("unknown".into(), Bytes::from_static(b"?")),
        ])
    };
    for (version, epoch) in [(2, 1), (1, 2)] {
        let refused = store.commit(&scope, write(version, epoch)).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{version} {epoch}");
        assert_eq!(waiting(&*store, "t").await, ["one", "two", "three"]);
        assert_eq!(answered(&*store, "one").await, None);
    }
    store.commit(&scope, write(1, 1)).await.expect("version and epoch are current");
    assert_eq!(waiting(&*store, "t").await, ["two"]);
    assert_eq!(answered(&*store, "one").await.as_deref(), Some(&b"1"[..]));
    assert_eq!(answered(&*store, "two").await, None);
    assert_eq!(answered(&*store, "three").await.as_deref(), Some(&b"3"[..]));
    assert!(!store.release("t", 1).await.expect("the store succeeds"), "one still waits");
}

/// A commit that releases the lease leaves unanswered commands to the next holder.
pub async fn commands_survive_a_releasing_commit(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for id in ["one", "two"] {
        assert!(post(&*store, &scope, "t", id).await);
    }
    let write = transition("t", 1, 1, vec![chunk(2, "t", "x")])
        .with_lease(LeaseUpdate::Release)
        .with_answers([("one".into(), Bytes::from_static(b"done"))]);
    store.commit(&scope, write).await.expect("version and epoch are current");
    assert!(!post(&*store, &scope, "t", "three").await, "unleased");
    assert_eq!(waiting(&*store, "t").await, ["two"]);
    let acquired = store.acquire(&scope, "t").await.expect("the store succeeds");
    assert!(matches!(acquired, Some(Acquired::Here(stored)) if stored.epoch == 2));
    assert_eq!(waiting(&*store, "t").await, ["two"]);
    assert!(!store.release("t", 2).await.expect("the store succeeds"));
    answer(&*store, "two", "done").await;
    assert!(store.release("t", 2).await.expect("the store succeeds"));
}

async fn answer(store: &dyn Store, id: &str, answer: &'static str) {
    store
        .answer_command(id, Bytes::from_static(answer.as_bytes()))
        .await
        .expect("the store succeeds");
}

async fn answered(store: &dyn Store, id: &str) -> Option<Bytes> {
    store.read_answer(id).await.expect("the store succeeds")
}
