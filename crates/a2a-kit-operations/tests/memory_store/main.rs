//! The store suite, and the limits of the memory store.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod model;
mod node;
mod push;

use std::{sync::Arc, time::Duration};

use a2a_core::{TaskState, v1::TaskPushNotificationConfig};
use a2a_kit_operations::{
    EventId, MemoryStore, Store,
    store::{Claim, MemoryLimits, PushStore as _, Replay, StoreError, TaskStore as _},
};
use a2a_kit_store_testing::{
    MemoryNode,
    store::fixtures::{
        at, change, chunk, commit, get, ids, insert, list, new_task, positions, query, scope, task,
        with_events,
    },
};

async fn empty() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

a2a_kit_store_testing::store_suite!(empty);

async fn two_nodes() -> (Arc<dyn Store>, Arc<dyn Store>) {
    let one = MemoryNode::with_lease(Duration::from_millis(300));
    let two = one.join("two");
    (Arc::new(one), Arc::new(two))
}

a2a_kit_store_testing::cluster_suite!(two_nodes);

fn limited(limits: MemoryLimits) -> MemoryStore {
    MemoryStore::with_limits(limits)
}

async fn replay(store: &MemoryStore, owner: &str, id: &str, after: u64) -> Option<Vec<u64>> {
    match store.replay(&scope(owner), id, at(after)).await.unwrap().unwrap() {
        Replay::Events(events) => Some(positions(&events)),
        Replay::Trimmed => None,
    }
}

#[tokio::test]
async fn new_task_evicts_the_oldest_ended_task() {
    let store = limited(MemoryLimits::default().with_max_tasks(3));
    let (ann, bob) = (scope("ann"), scope("bob"));
    insert(&store, &ann, &task("running", "c", TaskState::Working, 1)).await;
    insert(&store, &ann, &task("first", "c", TaskState::Working, 2)).await;
    insert(&store, &bob, &task("second", "d", TaskState::Working, 3)).await;
    change(&store, &ann, "first", TaskState::Completed, 4).await;
    change(&store, &bob, "second", TaskState::Failed, 5).await;
    insert(&store, &ann, &task("new", "c", TaskState::Working, 6)).await;
    assert!(store.get(&ann, "first").await.unwrap().is_none());
    assert!(store.replay(&ann, "first", EventId::FIRST).await.unwrap().is_none());
    for context_id in [None, Some("c".to_owned())] {
        let page = list(&store, &ann, &query(10).with_context_id(context_id)).await;
        assert_eq!((ids(&page), page.total), (vec!["new", "running"], 2));
    }
    insert(&store, &ann, &task("newer", "c", TaskState::Working, 7)).await;
    assert!(store.get(&bob, "second").await.unwrap().is_none());
    assert_eq!(list(&store, &bob, &query(10)).await.total, 0);
    insert_is_refused(&store, "newest").await;
}

async fn insert_is_refused(store: &MemoryStore, id: &str) {
    let task = task(id, "c", TaskState::Working, 9);
    let refused = store.insert(&scope("ann"), new_task(&task)).await;
    assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}");
}

#[tokio::test]
async fn store_of_unfinished_tasks_is_full() {
    let store = limited(MemoryLimits::default().with_max_tasks(2));
    let ann = scope("ann");
    for id in ["a", "b"] {
        insert(&store, &ann, &task(id, "c", TaskState::InputRequired, 1)).await;
    }
    insert_is_refused(&store, "c").await;
    let again = task("a", "c", TaskState::Working, 1);
    let refused = store.insert(&ann, new_task(&again)).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "an id that is taken comes first");
    change(&store, &ann, "b", TaskState::Canceled, 2).await;
    insert(&store, &ann, &task("c", "c", TaskState::Working, 3)).await;
    assert_eq!(ids(&list(&store, &ann, &query(10)).await), ["c", "a"]);
}

#[tokio::test]
async fn webhooks_are_removed_with_their_task() {
    let store = limited(MemoryLimits::default().with_max_tasks(1));
    let config = TaskPushNotificationConfig { task_id: "t".into(), ..Default::default() };
    for owner in ["ann", "bob", "cid"] {
        let scope = scope(owner);
        insert(&store, &scope, &task(owner, "c", TaskState::Completed, 1)).await;
        let config = TaskPushNotificationConfig { task_id: owner.into(), ..config.clone() };
        store.put_config(&scope, config.clone().into()).await.unwrap();
        store.put_config(&scope, config.into()).await.unwrap();
    }
    for (owner, there) in [("ann", false), ("bob", false), ("cid", true)] {
        let configs = store.configs(&scope(owner), owner).await.unwrap();
        assert_eq!(configs.len(), usize::from(there), "{owner}");
    }
}

#[tokio::test]
async fn log_is_trimmed_by_event_count() {
    let store = limited(MemoryLimits::default().with_max_log(3, usize::MAX));
    let ann = scope("ann");
    insert(&store, &ann, &task("t", "c", TaskState::Working, 1)).await;
    for version in 1..=5 {
        let events = vec![chunk(version + 1, "t", "x")];
        commit(&store, &ann, "t", version, events, None).await.unwrap();
    }
    assert_eq!(replay(&store, "ann", "t", 2).await, None);
    assert_eq!(replay(&store, "ann", "t", 3).await, Some(vec![4, 5, 6]));
    assert_eq!(replay(&store, "ann", "t", 6).await, Some(vec![]));
    let stored = get(&store, &ann, "t").await;
    assert_eq!((stored.task.text().as_str(), stored.last_event), ("xxxxx", at(6)));
}

