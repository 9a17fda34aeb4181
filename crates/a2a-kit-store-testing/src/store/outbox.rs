//! Webhook deliveries.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::fixtures::{
    at, chunk, due, get, hooked, insert, positions, push, scope, task, transition, webhook,
};
use a2a_core::TaskState;
use a2a_kit_operations::{
    EventId, Store,
    store::{
        Backlog, ClaimedDeliveries, DeadLetterQuery, DeliveryKey, DeliveryOutcome, StoreError,
    },
};

const HOUR: Duration = Duration::from_secs(3_600);

/// A webhook receives the pushed events that are stored after it.
pub async fn webhook_receives_pushed_events_stored_after_it(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    assert!(!push(&*store, &scope, "t").await.has_pushes, "there is no webhook yet");
    let webhook = webhook("t", "a");
    store.put_config(&scope, webhook.clone()).await.expect("the store succeeds");
    let nothing = store.claim_deliveries(10).await.expect("the store succeeds");
    assert!(nothing.deliveries.is_empty() && nothing.next.is_none(), "{nothing:?}");
    assert_eq!(store.backlog().await.expect("the store succeeds"), Backlog::default());
    let silent = transition("t", 2, 1, vec![chunk(3, "t", "x")]);
    assert!(!store.commit(&scope, silent).await.expect("it is current").has_pushes);
    assert!(due(&*store, 10).await.is_empty());
    let events = (4..=6).map(|position| chunk(position, "t", "y")).collect();
    let write = transition("t", 3, 1, events).with_pushes([at(4), at(6)]);
    assert!(store.commit(&scope, write).await.expect("it is current").has_pushes);
    assert!(push(&*store, &scope, "t").await.has_pushes);
    let due = due(&*store, 10).await;
    let [push] = &due[..] else { panic!("{due:?}") };
    assert_eq!((&*push.key.task_id, &*push.key.config_id), ("t", "a"));
    assert_eq!((&push.scope, &push.webhook, push.attempts), (&scope, &webhook, 0));
    assert_eq!(positions(&push.events), [4, 6, 7]);
    assert_eq!(push.events[0].response(), chunk(4, "t", "y").response());
    assert_eq!(push.task, get(&*store, &scope, "t").await.task);
}

/// A webhook of a new task receives the first events too.
pub async fn webhooks_of_a_new_task_receive_its_first_events(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let quiet = store.insert(&scope, hooked("quiet", &["a"])).await.expect("the task is new");
    assert!(!quiet.has_pushes);
    let mut new = hooked("t", &["a", "b"]);
    new.pushes = vec![at(1)];
    assert!(store.insert(&scope, new).await.expect("the task is new").has_pushes);
    let webhooks = store.configs(&scope, "t").await.expect("the store succeeds");
    assert_eq!(webhooks, [webhook("t", "a"), webhook("t", "b")]);
    let due = due(&*store, 10).await;
    let mut got: Vec<_> =
        due.iter().map(|push| (&*push.key.config_id, positions(&push.events))).collect();
    got.sort();
    assert_eq!(got, [("a", vec![1]), ("b", vec![1])]);
    assert!(due.iter().all(|push| &*push.key.task_id == "t"));
}

/// A rejected commit enqueues no deliveries.
pub async fn rejected_commit_enqueues_no_deliveries(store: Arc<dyn Store>) {
    let scope = scope("ann");
    store.insert(&scope, hooked("t", &["a"])).await.expect("the task is new");
    for (version, epoch) in [(2, 1), (1, 2)] {
        let events = vec![chunk(2, "t", "x")];
        let write = transition("t", version, epoch, events).with_pushes(vec![at(2)]);
        let refused = store.commit(&scope, write).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    }
    assert!(due(&*store, 10).await.is_empty());
}

