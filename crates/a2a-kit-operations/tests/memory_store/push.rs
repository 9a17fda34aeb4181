//! Webhook deliveries of the memory store: claim expiry and limits.

use std::time::Duration;

use a2a_kit_operations::{
    MemoryStore,
    store::{DeadLetterQuery, DeliveryOutcome, MemoryLimits, PushStore as _, TaskStore as _},
};
use a2a_kit_store_testing::store::fixtures::{at, due, hooked, positions, push, scope};

use super::limited;

#[tokio::test(start_paused = true)]
async fn idle_claim_expires_after_thirty_seconds() {
    let store = MemoryStore::new();
    store.insert(&scope("ann"), hooked("t", &["a"])).await.unwrap();
    for _ in 0..2 {
        push(&store, &scope("ann"), "t").await;
    }
    let first = due(&store, 1).await;
    tokio::time::advance(Duration::from_secs(29)).await;
    assert!(store.record_delivery(&first[0].key, DeliveryOutcome::Delivered(at(2))).await.unwrap());
    tokio::time::advance(Duration::from_secs(29)).await;
    let nothing = store.claim_deliveries(1).await.unwrap();
    assert!(nothing.deliveries.is_empty());
    assert_eq!(nothing.next, Some(Duration::from_secs(1)));
    tokio::time::advance(Duration::from_secs(1)).await;
    let second = due(&store, 1).await;
    assert_eq!(positions(&second[0].events), [3]);
    assert!(
        !store.record_delivery(&first[0].key, DeliveryOutcome::Delivered(at(3))).await.unwrap()
    );
}

#[tokio::test]
async fn oldest_pending_event_is_dead_lettered_at_the_limit() {
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
async fn delivered_events_are_removed() {
    let store = limited(MemoryLimits::default().with_max_pushes(3, 10));
    let ann = scope("ann");
    store.insert(&ann, hooked("t", &["a", "b"])).await.unwrap();
    for position in 2..20 {
        push(&store, &ann, "t").await;
        for push in due(&store, 10).await {
            store
                .record_delivery(&push.key, DeliveryOutcome::Delivered(at(position)))
                .await
                .unwrap();
        }
    }
    assert!(store.dead_letters(&DeadLetterQuery::newest(10)).await.unwrap().is_empty());
}
