//! Nodes are told what the others do.

use std::sync::Arc;

use a2a_core::TaskState;

use super::scenery::{ann, hear_written, heard, listen, orphan};
use crate::{
    Store,
    store::{Hold, Signal, Transition},
    testing::store::scenery::{
        change, chunk, get, insert, insert_held, positions, replayed, task, transition,
    },
};

/// Each write is told, or a later one; the events that travel along end with the newest and have
/// no gap; and what is told can be read.
pub async fn writes_are_told_to_other_nodes(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    const WRITES: u64 = 50;
    let mut signals = listen(&two, &one).await;
    insert(&*one, &ann(), &task("t", "c", TaskState::Working, 5)).await;
    let writer = {
        let store = Arc::clone(&one);
        tokio::spawn(async move {
            for version in 1..=WRITES {
                let first = 2 * version;
                let events = vec![chunk(first, "t", "x"), chunk(first + 1, "t", "y")];
                let write = transition("t", version, 1, events);
                store.commit(&ann(), write).await.expect("nobody else writes");
            }
        })
    };
    let mut seen = 0;
    while seen < 2 * WRITES + 1 {
        let written = heard(&mut signals, |signal| {
            assert!(!matches!(signal, Signal::Missed), "nothing was disturbed");
            matches!(signal, Signal::Written { task_id, .. } if **task_id == *"t")
        })
        .await;
        let Signal::Written { last_event, events, .. } = written else { continue };
        let last = last_event.get();
        let travelled = positions(&events);
        let first = travelled.first().copied().unwrap_or(last + 1);
        assert_eq!(travelled, (first..=last).collect::<Vec<_>>());
        let known = replayed(&*two, &ann(), "t", 1).await;
        assert!(positions(&known).last().copied().unwrap_or(1) >= last, "told before stored");
        seen = seen.max(last);
    }
    writer.await.expect("the writer does not panic");
    assert_eq!(get(&*two, &ann(), "t").await.task.text().len(), 100);
}

/// Nodes are told when a task is let go or taken, so that somebody who waits for it can go on.
pub async fn a_change_of_holder_is_told(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_two = listen(&two, &one).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    hear_written(&mut of_two, "t", 1).await;
    assert!(one.release("t", 1).await.expect("the store works"));
    hear_written(&mut of_two, "t", 1).await;
    one.acquire(&ann(), "t").await.expect("the store works");
    hear_written(&mut of_two, "t", 1).await;
    let events = vec![chunk(2, "t", "x")];
    let write = Transition { hold: Hold::Release, ..transition("t", 1, 2, events) };
    one.commit(&ann(), write).await.expect("version and epoch are the stored ones");
    hear_written(&mut of_two, "t", 2).await;
}

/// A node that was silent is told when another one has taken its task.
pub async fn a_node_is_told_that_it_lost_its_task(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_one = listen(&one, &two).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    orphan(&*two, "t").await;
    hear_written(&mut of_one, "t", 1).await;
}

/// A node that abandons a task says so, and the task can be taken over at once.
pub async fn an_abandoned_task_is_told(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_two = listen(&two, &one).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    one.abandon("t", 1).await.expect("the store works");
    heard(&mut of_two, |signal| matches!(signal, Signal::Abandoned)).await;
    orphan(&*two, "t").await;
}

/// The end of a task is told like any other write.
pub async fn the_end_of_a_task_is_told(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_two = listen(&two, &one).await;
    insert(&*one, &ann(), &task("t", "c", TaskState::Working, 5)).await;
    change(&*one, &ann(), "t", TaskState::Completed, 6).await;
    hear_written(&mut of_two, "t", 2).await;
    assert_eq!(get(&*two, &ann(), "t").await.task.state(), TaskState::Completed);
}
