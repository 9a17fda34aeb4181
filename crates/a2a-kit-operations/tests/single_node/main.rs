//! The store suite over a key-value store, restarts, and failing writes.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod key_value;

use std::{sync::Arc, time::Duration};

use a2a_core::{AgentCard, TaskState, v1::TaskPushNotificationConfig};
use a2a_kit_operations::{
    Agent as _, AgentExecutor, BoxError, Call, Engine, Recovery, RequestContext, Store,
    TaskUpdater,
    store::{
        Claim, DeadLetterQuery, DeliveryOutcome, LeaseStore as _, LeaseUpdate, MemoryLimits,
        PushStore as _, Replay, SingleNode, StoreError, Sweep, TaskStore as _,
    },
};
use a2a_kit_store_testing::store::fixtures::{
    at, change, chunk, commit, get, ids, insert, insert_held, list, new_task, positions, query,
    scope, task, transition,
};
use key_value::Pairs;

async fn empty() -> Arc<dyn Store> {
    Arc::new(open(&Pairs::default()).await)
}

a2a_kit_store_testing::store_suite!(empty);

async fn open(pairs: &Pairs) -> SingleNode<Pairs> {
    SingleNode::open(pairs.clone()).await.expect("the pairs are those of an earlier store")
}

async fn replay(store: &dyn Store, id: &str, after: u64) -> Option<Vec<u64>> {
    match store.replay(&scope("ann"), id, at(after)).await.unwrap().unwrap() {
        Replay::Events(events) => Some(positions(&events)),
        Replay::Trimmed => None,
    }
}

#[tokio::test]
async fn reopened_store_has_its_tasks_events_and_lists() {
    let (pairs, ann) = (Pairs::default(), scope("ann"));
    let store = open(&pairs).await;
    insert(&store, &ann, &task("chunks", "c", TaskState::Working, 5)).await;
    for version in 1..=3 {
        let events = vec![chunk(version + 1, "chunks", "ab")];
        commit(&store, &ann, "chunks", version, events, None).await.unwrap();
    }
    insert(&store, &ann, &task("ended", "d", TaskState::Working, 6)).await;
    change(&store, &ann, "ended", TaskState::Completed, 7).await;
    insert(&store, &scope("bob"), &task("of-bob", "c", TaskState::Working, 8)).await;
    let usage = store.usage("ann").await.unwrap();
    let before = [get(&store, &ann, "chunks").await, get(&store, &ann, "ended").await];
    for _ in 0..2 {
        let store = open(&pairs).await;
        for stored in &before {
            let again = get(&store, &ann, &stored.task.id).await;
            assert_eq!(again.task, stored.task);
            let numbers = |one: &a2a_kit_operations::store::StoredTask| {
                (one.version, one.epoch, one.node.clone(), one.last_event)
            };
            assert_eq!(numbers(&again), numbers(stored));
        }
        assert_eq!(replay(&store, "chunks", 1).await, Some(vec![2, 3, 4]));
        let page = list(&store, &ann, &query(10)).await;
        assert_eq!((ids(&page), page.total), (vec!["ended", "chunks"], 2));
        assert_eq!(store.usage("ann").await.unwrap().open_tasks, usage.open_tasks);
    }
    // Writes continue where the earlier process stopped.
    let store = open(&pairs).await;
    commit(&store, &ann, "chunks", 4, vec![chunk(5, "chunks", "c")], None).await.unwrap();
    assert_eq!(get(&open(&pairs).await, &ann, "chunks").await.task.text(), "abababc");
}

