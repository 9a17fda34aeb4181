//! A command waits for whoever holds the task, and is answered once.

use std::sync::Arc;

use a2a_core::TaskState;
use bytes::Bytes;

use super::scenery::{
    chunk, command, get, insert, insert_held, post, scope, task, transition, waiting,
};
use crate::{
    Store,
    store::{Acquired, Hold, StoreError, Transition},
};

/// Nothing is left for a task that nobody holds, or that the caller has not.
pub async fn a_command_without_a_holder_is_refused(store: Arc<dyn Store>) {
    let ann = scope("ann");
    insert(&*store, &ann, &task("free", "c", TaskState::Working, 5)).await;
    insert_held(&*store, &scope("bob"), "of-bob", b"work").await;
    insert_held(&*store, &ann, "released", b"work").await;
    store.release("released", 1).await.expect("the store works");
    for id in ["free", "of-bob", "released", "unknown"] {
        assert!(!post(&*store, &ann, id, "one").await, "{id}");
        assert!(waiting(&*store, id).await.is_empty(), "{id}");
    }
    store.acquire(&ann, "free").await.expect("the store works");
    assert!(post(&*store, &ann, "free", "two").await);
}

/// Commands come as they were given, in the order in which they were.
pub async fn commands_wait_in_order(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for task_id in ["t", "other"] {
        insert_held(&*store, &scope, task_id, b"work").await;
    }
    for id in ["c", "a", "b"] {
        assert!(post(&*store, &scope, "t", id).await);
    }
    assert!(post(&*store, &scope, "other", "d").await);
    let commands = store.commands("t").await.expect("the store works");
    assert_eq!(commands, ["c", "a", "b"].map(command));
    assert_eq!(waiting(&*store, "other").await, ["d"]);
}

/// The first answer counts, and is there until it is forgotten.
pub async fn a_command_is_answered_once(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    assert!(post(&*store, &scope, "t", "one").await);
    assert_eq!(answered(&*store, "one").await, None, "it waits");
    answer(&*store, "unknown", "x").await;
    assert_eq!(answered(&*store, "unknown").await, None);
    answer(&*store, "one", "first").await;
    answer(&*store, "one", "second").await;
    assert!(waiting(&*store, "t").await.is_empty());
    for _ in 0..2 {
        assert_eq!(answered(&*store, "one").await.as_deref(), Some(&b"first"[..]));
    }
    for _ in 0..2 {
        store.forget_answer("one").await.expect("it may be forgotten already");
        assert_eq!(answered(&*store, "one").await, None);
    }
    assert!(post(&*store, &scope, "t", "two").await);
    store.forget_answer("two").await.expect("the store works");
    assert_eq!(waiting(&*store, "t").await, ["two"], "there is no answer to forget");
}

/// A second try to post, after a store that failed, leaves no second command.
pub async fn a_command_that_is_posted_again_is_one(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for _ in 0..2 {
        assert!(post(&*store, &scope, "t", "one").await);
        assert_eq!(waiting(&*store, "t").await, ["one"]);
    }
    answer(&*store, "one", "done").await;
    assert!(store.release("t", 1).await.expect("the store works"), "nothing waits");
}

/// A task is not let go while commands wait for it.
pub async fn a_task_is_kept_while_commands_wait(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for id in ["one", "two"] {
        assert!(post(&*store, &scope, "t", id).await);
    }
    for id in ["one", "two"] {
        assert!(!store.release("t", 1).await.expect("the store works"), "{id} waits");
        assert_eq!(get(&*store, &scope, "t").await.node.as_deref(), Some(store.node()));
        answer(&*store, id, "done").await;
    }
    assert!(store.release("t", 1).await.expect("the store works"));
    assert_eq!(get(&*store, &scope, "t").await.node, None);
}

/// What a write answers is answered if the write is made, and only then.
pub async fn answers_come_with_their_write(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for id in ["one", "two", "three"] {
        assert!(post(&*store, &scope, "t", id).await);
    }
    let write = |version, epoch| Transition {
        answers: vec![
            ("one".into(), Bytes::from_static(b"1")),
            ("three".into(), Bytes::from_static(b"3")),
            ("unknown".into(), Bytes::from_static(b"?")),
        ],
        ..transition("t", version, epoch, vec![chunk(2, "t", "x")])
    };
    for (version, epoch) in [(2, 1), (1, 2)] {
        let refused = store.commit(&scope, write(version, epoch)).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{version} {epoch}");
        assert_eq!(waiting(&*store, "t").await, ["one", "two", "three"]);
        assert_eq!(answered(&*store, "one").await, None);
    }
    store.commit(&scope, write(1, 1)).await.expect("version and epoch are the stored ones");
    assert_eq!(waiting(&*store, "t").await, ["two"]);
    assert_eq!(answered(&*store, "one").await.as_deref(), Some(&b"1"[..]));
    assert_eq!(answered(&*store, "two").await, None);
    assert_eq!(answered(&*store, "three").await.as_deref(), Some(&b"3"[..]));
    assert!(!store.release("t", 1).await.expect("the store works"), "one still waits");
}

/// A write that lets go leaves what it has not answered to the next holder.
pub async fn commands_outlive_a_write_that_lets_go(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert_held(&*store, &scope, "t", b"work").await;
    for id in ["one", "two"] {
        assert!(post(&*store, &scope, "t", id).await);
    }
    let write = Transition {
        hold: Hold::Release,
        answers: vec![("one".into(), Bytes::from_static(b"done"))],
        ..transition("t", 1, 1, vec![chunk(2, "t", "x")])
    };
    store.commit(&scope, write).await.expect("version and epoch are the stored ones");
    assert!(!post(&*store, &scope, "t", "three").await, "nobody holds the task");
    assert_eq!(waiting(&*store, "t").await, ["two"]);
    let acquired = store.acquire(&scope, "t").await.expect("the store works");
    assert!(matches!(acquired, Some(Acquired::Here(stored)) if stored.epoch == 2));
    assert_eq!(waiting(&*store, "t").await, ["two"]);
    assert!(!store.release("t", 2).await.expect("the store works"));
    answer(&*store, "two", "done").await;
    assert!(store.release("t", 2).await.expect("the store works"));
}

async fn answer(store: &dyn Store, id: &str, answer: &'static str) {
    store.answer(id, Bytes::from_static(answer.as_bytes())).await.expect("the store works");
}

async fn answered(store: &dyn Store, id: &str) -> Option<Bytes> {
    store.read_answer(id).await.expect("the store works")
}