/// A claimed webhook cannot be claimed again until it is released; outcomes of the old claim are
/// then rejected.
pub async fn webhook_has_at_most_one_claim(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let first = claimed(&*store, "t", 1).await;
    assert!(due(&*store, 10).await.is_empty());
    push(&*store, &scope, "t").await;
    assert!(due(&*store, 10).await.is_empty(), "new events are pending too");
    assert!(!record(&*store, &first, DeliveryOutcome::Released).await);
    let again = due(&*store, 10).await;
    let [push] = &again[..] else { panic!("{again:?}") };
    assert_eq!((positions(&push.events), push.attempts), (vec![2, 3], 0));
    assert_ne!(push.key.claim, first.claim);
    for outcome in [
        DeliveryOutcome::Delivered(at(2)),
        DeliveryOutcome::Retry { event: at(2), after: Duration::ZERO },
        DeliveryOutcome::DeadLetter { event: at(2), error: "late".into() },
        DeliveryOutcome::Released,
    ] {
        assert!(!record(&*store, &first, outcome).await, "the claim is void");
    }
    assert!(due(&*store, 10).await.is_empty(), "the new claim still holds");
    assert!(
        store
            .dead_letters(&DeadLetterQuery::newest(10))
            .await
            .expect("the store succeeds")
            .is_empty()
    );
    assert!(record(&*store, &push.key, DeliveryOutcome::Delivered(at(2))).await);
}

/// Concurrent workers claim different webhooks.
pub async fn concurrent_workers_claim_different_webhooks(store: Arc<dyn Store>) {
    const TASKS: usize = 12;
    for number in 0..TASKS {
        let mut new = hooked(&format!("t{number}"), &["a", "b"]);
        new.pushes = vec![at(1)];
        store.insert(&scope("ann"), new).await.expect("the task is new");
    }
    let backlog = store.backlog().await.expect("the store succeeds");
    assert_eq!(backlog.webhooks, 2 * TASKS as u64);
    let workers = (0..6).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let pushes = due(&*store, 3).await;
                assert!(pushes.len() <= 3);
                if pushes.is_empty() {
                    return mine;
                }
                mine.extend(pushes.into_iter().map(|push| (push.key.task_id, push.key.config_id)));
            }
        })
    });
    let mut all = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        all.extend(worker.await.expect("no worker panics"));
    }
    assert_eq!(all.len(), 2 * TASKS);
    assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), 2 * TASKS);
}

/// A claim continues from event to event, and ends with the last; later events are due at once.
pub async fn claim_ends_when_the_outbox_is_empty(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 2).await;
    assert!(record(&*store, &key, DeliveryOutcome::Delivered(at(2))).await);
    assert!(due(&*store, 10).await.is_empty());
    record(&*store, &key, DeliveryOutcome::Delivered(at(3))).await;
    let nothing = store.claim_deliveries(10).await.expect("the store succeeds");
    assert!(nothing.deliveries.is_empty() && nothing.next.is_none(), "{nothing:?}");
    assert!(push(&*store, &scope, "t").await.has_pushes);
    let due = due(&*store, 10).await;
    let [push] = &due[..] else { panic!("{due:?}") };
    assert_eq!((positions(&push.events), push.attempts), (vec![4], 0));
    assert!(!record(&*store, &key, DeliveryOutcome::Released).await, "that claim has ended");
}

/// Events stored during a claim are delivered by the next one.
pub async fn events_stored_during_a_claim_are_delivered(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 1).await;
    push(&*store, &scope, "t").await;
    assert!(
        record(&*store, &key, DeliveryOutcome::Delivered(at(2))).await,
        "another event is pending"
    );
    assert!(due(&*store, 10).await.is_empty(), "the claim continues");
    assert!(!record(&*store, &key, DeliveryOutcome::Released).await);
    let due = due(&*store, 10).await;
    assert_eq!(due.iter().map(|push| positions(&push.events)).collect::<Vec<_>>(), [vec![3]]);
}