#[tokio::test]
async fn reopened_store_hands_out_interrupted_work_with_its_checkpoint() {
    let (pairs, ann) = (Pairs::default(), scope("ann"));
    let store = open(&pairs).await;
    insert_held(&store, &ann, "t", b"first").await;
    insert_held(&store, &ann, "released", b"work").await;
    store.release("released", 1).await.unwrap();
    store.acquire(&ann, "t").await.unwrap();
    let lease = LeaseUpdate::Checkpoint(bytes::Bytes::from_static(b"second"));
    let write = transition("t", 1, 2, vec![chunk(2, "t", "x")]).with_lease(lease);
    store.commit(&ann, write).await.unwrap();
    let node = store.node().to_owned();
    drop(store);
    let store = open(&pairs).await;
    assert_ne!(store.node(), node);
    let orphans = store.take_over(10).await.unwrap();
    let [orphan] = &orphans[..] else { panic!("{orphans:?}") };
    assert_eq!((&*orphan.stored.task.id, &orphan.scope), ("t", &ann));
    assert_eq!((&orphan.checkpoint[..], orphan.checkpoint_epoch), (&b"second"[..], 2));
    assert_eq!((orphan.stored.epoch, orphan.stored.version), (3, 2));
    assert_eq!(get(&store, &ann, "released").await.epoch, 1);
    assert!(store.take_over(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn reopened_store_has_its_webhooks_dead_letters_and_keys() {
    let (pairs, ann) = (Pairs::default(), scope("ann"));
    let store = open(&pairs).await;
    assert_eq!(store.claim_key(&ann, "key", 7, "t").await.unwrap(), Claim::New);
    store.claim_key(&ann, "released", 7, "t").await.unwrap();
    store.release_key(&ann, "released", "t").await.unwrap();
    let config = |id: &str| TaskPushNotificationConfig {
        task_id: "t".into(),
        id: id.into(),
        url: "https://example.com".into(),
        ..TaskPushNotificationConfig::default()
    };
    let new = new_task(&task("t", "c", TaskState::Working, 5));
    let new = new.with_key("key".to_owned()).with_pushes([at(1)]);
    let new = new.with_webhooks([config("a").into()]);
    store.insert(&ann, new).await.unwrap();
    let write = transition("t", 1, 1, vec![chunk(2, "t", "x"), chunk(3, "t", "y")]);
    store.commit(&ann, write.with_pushes([at(2), at(3)])).await.unwrap();
    let key = store.claim_deliveries(1).await.unwrap().deliveries[0].key.clone();
    store.record_delivery(&key, DeliveryOutcome::Delivered(at(1))).await.unwrap();
    let outcome = DeliveryOutcome::DeadLetter { event: at(2), error: "gone".into() };
    store.record_delivery(&key, outcome).await.unwrap();
    store.put_config(&ann, config("b").into()).await.unwrap();
    store.delete_config(&ann, "t", "b").await.unwrap();
    let letters = store.dead_letters(&DeadLetterQuery::default()).await.unwrap();
    drop(store);

    let store = open(&pairs).await;
    let known = Claim::Known { task_id: "t".into(), fingerprint: 7 };
    assert_eq!(store.claim_key(&ann, "key", 7, "u").await.unwrap(), known);
    assert_eq!(store.claim_key(&ann, "released", 7, "u").await.unwrap(), Claim::New);
    assert_eq!(store.configs(&ann, "t").await.unwrap(), [config("a").into()]);
    assert_eq!(store.dead_letters(&DeadLetterQuery::default()).await.unwrap(), letters);
    // The claim of the earlier process is void, and what it did not deliver is due.
    let due = store.claim_deliveries(10).await.unwrap().deliveries;
    assert_eq!(due.len(), 1, "{due:?}");
    assert_eq!(positions(&due[0].events), [3]);
}

#[tokio::test]
async fn removed_tasks_leave_no_pair_behind() {
    let (pairs, ann) = (Pairs::default(), scope("ann"));
    let limits = MemoryLimits::default().with_max_log(50, 1 << 20);
    let store = SingleNode::open_with_limits(pairs.clone(), limits.clone()).await.unwrap();
    insert(&store, &ann, &task("t", "c", TaskState::Working, 5)).await;
    for version in 1..=2_500 {
        let events = vec![chunk(version + 1, "t", "x")];
        commit(&store, &ann, "t", version, events, None).await.unwrap();
    }
    assert!(pairs.len() < 1_100, "trimmed events are deleted: {}", pairs.len());
    assert_eq!(replay(&store, "t", 2_400).await, None);
    drop(store);
    let store = SingleNode::open_with_limits(pairs.clone(), limits).await.unwrap();
    assert_eq!(get(&store, &ann, "t").await.task.text().len(), 2_500);
    assert_eq!(replay(&store, "t", 2_400).await, None);
    assert_eq!(replay(&store, "t", 2_499).await, Some(vec![2_500, 2_501]));
    change(&store, &ann, "t", TaskState::Completed, 7).await;
    // The task ended decades ago, by the time in its status.
    let store = open(&pairs).await;
    let sweep = Sweep::default().with_tasks(Duration::from_secs(3600));
    assert_eq!(store.sweep(sweep).await.unwrap().len(), 1);
    assert_eq!(pairs.len(), 0);
}

#[tokio::test]
async fn nothing_is_visible_before_it_is_written() {
    let (pairs, ann) = (Pairs::default(), scope("ann"));
    let store = open(&pairs).await;
    insert(&store, &ann, &task("t", "c", TaskState::Working, 5)).await;
    pairs.fail(true);
    let events = || vec![chunk(2, "t", "x")];
    let failed = commit(&store, &ann, "t", 1, events(), None).await;
    assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
    assert!(store.get(&ann, "t").await.is_err());
    assert!(store.probe().await.is_err());
    let refused = store.insert(&ann, new_task(&task("u", "c", TaskState::Working, 5))).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert!(get(&open(&pairs).await, &ann, "t").await.task.text().is_empty());
    pairs.fail(false);
    // A retry finds that the write was applied.
    let again = commit(&store, &ann, "t", 1, events(), None).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
    assert_eq!(get(&store, &ann, "t").await.version, 2);
    let store = open(&pairs).await;
    assert_eq!(get(&store, &ann, "t").await.task.text(), "x");
    assert!(store.get(&ann, "u").await.unwrap().is_none(), "no change was added");
    store.probe().await.unwrap();
}

#[tokio::test]
async fn foreign_pairs_are_rejected() {
    let pairs = Pairs::default();
    pairs.put("session/abc", "{}");
    let refused = SingleNode::open(pairs).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))));
}

