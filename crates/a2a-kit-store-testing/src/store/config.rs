//! Webhook configs.

use std::sync::Arc;

use a2a_core::{TaskState, v1::TaskPushNotificationConfig};

use super::fixtures::{insert, scope, task};
use a2a_kit_operations::{Scope, Store, Webhook};

/// Webhooks of a task are ordered by id, in whatever order they were stored.
pub async fn webhooks_are_returned_in_id_order(store: Arc<dyn Store>) {
    let scope = with_tasks(&*store, &["s", "t", "tt"]).await;
    for (task_id, id) in [("t", "b"), ("t", "c"), ("s", "d"), ("t", "a"), ("tt", "e")] {
        put(&*store, &scope, config(task_id, id, "https://example.com")).await;
    }
    assert_eq!(ids(&*store, &scope, "t").await, ["a", "b", "c"]);
    assert_eq!(ids(&*store, &scope, "s").await, ["d"]);
    assert!(ids(&*store, &scope, "unknown").await.is_empty());
}

/// Storing a webhook again replaces it.
pub async fn webhook_with_the_same_id_is_replaced(store: Arc<dyn Store>) {
    let scope = with_tasks(&*store, &["t"]).await;
    put(&*store, &scope, config("t", "a", "https://example.com/old")).await;
    let new = TaskPushNotificationConfig {
        token: "secret".into(),
        ..config("t", "a", "https://example.com/new")
    };
    put(&*store, &scope, new.clone()).await;
    let configs = store.configs(&scope, "t").await.expect("the store succeeds");
    assert_eq!(configs, [Webhook::from(new)]);
}

/// Deleting removes one webhook, and may be repeated.
pub async fn deleting_a_webhook_is_idempotent(store: Arc<dyn Store>) {
    let scope = with_tasks(&*store, &["t"]).await;
    for id in ["a", "b"] {
        put(&*store, &scope, config("t", id, "https://example.com")).await;
    }
    for _ in 0..2 {
        store.delete_config(&scope, "t", "a").await.expect("the store succeeds");
        assert_eq!(ids(&*store, &scope, "t").await, ["b"]);
    }
}

/// A webhook of an unknown task, or of another scope, is not stored, whatever the result: its task
/// may just have been swept.
pub async fn webhook_without_a_task_is_not_stored(store: Arc<dyn Store>) {
    let ann = with_tasks(&*store, &["t"]).await;
    for (scope, task_id) in [(&ann, "unknown"), (&scope("bob"), "t")] {
        let webhook = config(task_id, "a", "https://example.com").into();
        let _either = store.put_config(scope, webhook).await;
        assert!(ids(&*store, scope, task_id).await.is_empty(), "{task_id}");
    }
    assert!(ids(&*store, &ann, "t").await.is_empty());
}

/// Another scope neither sees nor deletes a webhook.
pub async fn webhooks_are_separate_per_scope(store: Arc<dyn Store>) {
    let ann = with_tasks(&*store, &["t"]).await;
    put(&*store, &ann, config("t", "a", "https://example.com")).await;
    assert!(ids(&*store, &scope("bob"), "t").await.is_empty());
    store.delete_config(&scope("bob"), "t", "a").await.expect("the store succeeds");
    assert_eq!(ids(&*store, &ann, "t").await, ["a"]);
}

/// Creates tasks, and returns their scope.
async fn with_tasks(store: &dyn Store, ids: &[&str]) -> Scope {
    let scope = scope("ann");
    for id in ids {
        insert(store, &scope, &task(id, "c", TaskState::Working, 5)).await;
    }
    scope
}

fn config(task_id: &str, id: &str, url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: task_id.into(),
        id: id.into(),
        url: url.into(),
        ..TaskPushNotificationConfig::default()
    }
}

async fn put(store: &dyn Store, scope: &Scope, config: TaskPushNotificationConfig) {
    store.put_config(scope, config.into()).await.expect("the store succeeds");
}

async fn ids(store: &dyn Store, scope: &Scope, task_id: &str) -> Vec<String> {
    let configs = store.configs(scope, task_id).await.expect("the store succeeds");
    configs.into_iter().map(|webhook| webhook.config.id).collect()
}