/// An event to be retried delays those after it, for the given time.
pub async fn retry_waits_for_its_delay(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 1).await;
    assert!(!record(&*store, &key, DeliveryOutcome::Retry { event: at(2), after: HOUR }).await);
    push(&*store, &scope, "t").await;
    let later = store.claim_deliveries(10).await.expect("the store succeeds");
    assert!(later.deliveries.is_empty(), "{later:?}");
    let next = later.next.expect("an event is pending");
    assert!(next <= HOUR && next > HOUR / 2, "{next:?}");
    let other = claimed(&*store, "other", 1).await;
    let after = Duration::from_millis(50);
    assert!(!record(&*store, &other, DeliveryOutcome::Retry { event: at(2), after }).await);
    let soon = store.claim_deliveries(10).await.expect("the store succeeds");
    assert!(soon.next.is_some_and(|next| next <= after), "{soon:?}");
}

/// Attempts are counted per event.
pub async fn attempts_are_counted_per_event(store: Arc<dyn Store>) {
    let mut key = claimed(&*store, "t", 2).await;
    for attempts in 1..=3 {
        let after = Duration::from_millis(attempts.into());
        record(&*store, &key, DeliveryOutcome::Retry { event: at(2), after }).await;
        let push = until_due(&*store).await;
        assert_eq!((positions(&push.events), push.attempts), (vec![2, 3], attempts));
        key = push.key;
    }
    assert!(record(&*store, &key, DeliveryOutcome::Delivered(at(2))).await);
    record(&*store, &key, DeliveryOutcome::Released).await;
    let push = until_due(&*store).await;
    assert_eq!((positions(&push.events), push.attempts), (vec![3], 0));
}

/// A postponed webhook is due after a delay, and no attempt is counted.
pub async fn postponed_webhook_is_due_later(store: Arc<dyn Store>) {
    let key = claimed(&*store, "t", 1).await;
    assert!(!record(&*store, &key, DeliveryOutcome::Postponed { after: HOUR }).await);
    let later = store.claim_deliveries(10).await.expect("the store succeeds");
    assert!(later.deliveries.is_empty());
    assert!(later.next.is_some_and(|next| next > HOUR / 2 && next <= HOUR), "{later:?}");
    let key = claimed(&*store, "u", 1).await;
    record(&*store, &key, DeliveryOutcome::Postponed { after: Duration::from_millis(5) }).await;
    let push = until_due(&*store).await;
    assert_eq!((&*push.key.task_id, push.attempts), ("u", 0));
    assert_eq!(positions(&push.events), [2]);
}

/// A deleted webhook receives nothing more, even if it is claimed, and one with the same id starts
/// anew.
pub async fn deleted_webhook_receives_nothing(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 2).await;
    store.delete_config(&scope, "t", "a").await.expect("the store succeeds");
    assert!(!record(&*store, &key, DeliveryOutcome::Delivered(at(2))).await);
    assert!(!push(&*store, &scope, "t").await.has_pushes);
    let nothing = store.claim_deliveries(10).await.expect("the store succeeds");
    assert!(nothing.deliveries.is_empty() && nothing.next.is_none(), "{nothing:?}");
    store.put_config(&scope, webhook("t", "a")).await.expect("the store succeeds");
    assert!(due(&*store, 10).await.is_empty(), "no event was stored since");
    push(&*store, &scope, "t").await;
    let dead = DeliveryOutcome::DeadLetter { event: at(2), error: "late".into() };
    assert!(!record(&*store, &key, dead).await, "the claim was on the deleted webhook");
    assert_eq!(positions(&until_due(&*store).await.events), [5]);
}

/// A replaced webhook keeps its cursor.
pub async fn replaced_webhook_keeps_its_cursor(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 3).await;
    assert!(record(&*store, &key, DeliveryOutcome::Delivered(at(2))).await);
    record(&*store, &key, DeliveryOutcome::Released).await;
    let mut other = webhook("t", "a");
    other.config.url = "https://example.com/other".into();
    other.config.token = "other".into();
    store.put_config(&scope, other.clone()).await.expect("the store succeeds");
    let push = until_due(&*store).await;
    assert_eq!((positions(&push.events), push.webhook), (vec![3, 4], other));
}

