//! What waits for webhooks in this store, by tokio's clock and in its bounds.

use std::time::Duration;

use super::limited;
use crate::{
    MemoryStore,
    store::{DeadLetterQuery, MemoryLimits, PushOutcome, PushStore as _, TaskStore as _},
    testing::store::scenery::{at, due, hooked, positions, push, scope},
};

#[tokio::test(start_paused = true)]
async fn a_claim_of_which_nothing_is_said_ends_after_thirty_seconds() {
    let store = MemoryStore::new();
    store.insert(&scope("ann"), hooked("t", &["a"])).await.unwrap();
    for _ in 0..2 {
        push(&store, &scope("ann"), "t").await;
    }
    let first = due(&store, 1).await;
    tokio::time::advance(Duration::from_secs(29)).await;
    assert!(store.pushed(&first[0].key, PushOutcome::Delivered(at(2))).await.unwrap());
    tokio::time::advance(Duration::from_secs(29)).await;
    let nothing = store.due(1).await.unwrap();
    assert!(nothing.pushes.is_empty());
    assert_eq!(nothing.next, Some(Duration::from_secs(1)));
    tokio::time::advance(Duration::from_secs(1)).await;
    let second = due(&store, 1).await;
    assert_eq!(positions(&second[0].events), [3]);
    assert!(!store.pushed(&first[0].key, PushOutcome::Delivered(at(3))).await.unwrap());
}

#[tokio::test]
async fn beyond_a_bound_the_oldest_event_that_waits_is_given_up() {
    let store = limited(MemoryLimits::default().with_max_pushes(3, 2));
    store.insert(&scope("ann"), hooked("t", &["a"])).await.unwrap();
    for _ in 0..6 {
        push(&store, &scope("ann"), "t").await;
    }
    let due = due(&store, 1).await;
    assert_eq!(positions(&due[0].events), [5, 6, 7]);
    let letters = store.dead_letters(&DeadLetterQuery::newest(10)).await.unwrap();
    let events: Vec<_> = letters.iter().map(|letter| letter.event).collect();
    assert_eq!(events, [at(4), at(3)], "the newest of them, newest first");
}

#[tokio::test]
async fn events_that_all_webhooks_have_got_are_forgotten() {
    let store = limited(MemoryLimits::default().with_max_pushes(3, 10));
    let ann = scope("ann");
    store.insert(&ann, hooked("t", &["a", "b"])).await.unwrap();
    for position in 2..20 {
        push(&store, &ann, "t").await;
        for push in due(&store, 10).await {
            store.pushed(&push.key, PushOutcome::Delivered(at(position))).await.unwrap();
        }
    }
    assert!(store.dead_letters(&DeadLetterQuery::newest(10)).await.unwrap().is_empty());
}
