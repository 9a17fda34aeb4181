//! Leases, commands and signals of the memory store, and of nodes that share one.

use std::time::Duration;

use a2a_kit_operations::{
    MemoryStore,
    store::{LeaseStore as _, MemoryLimits, Signal, StoreError, TaskStore as _},
};
use a2a_kit_store_testing::{
    MemoryNode,
    store::fixtures::{chunk, command, insert_held, post, scope, transition},
};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};

use super::limited;

#[tokio::test(start_paused = true)]
async fn lease_expires_after_ten_seconds() {
    let one = MemoryNode::new();
    let two = one.join("two");
    insert_held(&one, &scope("ann"), "t", b"work").await;
    tokio::time::advance(Duration::from_secs(9)).await;
    one.renew(&[("t".into(), 1)]).await.unwrap();
    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert!(two.take_over(1).await.unwrap().is_empty());
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(two.take_over(1).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn lease_of_a_single_node_does_not_expire() {
    let store = MemoryStore::new();
    insert_held(&store, &scope("ann"), "t", b"work").await;
    tokio::time::advance(Duration::from_secs(3_600)).await;
    assert!(store.take_over(1).await.unwrap().is_empty());
    assert!(store.signals().is_none());
}

#[tokio::test]
async fn slow_node_gets_a_lagged_signal() {
    let one = MemoryNode::new();
    let two = one.join("two");
    let mut signals = two.signals().unwrap();
    insert_held(&one, &scope("ann"), "t", b"work").await;
    for version in 1..=2_000 {
        let write = transition("t", version, 1, vec![chunk(version + 1, "t", "x")]);
        one.commit(&scope("ann"), write).await.unwrap();
    }
    let mut heard = 0;
    let mut missed = 0;
    while let Some(signal) = signals.next().now_or_never() {
        heard += 1;
        missed += usize::from(matches!(signal, Some(Signal::Lagged)));
    }
    assert_eq!(missed, 1);
    assert!(heard <= 1_025, "{heard}");
    one.release("t", 1).await.unwrap();
    assert!(matches!(signals.next().await, Some(Signal::Written { .. })));
}

#[tokio::test]
async fn signals_end_with_their_node() {
    let one = MemoryNode::new();
    let two = one.join("two");
    let signals = two.signals().unwrap();
    let end = tokio::spawn(signals.count());
    tokio::task::yield_now().await;
    drop(two);
    assert_eq!(end.await.unwrap(), 0);
}

#[tokio::test]
async fn node_gets_no_signals_of_its_own_writes() {
    let one = MemoryNode::new();
    let two = one.join("two");
    let mut signals = two.signals().unwrap();
    insert_held(&two, &scope("ann"), "t", b"work").await;
    assert!(signals.next().now_or_never().is_none());
}

#[tokio::test]
async fn commands_and_answers_are_limited() {
    let store = limited(MemoryLimits::default().with_max_commands(2));
    let ann = scope("ann");
    insert_held(&store, &ann, "t", b"work").await;
    for id in ["a", "b"] {
        assert!(post(&store, &ann, "t", id).await);
    }
    let refused = store.post_command(&ann, "t", command("c")).await;
    assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}");
    for id in ["a", "b"] {
        store.answer_command(id, Bytes::from_static(b"done")).await.unwrap();
    }
    assert!(post(&store, &ann, "t", "c").await);
    store.answer_command("c", Bytes::from_static(b"done")).await.unwrap();
    assert_eq!(store.read_answer("a").await.unwrap(), None, "the oldest answer is forgotten");
    assert!(store.read_answer("b").await.unwrap().is_some());
    assert!(store.read_answer("c").await.unwrap().is_some());
}
