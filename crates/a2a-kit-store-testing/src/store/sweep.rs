//! Retention.

use std::{sync::Arc, time::Duration};

use a2a_core::TaskState;

use super::fixtures::{
    at, change, get, hooked, ids, insert, insert_held, list, query, scope, task, webhook,
};
use a2a_kit_operations::{
    Store,
    store::{Claim, DeadLetterQuery, DeliveryOutcome, Sweep},
};

const HOUR: Duration = Duration::from_secs(3_600);

/// The ids of no tasks.
const NONE: Vec<Arc<str>> = Vec::new();

/// A sweep removes an ended task completely, with its events, webhooks and pending deliveries, and
/// frees its id.
//
pub async fn sweep_removes_ended_tasks_completely(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let mut new = hooked("t", &["a"]);
    new.pushes = vec![at(1)];
    store.insert(&scope, new).await.expect("the task is new");
    insert(&*store, &scope, &task("failed", "d", TaskState::Failed, 6)).await;
    change(&*store, &scope, "t", TaskState::Completed, 7).await;
    assert_eq!(sweep(&*store, Some(HOUR), 10).await, NONE, "they have just ended");
    assert_eq!(list(&*store, &scope, &query(10)).await.total, 2);
    some_time().await;
    let mut removed = sweep(&*store, Some(Duration::ZERO), 10).await;
    removed.sort();
    assert_eq!(removed, ["failed".into(), "t".into()]);
    assert_eq!(sweep(&*store, Some(Duration::ZERO), 10).await, NONE);
    for id in ["t", "failed"] {
        assert!(store.get(&scope, id).await.expect("the store succeeds").is_none());
        assert!(store.load(&scope, id, at(1)).await.expect("the store succeeds").is_none());
        assert!(store.replay(&scope, id, at(1)).await.expect("the store succeeds").is_none());
    }
    let page = list(&*store, &scope, &query(10)).await;
    assert_eq!((page.tasks.len(), page.total), (0, 0));
    assert!(store.configs(&scope, "t").await.expect("the store succeeds").is_empty());
    let due = store.claim_deliveries(10).await.expect("the store succeeds");
    assert!(due.deliveries.is_empty() && due.next.is_none(), "{due:?}");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 8)).await;
    assert_eq!(get(&*store, &scope, "t").await.version, 1);
    assert!(store.configs(&scope, "t").await.expect("the store succeeds").is_empty());
}

/// An unfinished task stays, however old, and so does every task without an age limit.
pub async fn sweep_keeps_unfinished_tasks(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert(&*store, &scope, &task("parked", "c", TaskState::InputRequired, 1)).await;
    insert(&*store, &scope, &task("auth", "c", TaskState::AuthRequired, 2)).await;
    insert_held(&*store, &scope, "held", b"work").await;
    insert(&*store, &scope, &task("ended", "c", TaskState::Canceled, 9)).await;
    store.put_config(&scope, webhook("parked", "a")).await.expect("the store succeeds");
    some_time().await;
    assert_eq!(sweep(&*store, None, 10).await, NONE);
    assert_eq!(list(&*store, &scope, &query(10)).await.total, 4);
    assert_eq!(sweep(&*store, Some(Duration::ZERO), 10).await, ["ended".into()]);
    let page = list(&*store, &scope, &query(10)).await;
    assert_eq!((ids(&page), page.total), (vec!["held", "auth", "parked"], 3));
    assert_eq!(store.configs(&scope, "parked").await.expect("the store succeeds").len(), 1);
    assert_eq!(get(&*store, &scope, "held").await.node.as_deref(), Some(store.node()));
}

