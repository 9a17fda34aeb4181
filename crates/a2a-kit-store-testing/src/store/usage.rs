//! Usage of owners.

use std::{sync::Arc, time::Duration};

use a2a_core::TaskState;

use super::fixtures::{change, chunk, commit, insert, insert_held, scope, task};
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
    comes_to(&*store, "ann", |usage| usage.open_tasks == 3).await;
    comes_to(&*store, "bob", |usage| usage.open_tasks == 1).await;
    change(&*store, &ann, "waits", TaskState::Completed, 2).await;
    change(&*store, &elsewhere, "works", TaskState::Failed, 2).await;
    comes_to(&*store, "ann", |usage| usage.open_tasks == 1).await;
    assert_eq!(store.usage("nobody").await.expect("the store succeeds"), Usage::default());
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
    comes_to(&*store, "ann", |usage| usage.open_tasks == 0).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let sweep = Sweep::default().with_tasks(Duration::ZERO);
    assert_eq!(store.sweep(sweep).await.expect("the store succeeds"), 2);
    comes_to(&*store, "ann", |usage| *usage == Usage::default()).await;
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
