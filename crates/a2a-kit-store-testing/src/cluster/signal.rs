//! Signals between nodes.

use std::sync::Arc;

use a2a_core::TaskState;

use super::fixtures::{ann, listen, orphan, wait_for, wait_written};
use crate::store::fixtures::{
    change, chunk, get, insert, insert_held, positions, replayed, task, transition,
};
use a2a_kit_operations::{
    Store,
    store::{LeaseUpdate, Signal},
};

/// Each write is signalled, or a later one. The included events end with the newest, without gaps,
/// and can be read from the store.
pub async fn writes_are_signalled_to_other_nodes(one: Arc<dyn Store>, two: Arc<dyn Store>) {
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
                store.commit(&ann(), write).await.expect("there is no other writer");
            }
        })
    };
    let mut seen = 0;
    while seen < 2 * WRITES + 1 {
        let written = wait_for(&mut signals, |signal| {
            assert!(!matches!(signal, Signal::Lagged), "no signal was lost");
            matches!(signal, Signal::Written { task_id, .. } if **task_id == *"t")
        })
        .await;
        let Signal::Written { last_event, events, .. } = written else { continue };
        let last = last_event.get();
        let travelled = positions(&events);
        let first = travelled.first().copied().unwrap_or(last + 1);
        assert_eq!(travelled, (first..=last).collect::<Vec<_>>());
        let known = replayed(&*two, &ann(), "t", 1).await;
        assert!(positions(&known).last().copied().unwrap_or(1) >= last, "signalled before stored");
        seen = seen.max(last);
    }
    writer.await.expect("the writer does not panic");
    assert_eq!(get(&*two, &ann(), "t").await.task.text().len(), 100);
}

/// Released and acquired leases are signalled, so that waiting nodes continue.
pub async fn lease_changes_are_signalled(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_two = listen(&two, &one).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    wait_written(&mut of_two, "t", 1).await;
    assert!(one.release("t", 1).await.expect("the store succeeds"));
    wait_written(&mut of_two, "t", 1).await;
    one.acquire(&ann(), "t").await.expect("the store succeeds");
    wait_written(&mut of_two, "t", 1).await;
    let events = vec![chunk(2, "t", "x")];
    let write = transition("t", 1, 2, events).with_lease(LeaseUpdate::Release);
    one.commit(&ann(), write).await.expect("version and epoch are current");
    wait_written(&mut of_two, "t", 2).await;
}

/// A node whose lease expired gets a signal when another one has taken over.
pub async fn lost_lease_is_signalled(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_one = listen(&one, &two).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    orphan(&*two, "t").await;
    wait_written(&mut of_one, "t", 1).await;
}

/// An abandoned lease is signalled and can be taken over at once.
pub async fn abandoned_lease_is_signalled(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_two = listen(&two, &one).await;
    insert_held(&*one, &ann(), "t", b"work").await;
    one.abandon("t", 1).await.expect("the store succeeds");
    wait_for(&mut of_two, |signal| matches!(signal, Signal::Abandoned)).await;
    orphan(&*two, "t").await;
}

/// The end of a task is signalled like any other write.
pub async fn completion_is_signalled(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let mut of_two = listen(&two, &one).await;
    insert(&*one, &ann(), &task("t", "c", TaskState::Working, 5)).await;
    change(&*one, &ann(), "t", TaskState::Completed, 6).await;
    wait_written(&mut of_two, "t", 2).await;
    assert_eq!(get(&*two, &ann(), "t").await.task.state(), TaskState::Completed);
}
