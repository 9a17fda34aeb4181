//! A node reaches the one that holds a task, whoever that is by then.

use std::sync::Arc;

use bytes::Bytes;

use super::scenery::{ann, heard, listen, orphan};
use crate::{
    Store,
    store::{Signal, Signals, Transition},
    testing::store::scenery::{chunk, insert_held, post, transition, waiting},
};

/// A command goes to the node that holds the task, which is told, and its answer to the node that
/// posted it, which is told too.
pub async fn a_command_reaches_the_holder_and_its_answer_comes_back(
    one: Arc<dyn Store>,
    two: Arc<dyn Store>,
) {
    let mut of_one = listen(&one, &two).await;
    let mut of_two = listen(&two, &one).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    assert!(post(&*two, &ann(), "t", "first").await);
    hear_posted(&mut of_one, "t").await;
    assert_eq!(waiting(&*one, "t").await, ["first"]);
    assert_eq!(two.read_answer("first").await.expect("the store works"), None);
    one.answer("first", Bytes::from_static(b"1")).await.expect("the store works");
    hear_answered(&mut of_two, "first").await;
    let answer = two.read_answer("first").await.expect("the store works");
    assert_eq!(answer.as_deref(), Some(&b"1"[..]));
    assert!(post(&*two, &ann(), "t", "second").await);
    hear_posted(&mut of_one, "t").await;
    let answers = vec![("second".into(), Bytes::from_static(b"2"))];
    let write = Transition { answers, ..transition("t", 1, 1, vec![chunk(2, "t", "x")]) };
    one.commit(&ann(), write).await.expect("version and epoch are the stored ones");
    hear_answered(&mut of_two, "second").await;
    let answer = two.read_answer("second").await.expect("the store works");
    assert_eq!(answer.as_deref(), Some(&b"2"[..]));
}

/// A command for a node that is gone waits for the one that takes over. If that is the node that
/// posted it, it is told of its own answer like of any other.
pub async fn a_command_goes_with_its_task_to_the_next_node(
    one: Arc<dyn Store>,
    two: Arc<dyn Store>,
) {
    let mut of_two = listen(&two, &one).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    assert!(post(&*two, &ann(), "t", "first").await);
    one.abandon("t", 1).await.expect("the store works");
    assert!(post(&*two, &ann(), "t", "second").await, "the task will be taken over");
    let epoch = orphan(&*two, "t").await.stored.epoch;
    assert_eq!(waiting(&*two, "t").await, ["first", "second"]);
    assert!(!two.release("t", epoch).await.expect("the store works"), "they wait");
    for id in ["first", "second"] {
        two.answer(id, Bytes::from_static(b"done")).await.expect("the store works");
        hear_answered(&mut of_two, id).await;
        let answer = two.read_answer(id).await.expect("the store works");
        assert_eq!(answer.as_deref(), Some(&b"done"[..]));
    }
}

/// A task is let go or a command is left for it: never both at once, or the command would wait
/// for nobody.
pub async fn no_command_is_left_for_a_node_that_lets_go(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    for number in 0..20 {
        let id = format!("t{number}");
        insert_held(&*one, &ann(), &id, b"work").await;
        let released = {
            let (store, id) = (Arc::clone(&one), id.clone());
            tokio::spawn(async move { store.release(&id, 1).await })
        };
        let posted = post(&*two, &ann(), &id, &format!("command-{number}")).await;
        let released = released.await.expect("it does not panic").expect("the store works");
        assert_ne!(posted, released, "{id}");
    }
}

async fn hear_posted(signals: &mut Signals, id: &str) {
    let posted = |signal: &Signal| matches!(signal, Signal::Posted { task_id } if **task_id == *id);
    heard(signals, posted).await;
}

async fn hear_answered(signals: &mut Signals, id: &str) {
    let answered =
        |signal: &Signal| matches!(signal, Signal::Answered { command_id } if **command_id == *id);
    heard(signals, answered).await;
}
