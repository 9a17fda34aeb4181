//! Dead letters of webhook deliveries.

use std::{sync::Arc, time::Duration};

use a2a_kit_operations::{
    Store,
    store::{DeadLetterQuery, DeliveryOutcome, Redelivery},
};

use super::{
    fixtures::{at, due, positions, scope},
    outbox::{claimed, record, until_due},
};

/// An undeliverable event is stored with the number of its attempts, and the claim continues with
/// the next event.
pub async fn undeliverable_event_becomes_a_dead_letter(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 3).await;
    let dead = |event, error: &str| DeliveryOutcome::DeadLetter { event, error: error.into() };
    record(&*store, &key, DeliveryOutcome::Retry { event: at(2), after: Duration::ZERO }).await;
    let key = until_due(&*store).await.key;
    assert!(record(&*store, &key, dead(at(2), "gone")).await);
    assert!(record(&*store, &key, dead(at(3), "refused")).await);
    assert!(due(&*store, 10).await.is_empty(), "the claim continues");
    let letters =
        store.dead_letters(&DeadLetterQuery::newest(10)).await.expect("the store succeeds");
    let told: Vec<_> = letters
        .iter()
        .map(|letter| (letter.event, letter.attempts, letter.error.as_str()))
        .collect();
    assert_eq!(told, [(at(3), 1, "refused"), (at(2), 2, "gone")], "newest first");
    for letter in &letters {
        assert_eq!(letter.scope, scope);
        assert_eq!((&*letter.task_id, &*letter.config_id), ("t", "a"));
        assert_eq!(letter.url, "https://example.com/a");
        assert!(letter.time.as_millis() > 1_700_000_000_000, "{letter:?}");
    }
    let newest = store.dead_letters(&DeadLetterQuery::newest(1)).await.expect("the store succeeds");
    assert_eq!(newest, letters[..1]);
    record(&*store, &key, DeliveryOutcome::Released).await;
    assert_eq!(positions(&until_due(&*store).await.events), [4]);
}

/// A redelivered dead letter is delivered again with all attempts, before newer events, and is no
/// longer a dead letter.
pub async fn dead_letters_are_redelivered_in_order(store: Arc<dyn Store>) {
    let key = claimed(&*store, "t", 4).await;
    let dead = |event| DeliveryOutcome::DeadLetter { event, error: "gone".into() };
    record(&*store, &key, DeliveryOutcome::Delivered(at(2))).await;
    record(&*store, &key, dead(at(3))).await;
    record(&*store, &key, dead(at(4))).await;
    // A second webhook of the task, whose letters stay.
    let other = claimed(&*store, "u", 1).await;
    record(&*store, &other, dead(at(2))).await;
    let query = DeadLetterQuery::default().with_task_id("t".to_owned());
    let done = store.redeliver(&query).await.expect("the store succeeds");
    assert_eq!(done, Redelivery::new(2, 0));
    assert!(!record(&*store, &key, DeliveryOutcome::Delivered(at(5))).await, "the claim is void");
    let push = until_due(&*store).await;
    assert_eq!((&*push.key.task_id, push.attempts), ("t", 0));
    assert_eq!(positions(&push.events), [3, 4, 5]);
    let letters =
        store.dead_letters(&DeadLetterQuery::default()).await.expect("the store succeeds");
    let left: Vec<_> = letters.iter().map(|letter| letter.task_id.as_str()).collect();
    assert_eq!(left, ["u"]);
    // It can become a dead letter again.
    assert!(record(&*store, &push.key, dead(at(3))).await);
    let again = store.dead_letters(&query).await.expect("the store succeeds");
    assert_eq!(again.len(), 1, "{again:?}");
}

/// A dead letter of a deleted webhook cannot be redelivered, and stays.
pub async fn dead_letters_of_deleted_webhooks_are_not_redelivered(store: Arc<dyn Store>) {
    let key = claimed(&*store, "t", 1).await;
    record(&*store, &key, DeliveryOutcome::DeadLetter { event: at(2), error: "gone".into() }).await;
    store.delete_config(&scope("ann"), "t", "a").await.expect("the store succeeds");
    let all = DeadLetterQuery::default();
    let done = store.redeliver(&all).await.expect("the store succeeds");
    assert_eq!(done, Redelivery::new(0, 1));
    assert_eq!(store.dead_letters(&all).await.expect("the store succeeds").len(), 1);
    assert!(due(&*store, 10).await.is_empty());
}

/// Filters apply to listing and purging, and purged letters are deleted.
pub async fn dead_letters_are_purged_by_filter(store: Arc<dyn Store>) {
    for task in ["t", "u"] {
        let key = claimed(&*store, task, 2).await;
        for event in [2, 3] {
            let error = "gone".into();
            record(&*store, &key, DeliveryOutcome::DeadLetter { event: at(event), error }).await;
        }
    }
    let count = async |query: &DeadLetterQuery| {
        store.dead_letters(query).await.expect("the store succeeds").len()
    };
    let filtered = |filter: fn(&mut DeadLetterQuery)| {
        let mut query = DeadLetterQuery::default();
        filter(&mut query);
        query
    };
    let past = |query: &mut DeadLetterQuery| {
        query.before = Some(a2a_core::well_known::Timestamp::from_millis(1_000));
    };
    assert_eq!(count(&filtered(|query| query.task_id = Some("t".into()))).await, 2);
    assert_eq!(count(&filtered(|query| query.config_id = Some("a".into()))).await, 4);
    assert_eq!(count(&filtered(|query| query.config_id = Some("b".into()))).await, 0);
    assert_eq!(count(&filtered(|query| query.owner = Some("ann".into()))).await, 4);
    assert_eq!(count(&filtered(|query| query.owner = Some("bob".into()))).await, 0);
    assert_eq!(count(&filtered(|query| query.tenant = Some("acme".into()))).await, 0);
    assert_eq!(count(&filtered(past)).await, 0);
    assert_eq!(count(&DeadLetterQuery::newest(3)).await, 3);
    let purge = async |query: &DeadLetterQuery| {
        store.purge_dead_letters(query).await.expect("the store succeeds")
    };
    assert_eq!(purge(&filtered(past)).await, 0);
    assert_eq!(purge(&filtered(|query| query.task_id = Some("t".into()))).await, 2);
    let left = store.dead_letters(&DeadLetterQuery::default()).await.expect("the store succeeds");
    let left: Vec<_> = left.iter().map(|letter| (&*letter.task_id, letter.event)).collect();
    assert_eq!(left, [("u", at(3)), ("u", at(2))]);
    assert_eq!(purge(&DeadLetterQuery::newest(1)).await, 1);
    assert_eq!(purge(&DeadLetterQuery::default()).await, 1);
    assert_eq!(purge(&DeadLetterQuery::default()).await, 0);
}