/// The webhooks that have waited longest are claimed first.
pub async fn longest_waiting_webhooks_are_claimed_first(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for id in ["a", "b", "c"] {
        store.insert(&scope, hooked(id, &["a"])).await.expect("the task is new");
    }
    for id in ["b", "c", "a", "b"] {
        push(&*store, &scope, id).await;
        // So that the times differ in milliseconds.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    assert!(due(&*store, 0).await.is_empty());
    for expected in [&["b", "c"][..], &["a"], &[]] {
        let due = due(&*store, 2).await;
        let mut ids: Vec<_> = due.iter().map(|push| &*push.key.task_id).collect();
        // Webhooks claimed in one call are in any order.
        ids.sort_by_key(|id| expected.iter().position(|expected| expected == id));
        assert_eq!(ids, expected);
    }
}

/// Webhooks of a task progress independently.
pub async fn webhooks_of_a_task_are_independent(store: Arc<dyn Store>) {
    let scope = scope("ann");
    store.insert(&scope, hooked("t", &["a", "b"])).await.expect("the task is new");
    push(&*store, &scope, "t").await;
    for push in due(&*store, 10).await {
        let outcome = match &*push.key.config_id {
            "a" => DeliveryOutcome::Retry { event: at(2), after: HOUR },
            _ => DeliveryOutcome::Delivered(at(2)),
        };
        record(&*store, &push.key, outcome).await;
    }
    push(&*store, &scope, "t").await;
    let due = due(&*store, 10).await;
    let [push] = &due[..] else { panic!("{due:?}") };
    assert_eq!((&*push.key.config_id, positions(&push.events)), ("b", vec![3]));
}

/// However many events are pending, each is delivered once and in order if none fails.
pub async fn long_backlog_is_delivered_in_order(store: Arc<dyn Store>) {
    const EVENTS: u64 = 200;
    let scope = scope("ann");
    store.insert(&scope, hooked("t", &["a"])).await.expect("the task is new");
    let events = (2..2 + EVENTS).map(|position| chunk(position, "t", "x")).collect();
    let pushes: Vec<_> = (2..2 + EVENTS).map(at).collect();
    let write = transition("t", 1, 1, events).with_pushes(pushes);
    store.commit(&scope, write).await.expect("it is current");
    let mut delivered = Vec::new();
    loop {
        let due = due(&*store, 10).await;
        let Some(push) = due.into_iter().next() else { break };
        assert!(!push.events.is_empty());
        for event in push.events.iter().filter_map(a2a_kit_operations::Event::id) {
            record(&*store, &push.key, DeliveryOutcome::Delivered(event)).await;
            delivered.push(event);
        }
        record(&*store, &push.key, DeliveryOutcome::Released).await;
    }
    assert_eq!(delivered, (2..2 + EVENTS).map(at).collect::<Vec<EventId>>());
}

/// Creates a task with a webhook and a number of pending events, from position 2, and claims it.
pub(super) async fn claimed(store: &dyn Store, task_id: &str, events: u64) -> DeliveryKey {
    let scope = scope("ann");
    store.insert(&scope, hooked(task_id, &["a"])).await.expect("the task is new");
    for _ in 0..events {
        push(store, &scope, task_id).await;
    }
    let due = due(store, 10).await;
    let [push] = &due[..] else { panic!("{due:?}") };
    assert_eq!(positions(&push.events), (2..2 + events).collect::<Vec<_>>());
    push.key.clone()
}

pub(super) async fn record(store: &dyn Store, key: &DeliveryKey, outcome: DeliveryOutcome) -> bool {
    store.record_delivery(key, outcome).await.expect("the store succeeds")
}

/// Claims the next webhook when it is due.
pub(super) async fn until_due(store: &dyn Store) -> a2a_kit_operations::store::ClaimedDelivery {
    let claim = async {
        loop {
            let ClaimedDeliveries { deliveries, next } =
                store.claim_deliveries(1).await.expect("the store succeeds");
            match deliveries.into_iter().next() {
                Some(push) => return push,
                None => tokio::time::sleep(next.expect("an event is pending")).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), claim).await.expect("due soon")
}
