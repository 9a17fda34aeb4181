//! Commands between nodes.

use std::sync::Arc;

use bytes::Bytes;

use super::fixtures::{ann, listen, orphan, wait_for};
use crate::store::fixtures::{chunk, insert_held, post, transition, waiting};
use a2a_kit_operations::{
    Store,
    store::{Signal, Signals},
};

/// A command reaches the node that holds the task, and its answer the node that posted it, each
/// with a signal.
pub async fn command_reaches_the_holder_and_is_answered(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_one = listen(&one, &two).await;
    let mut of_two = listen(&two, &one).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    assert!(post(&*two, &ann(), "t", "first").await);
    wait_posted(&mut of_one, "t").await;
    assert_eq!(waiting(&*one, "t").await, ["first"]);
    assert_eq!(two.read_answer("first").await.expect("the store succeeds"), None);
    one.answer_command("first", Bytes::from_static(b"1")).await.expect("the store succeeds");
    wait_answered(&mut of_two, "first").await;
    let answer = two.read_answer("first").await.expect("the store succeeds");
    assert_eq!(answer.as_deref(), Some(&b"1"[..]));
    assert!(post(&*two, &ann(), "t", "second").await);
    wait_posted(&mut of_one, "t").await;
    let write = transition("t", 1, 1, vec![chunk(2, "t", "x")])
        .with_answers([("second".into(), Bytes::from_static(b"2"))]);
    one.commit(&ann(), write).await.expect("version and epoch are current");
    wait_answered(&mut of_two, "second").await;
    let answer = two.read_answer("second").await.expect("the store succeeds");
    assert_eq!(answer.as_deref(), Some(&b"2"[..]));
}

/// A command for a failed node stays pending for the next holder. If that is the node that posted
/// it, it receives the signal of its own answer.
pub async fn command_follows_its_task_to_the_next_holder(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_two = listen(&two, &one).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    assert!(post(&*two, &ann(), "t", "first").await);
    one.abandon("t", 1).await.expect("the store succeeds");
    assert!(post(&*two, &ann(), "t", "second").await, "the task will be taken over");
    let epoch = orphan(&*two, "t").await.stored.epoch;
    assert_eq!(waiting(&*two, "t").await, ["first", "second"]);
    assert!(!two.release("t", epoch).await.expect("the store succeeds"), "commands are pending");
    for id in ["first", "second"] {
        two.answer_command(id, Bytes::from_static(b"done")).await.expect("the store succeeds");
        wait_answered(&mut of_two, id).await;
        let answer = two.read_answer(id).await.expect("the store succeeds");
        assert_eq!(answer.as_deref(), Some(&b"done"[..]));
    }
}

/// A lease is released or a command is posted, never both: the command would have no holder.
pub async fn command_is_never_left_with_a_released_lease(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    for number in 0..20 {
        let id = format!("t{number}");
        insert_held(&*one, &ann(), &id, b"work").await;
        let released = {
            let (store, id) = (Arc::clone(&one), id.clone());
            tokio::spawn(async move { store.release(&id, 1).await })
        };
        let posted = post(&*two, &ann(), &id, &format!("command-{number}")).await;
        let released = released.await.expect("no panic").expect("the store succeeds");
        assert_ne!(posted, released, "{id}");
    }
}

async fn wait_posted(signals: &mut Signals, id: &str) {
    let posted = |signal: &Signal| matches!(signal, Signal::Posted { task_id } if **task_id == *id);
    wait_for(signals, posted).await;
}

async fn wait_answered(signals: &mut Signals, id: &str) {
    let answered =
        |signal: &Signal| matches!(signal, Signal::Answered { command_id } if **command_id == *id);
    wait_for(signals, answered).await;
}
