//! Webhooks: registration and deliveries.

use a2a_core::v1::{AuthenticationInfo, TaskPushNotificationConfig};
use a2a_kit_client::MessageRequest;
use futures_util::TryStreamExt as _;

use crate::{
    expect::{Result, same},
    peer::Peer,
    webhook::Webhook,
};

fn config(task_id: &str, id: &str, url: &str) -> TaskPushNotificationConfig {
    let (task_id, id, url) = (task_id.to_owned(), id.to_owned(), url.to_owned());
    TaskPushNotificationConfig { task_id, id, url, ..Default::default() }
}

pub(crate) async fn configs(peer: &Peer) -> Result {
    let task = peer.task("ask").await?;
    let urls = ["http://127.0.0.1:9/first", "http://127.0.0.1:9/second"];
    for (id, url) in ["first", "second"].into_iter().zip(urls) {
        let created = peer.client.create_push_config(config(&task.id, id, url)).await?;
        let created = (created.id.as_str(), created.url.as_str());
        same(created, (id, url), "created webhook")?;
    }
    let got = peer.client.push_config(&task.id, "first").await?;
    same((got.id.as_str(), got.url.as_str()), ("first", urls[0]), "webhook")?;
    same(&got.task_id, &task.id, "task id")?;
    if peer.is_lossy() {
        // The SDKs of 0.3 support list and delete over JSON-RPC only.
        return Ok(());
    }
    same(listed(peer, &task.id).await?, urls, "webhooks")?;
    peer.client.delete_push_config(&task.id, "first").await?;
    same(listed(peer, &task.id).await?, [urls[1]], "webhooks after the deletion")
}

async fn listed(peer: &Peer, task_id: &str) -> Result<Vec<String>> {
    let webhooks = peer.client.push_configs(task_id).map_ok(|webhook| webhook.url);
    let mut urls: Vec<_> = webhooks.try_collect().await?;
    urls.sort();
    Ok(urls)
}

pub(crate) async fn delivery(peer: &Peer) -> Result {
    let mut webhook = Webhook::listen().await?;
    let task = peer.started("slow 1").await?;
    let registered = TaskPushNotificationConfig {
        token: "secret".to_owned(),
        ..config(&task.id, "first", &webhook.url)
    };
    peer.client.create_push_config(registered).await?;
    let headers = webhook.completed(&task.id).await?;
    // The name of most SDKs, or that of the Go SDK; our receiver accepts both.
    let names = ["x-a2a-notification-token", "a2a-notification-token"];
    let token = names.iter().find_map(|name| headers.get(*name)).map(|token| token.as_bytes());
    same(token, Some(b"secret".as_slice()), "token")
}

pub(crate) async fn with_message(peer: &Peer) -> Result {
    let mut webhook = Webhook::listen().await?;
    let registered = TaskPushNotificationConfig {
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: "credential".to_owned(),
        }),
        ..config("", "", &webhook.url)
    };
    let task = peer.task(MessageRequest::from("echo hello").with_push(registered)).await?;
    let headers = webhook.completed(&task.id).await?;
    let authorization = headers.get("authorization").map(|value| value.as_bytes());
    same(authorization, Some(b"Bearer credential".as_slice()), "authorization")
}