/// A task that has waited for user input or authorization long enough is removed, unless it is
/// leased or working.
pub async fn sweep_removes_parked_tasks_without_a_lease(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert(&*store, &scope, &task("parked", "c", TaskState::InputRequired, 1)).await;
    insert(&*store, &scope, &task("auth", "c", TaskState::Working, 2)).await;
    change(&*store, &scope, "auth", TaskState::AuthRequired, 3).await;
    insert(&*store, &scope, &task("went on", "c", TaskState::InputRequired, 4)).await;
    change(&*store, &scope, "went on", TaskState::Working, 5).await;
    insert_held(&*store, &scope, "held", b"work").await;
    change(&*store, &scope, "held", TaskState::InputRequired, 6).await;
    insert(&*store, &scope, &task("ended", "c", TaskState::Completed, 7)).await;
    store.put_config(&scope, webhook("parked", "a")).await.expect("the store succeeds");
    some_time().await;
    let sweep = async |parked| {
        let sweep = Sweep::default().with_parked(parked).with_limit(10);
        let mut removed = store.sweep(sweep).await.expect("the store succeeds");
        removed.sort();
        removed
    };
    assert_eq!(sweep(None).await, NONE);
    assert_eq!(sweep(Some(HOUR)).await, NONE);
    assert_eq!(sweep(Some(Duration::ZERO)).await, ["auth".into(), "parked".into()]);
    let page = list(&*store, &scope, &query(10)).await;
    assert_eq!((ids(&page), page.total), (vec!["ended", "held", "went on"], 3));
    assert!(store.get(&scope, "auth").await.expect("the store succeeds").is_none());
    assert!(store.configs(&scope, "parked").await.expect("the store succeeds").is_empty());
    let epoch = get(&*store, &scope, "held").await.epoch;
    assert!(store.release("held", epoch).await.expect("the store succeeds"));
    assert_eq!(sweep(Some(Duration::ZERO)).await, ["held".into()]);
}

/// A sweep removes no more than its limit, and reports whether more is left.
pub async fn sweep_respects_its_limit(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for number in 0..5 {
        let id = format!("t{number}");
        insert(&*store, &scope, &task(&id, "c", TaskState::Completed, number)).await;
    }
    some_time().await;
    for (swept, left) in [(2, 3), (2, 1), (1, 0), (0, 0)] {
        assert_eq!(sweep(&*store, Some(Duration::ZERO), 2).await.len(), swept);
        assert_eq!(list(&*store, &scope, &query(10)).await.total, left);
    }
}

/// Old keys can be claimed again, whether their tasks exist or not.
pub async fn sweep_removes_old_keys(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let claim = async || store.claim_key(&scope, "key", 1, "t").await.expect("the store succeeds");
    let known = Claim::Known { task_id: "t".into(), fingerprint: 1 };
    assert_eq!(claim().await, Claim::New);
    some_time().await;
    let hour = Sweep::default().with_claims(HOUR);
    store.sweep(hour).await.expect("the store succeeds");
    assert_eq!(claim().await, known);
    let swept = Sweep::default().with_claims(Duration::ZERO);
    assert_eq!(
        store.sweep(swept).await.expect("the store succeeds"),
        NONE,
        "keys do not count as tasks"
    );
    assert_eq!(claim().await, Claim::New);
}

/// A dead letter is still listed after its task was removed.
pub async fn dead_letter_outlives_its_task(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let mut new = hooked("t", &["a"]);
    new.pushes = vec![at(1)];
    store.insert(&scope, new).await.expect("the task is new");
    let due = store.claim_deliveries(1).await.expect("the store succeeds");
    let outcome = DeliveryOutcome::DeadLetter { event: at(1), error: "refused".into() };
    store.record_delivery(&due.deliveries[0].key, outcome).await.expect("the store succeeds");
    change(&*store, &scope, "t", TaskState::Completed, 7).await;
    some_time().await;
    assert_eq!(sweep(&*store, Some(Duration::ZERO), 10).await, ["t".into()]);
    assert_eq!(
        store.dead_letters(&DeadLetterQuery::newest(10)).await.expect("the store succeeds").len(),
        1
    );
}

async fn sweep(store: &dyn Store, tasks: Option<Duration>, limit: usize) -> Vec<Arc<str>> {
    let sweep = Sweep::default().with_tasks(tasks).with_limit(limit);
    store.sweep(sweep).await.expect("the store succeeds")
}

/// Waits until everything is older than zero, for stores with millisecond clocks.
async fn some_time() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}
