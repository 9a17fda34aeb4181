//! Usage of owners.

use std::{sync::Arc, time::Duration};

use a2a_core::TaskState;
use futures_util::future::join_all;

use super::fixtures::{change, changed, chunk, commit, insert, insert_held, new_task, scope, task};
use a2a_kit_operations::{
    Caller, Scope, Store,
    store::{Sweep, Usage},
};

/// Longer than any store caches the usage of an owner this small.
const MEASURED: Duration = Duration::from_secs(10);

/// Open tasks are the unfinished tasks of an owner in all tenants.
pub async fn usage_counts_the_open_tasks_of_an_owner(store: Arc<dyn Store>) {
    let ann = scope("ann");
    let elsewhere = Scope::new("acme", &Caller::authenticated("ann"));
    assert_eq!(store.usage("ann").await.expect("the store succeeds"), Usage::default());
    insert(&*store, &ann, &task("waits", "c", TaskState::InputRequired, 1)).await;
    insert(&*store, &ann, &task("auth", "c", TaskState::AuthRequired, 1)).await;
    insert_held(&*store, &elsewhere, "works", b"work").await;
    insert(&*store, &ann, &task("ended", "c", TaskState::Completed, 1)).await;
    insert(&*store, &scope("bob"), &task("other", "c", TaskState::Working, 1)).await;
    assert_eq!(open(&*store, "ann").await, 3);
    assert_eq!(open(&*store, "bob").await, 1);
    change(&*store, &ann, "waits", TaskState::Completed, 2).await;
    change(&*store, &elsewhere, "works", TaskState::Failed, 2).await;
    assert_eq!(open(&*store, "ann").await, 1);
    assert_eq!(store.usage("nobody").await.expect("the store succeeds"), Usage::default());
    assert_eq!(store.open_tasks("nobody").await.expect("the store succeeds"), 0);
}

/// A task counts as open from its insertion until the commit that ends it returns.
pub async fn ended_tasks_stop_counting_at_once(store: Arc<dyn Store>) {
    let ann = scope("ann");
    assert_eq!(open(&*store, "ann").await, 0);
    let complete = async |id: String| {
        insert(&*store, &ann, &task(&id, "c", TaskState::Submitted, 1)).await;
        change(&*store, &ann, &id, TaskState::Working, 2).await;
        change(&*store, &ann, &id, TaskState::Completed, 3).await;
    };
    for number in 0..10 {
        complete(format!("one {number}")).await;
        assert_eq!(open(&*store, "ann").await, 0, "after {number} in a row");
    }
    join_all((0..50).map(|number| complete(format!("all {number}")))).await;
    assert_eq!(open(&*store, "ann").await, 0);
    for state in [TaskState::Completed, TaskState::Failed, TaskState::Canceled, TaskState::Rejected]
    {
        insert(&*store, &ann, &task(&format!("{state:?}"), "c", state, 1)).await;
        assert_eq!(open(&*store, "ann").await, 0, "inserted as {state:?}");
    }
    // A rejected write counts nothing.
    insert(&*store, &ann, &task("t", "c", TaskState::Working, 1)).await;
    assert!(store.insert(&ann, new_task(&task("t", "c", TaskState::Working, 1))).await.is_err());
    let ended = task("t", "c", TaskState::Completed, 2);
    let events = vec![changed(2, &ended)];
    commit(&*store, &ann, "t", 7, events.clone(), Some(&ended)).await.expect_err("it is stale");
    assert_eq!(open(&*store, "ann").await, 1);
    commit(&*store, &ann, "t", 1, events, Some(&ended)).await.expect("the version is current");
    assert_eq!(open(&*store, "ann").await, 0);
}

/// A parked task counts as open until it is removed; one that another run ended does not.
pub async fn removed_and_reacquired_tasks_stop_counting_at_once(store: Arc<dyn Store>) {
    let ann = scope("ann");
    insert(&*store, &ann, &task("parked", "c", TaskState::InputRequired, 1)).await;
    insert_held(&*store, &ann, "held", b"work").await;
    assert_eq!(open(&*store, "ann").await, 2);
    tokio::time::sleep(Duration::from_millis(5)).await;
    store.sweep(Sweep::default().with_parked(Duration::ZERO)).await.expect("the store succeeds");
    assert_eq!(open(&*store, "ann").await, 1);
    assert!(store.release("held", 1).await.expect("the store succeeds"));
    store.acquire(&ann, "held").await.expect("the store succeeds");
    assert_eq!(open(&*store, "ann").await, 1);
    change(&*store, &ann, "held", TaskState::Canceled, 2).await;
    assert_eq!(open(&*store, "ann").await, 0);
}

/// Stored bytes grow with the events of an owner's tasks, and are freed with the tasks.
pub async fn usage_counts_the_stored_bytes_of_an_owner(store: Arc<dyn Store>) {
    let ann = scope("ann");
    insert(&*store, &ann, &task("t", "c", TaskState::Working, 1)).await;
    insert(&*store, &ann, &task("u", "c", TaskState::Working, 1)).await;
    let text = "x".repeat(100_000);
    for version in 1..=5 {
        let events = vec![chunk(version + 1, "t", &text)];
        commit(&*store, &ann, "t", version, events, None).await.expect("there is no other writer");
    }
    comes_to(&*store, "ann", |usage| (500_000..2_000_000).contains(&usage.stored_bytes)).await;
    for id in ["t", "u"] {
        change(&*store, &ann, id, TaskState::Completed, 2).await;
    }
    assert_eq!(open(&*store, "ann").await, 0);
    tokio::time::sleep(Duration::from_millis(5)).await;
    let sweep = Sweep::default().with_tasks(Duration::ZERO);
    assert_eq!(store.sweep(sweep).await.expect("the store succeeds").len(), 2);
    comes_to(&*store, "ann", |usage| *usage == Usage::default()).await;
}

/// The open tasks of an owner, which both calls count alike.
async fn open(store: &dyn Store, owner: &str) -> usize {
    let open = store.usage(owner).await.expect("the store succeeds").open_tasks;
    assert_eq!(store.open_tasks(owner).await.expect("the store succeeds"), open);
    open
}

/// Waits for a value that a store may update with a delay.
async fn comes_to(store: &dyn Store, owner: &str, is_so: impl Fn(&Usage) -> bool) {
    let end = tokio::time::Instant::now() + MEASURED * 3;
    loop {
        let usage = store.usage(owner).await.expect("the store succeeds");
        if is_so(&usage) {
            return;
        }
        assert!(tokio::time::Instant::now() < end, "{usage:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
