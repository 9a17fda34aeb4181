//! Webhooks.

use serde_json::{Value, json};

use crate::{
    expect::{Result, list_at, same, state_of, text_at},
    message::Ask,
    peer::Peer,
    webhook::Webhook,
};

const URLS: [&str; 2] = ["http://127.0.0.1:9/first", "http://127.0.0.1:9/second"];

pub(crate) async fn configs(peer: &dyn Peer) -> Result {
    let task = peer.task("ask").await?;
    let task_id = text_at(&task, "/id");
    let first = json!({
        "taskId": task_id,
        "id": "first",
        "url": URLS[0],
        "token": "secret",
        "authentication": {"scheme": "Bearer", "credentials": "credential"},
    });
    let created = peer.create_push_config(first).await?;
    same(place(&created), [task_id, "first", URLS[0]], "created webhook")?;
    let second = json!({"taskId": task_id, "id": "second", "url": URLS[1]});
    peer.create_push_config(second).await?;
    let request = json!({"taskId": task_id, "id": "first"});
    let got = peer.get_push_config(request.clone()).await?;
    same(place(&got), [task_id, "first", URLS[0]], "webhook")?;
    same(listed(peer, task_id).await?, URLS, "webhooks")?;
    peer.delete_push_config(request).await?;
    same(listed(peer, task_id).await?, [URLS[1]], "webhooks after the deletion")
}

pub(crate) async fn delivery(peer: &dyn Peer) -> Result {
    let webhook = Webhook::listen().await?;
    let task = peer.started("slow 1").await?;
    let task_id = text_at(&task, "/id");
    let config = json!({"taskId": task_id, "id": "first", "url": webhook.url, "token": "secret"});
    peer.create_push_config(config).await?;
    delivered(peer, webhook, task_id, ("x-a2a-notification-token", "secret")).await
}

pub(crate) async fn with_message(peer: &dyn Peer) -> Result {
    let webhook = Webhook::listen().await?;
    let authentication = json!({"scheme": "Bearer", "credentials": "credential"});
    let config = json!({"url": webhook.url, "authentication": authentication});
    let configuration = json!({ "taskPushNotificationConfig": config });
    let task = peer.task(Ask::text("echo hello").with_configuration(configuration)).await?;
    let header = ("authorization", "Bearer credential");
    delivered(peer, webhook, text_at(&task, "/id"), header).await
}

/// The task, the id and the URL of a config.
fn place(config: &Value) -> [&str; 3] {
    ["/taskId", "/id", "/url"].map(|pointer| text_at(config, pointer))
}

/// The URLs of a task, sorted.
async fn listed(peer: &dyn Peer, task_id: &str) -> Result<Vec<String>> {
    let listed = peer.list_push_configs(json!({ "taskId": task_id })).await?;
    let configs = list_at(&listed, "/configs").iter();
    let mut urls: Vec<_> = configs.map(|config| text_at(config, "/url").to_owned()).collect();
    urls.sort_unstable();
    Ok(urls)
}

/// Waits for the delivery that says that the task is done.
async fn delivered(
    peer: &dyn Peer,
    mut webhook: Webhook,
    task_id: &str,
    (name, value): (&str, &str),
) -> Result {
    loop {
        let (headers, body) = webhook.next().await?;
        let event = peer.delivery(body)?;
        let (id, carrier) = match (event.get("statusUpdate"), event.get("task")) {
            (Some(update), _) => (text_at(update, "/taskId"), update),
            (None, Some(task)) => (text_at(task, "/id"), task),
            (None, None) => continue,
        };
        if state_of(carrier) == "TASK_STATE_COMPLETED" {
            same(id, task_id, "task id of the delivery")?;
            let header = headers.get(name).map(|header| header.as_bytes());
            return same(header, Some(value.as_bytes()), name);
        }
    }
}