#[tokio::test]
async fn log_is_trimmed_by_bytes() {
    let store = limited(MemoryLimits::default().with_max_log(usize::MAX, 25_000));
    let ann = scope("ann");
    insert(&store, &ann, &task("t", "c", TaskState::Working, 1)).await;
    let text = "x".repeat(10_000);
    for version in 1..=4 {
        let events = vec![chunk(version + 1, "t", &text)];
        commit(&store, &ann, "t", version, events, None).await.unwrap();
    }
    assert_eq!(replay(&store, "ann", "t", 2).await, None);
    assert_eq!(replay(&store, "ann", "t", 3).await, Some(vec![4, 5]));
    assert_eq!(get(&store, &ann, "t").await.task.text().len(), 40_000);
    let events = vec![chunk(6, "t", &"y".repeat(50_000))];
    commit(&store, &ann, "t", 5, events, None).await.unwrap();
    assert_eq!(replay(&store, "ann", "t", 5).await, None, "an event beyond all bounds goes too");
    assert_eq!(replay(&store, "ann", "t", 6).await, Some(vec![]));
    assert_eq!(get(&store, &ann, "t").await.task.text().len(), 90_000);
}

#[tokio::test]
async fn logs_of_ended_tasks_are_evicted_oldest_first() {
    for limits in [
        MemoryLimits::default().with_max_ended(4, usize::MAX),
        MemoryLimits::default().with_max_ended(usize::MAX, 4 * 50),
    ] {
        let store = limited(limits);
        let ann = scope("ann");
        for id in ["a", "b", "c", "running"] {
            insert(&store, &ann, &task(id, "c", TaskState::Working, 1)).await;
        }
        change(&store, &ann, "running", TaskState::Working, 2).await;
        for id in ["b", "a", "c"] {
            change(&store, &ann, id, TaskState::Completed, 3).await;
        }
        assert_eq!(replay(&store, "ann", "b", 1).await, None);
        assert_eq!(replay(&store, "ann", "b", 2).await, Some(vec![]));
        for id in ["a", "c", "running"] {
            assert_eq!(replay(&store, "ann", id, 1).await, Some(vec![2]), "{id}");
        }
        assert_eq!(get(&store, &ann, "b").await.task.state(), TaskState::Completed);
    }
}

#[tokio::test]
async fn evicted_task_frees_its_log_budget() {
    let limits = MemoryLimits::default().with_max_tasks(2).with_max_ended(2, usize::MAX);
    let store = limited(limits);
    for id in ["a", "b", "c", "d"] {
        insert(&store, &scope("ann"), &task(id, "c", TaskState::Completed, 1)).await;
    }
    for id in ["c", "d"] {
        let replay = store.replay(&scope("ann"), id, EventId::FIRST).await.unwrap();
        assert!(matches!(replay, Some(Replay::Events(_))), "{id}");
    }
}

#[tokio::test]
async fn oldest_idempotency_key_is_evicted_at_the_limit() {
    let hour = Duration::from_secs(3_600);
    let store = limited(MemoryLimits::default().with_max_idempotency(2, hour));
    let ann = scope("ann");
    for key in ["a", "b", "c"] {
        assert_eq!(store.claim_key(&ann, key, 1, "t").await.unwrap(), Claim::New);
    }
    assert_ne!(store.claim_key(&ann, "b", 1, "t").await.unwrap(), Claim::New);
    assert_eq!(store.claim_key(&ann, "a", 1, "t").await.unwrap(), Claim::New);
}

#[tokio::test(start_paused = true)]
async fn idempotency_key_expires() {
    let store = limited(MemoryLimits::default().with_max_idempotency(9, Duration::from_secs(60)));
    let ann = scope("ann");
    assert_eq!(store.claim_key(&ann, "key", 1, "t").await.unwrap(), Claim::New);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_ne!(store.claim_key(&ann, "key", 1, "t").await.unwrap(), Claim::New);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(store.claim_key(&ann, "key", 1, "t").await.unwrap(), Claim::New);
}

#[tokio::test]
async fn webhooks_are_limited_per_scope() {
    let store = limited(MemoryLimits::default().with_max_push_configs(2));
    let put = async |owner: &str, id: &str| {
        let config = TaskPushNotificationConfig {
            task_id: owner.into(),
            id: id.into(),
            ..Default::default()
        };
        store.put_config(&scope(owner), config.into()).await
    };
    for owner in ["ann", "bob"] {
        insert(&store, &scope(owner), &task(owner, "c", TaskState::Working, 1)).await;
    }
    for (owner, id) in [("ann", "a"), ("ann", "b"), ("ann", "a"), ("bob", "a")] {
        put(owner, id).await.unwrap();
    }
    assert!(matches!(put("ann", "c").await, Err(StoreError::Full)));
    store.delete_config(&scope("ann"), "ann", "a").await.unwrap();
    put("ann", "c").await.unwrap();
}

#[tokio::test]
async fn count_since_a_time_stops_at_ten_thousand() {
    let store = MemoryStore::new();
    let ann = scope("ann");
    for number in 0..10_005 {
        let task = task(&format!("{number}"), "c", TaskState::Working, number);
        store.insert(&ann, with_events(&task, Vec::new())).await.unwrap();
    }
    let since = |millis| query(1).with_since(a2a_core::well_known::Timestamp::from_millis(millis));
    assert_eq!(list(&store, &ann, &since(0)).await.total, 10_000);
    assert_eq!(list(&store, &ann, &since(6)).await.total, 9_999);
    assert_eq!(list(&store, &ann, &query(1)).await.total, 10_005);
}