/// Waits forever in the first run, and completes in the next.
struct Interrupted(Recovery);

impl AgentExecutor for Interrupted {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        if !context.is_rerun() {
            std::future::pending::<()>().await;
        }
        updates.complete("done").await?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        self.0
    }
}

#[tokio::test]
async fn engine_recovers_interrupted_tasks_at_the_next_start() {
    for (recovery, expected) in
        [(Recovery::Fail, TaskState::Failed), (Recovery::Rerun, TaskState::Completed)]
    {
        let pairs = Pairs::default();
        let start = async |pairs: &Pairs| {
            let card = AgentCard::new("Slow", "Takes its time");
            Engine::builder(card, Interrupted(recovery)).store(open(pairs).await).build()
        };
        let engine = start(&pairs).await;
        let mut request = a2a_core::v1::SendMessageRequest {
            message: Some(a2a_core::Message::user("work")),
            ..Default::default()
        };
        request.configuration.get_or_insert_default().return_immediately = true;
        let sent = engine.send_message(Call::new(request)).await.unwrap().response;
        let Some(a2a_core::v1::send_message_response::Payload::Task(task)) = sent.payload else {
            panic!("{sent:?}")
        };
        // What a crash leaves behind: the pairs as they are now.
        let pairs = pairs.copy();
        drop(engine);
        let engine = start(&pairs).await;
        let request = a2a_core::v1::GetTaskRequest { id: task.id, ..Default::default() };
        let state =
            async || engine.get_task(Call::new(request.clone())).await.unwrap().response.state();
        while !state().await.is_terminal() {
            tokio::task::yield_now().await;
        }
        assert_eq!(state().await, expected, "{recovery:?}");
    }
}
