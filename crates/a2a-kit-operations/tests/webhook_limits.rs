//! Limits on the webhooks of a task.
#![allow(clippy::expect_used, clippy::panic, reason = "a test panics where it does not get it")]

use a2a_core::{
    AgentCard, Error, ErrorKind, Message, Result,
    v1::{
        ListTaskPushNotificationConfigsRequest, SendMessageConfiguration, SendMessageRequest,
        TaskPushNotificationConfig, send_message_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Delivery, Engine, PushError, PushSender, RequestContext,
    TaskUpdater, Webhook,
};
use async_trait::async_trait;
use futures_util::future::join_all;

/// Asks repeatedly.
struct Asker;

impl AgentExecutor for Asker {
    async fn execute(
        &self,
        _context: RequestContext,
        updater: TaskUpdater,
    ) -> std::result::Result<(), BoxError> {
        loop {
            updater.ask("what else?").await?;
        }
    }
}

/// Delivers nothing; the host is the part before the first slash.
#[derive(Debug)]
struct Silent;

#[async_trait]
impl PushSender for Silent {
    async fn check(&self, _: &TaskPushNotificationConfig) -> Result<()> {
        Ok(())
    }

    fn destination(&self, config: &TaskPushNotificationConfig) -> String {
        config.url.split('/').next().unwrap_or_default().to_owned()
    }

    async fn deliver(&self, _: &Webhook, _: &Delivery) -> std::result::Result<(), PushError> {
        Ok(())
    }
}

/// An engine, and a task that waits for input.
async fn scene() -> (Engine, String) {
    let engine = Engine::builder(AgentCard::new("Asker", "Asks"), Asker).push_sender(Silent);
    let engine = engine.build();
    let sent = engine.send_message(Call::new(message("", ""))).await.expect("it asks");
    let Some(Payload::Task(task)) = &sent.response.payload else { panic!("{sent:?}") };
    let id = task.id.clone();
    (engine, id)
}

fn message(task: &str, url: &str) -> SendMessageRequest {
    let mut message = Message::user("go on");
    task.clone_into(&mut message.task_id);
    let config = TaskPushNotificationConfig { url: url.into(), ..Default::default() };
    SendMessageRequest {
        message: Some(message),
        configuration: Some(SendMessageConfiguration {
            task_push_notification_config: (!url.is_empty()).then_some(config),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn webhook(task: &str, id: &str, url: &str) -> Call<TaskPushNotificationConfig> {
    Call::new(TaskPushNotificationConfig {
        id: id.into(),
        task_id: task.into(),
        url: url.into(),
        ..Default::default()
    })
}

async fn count(engine: &Engine, task: &str) -> usize {
    let request =
        ListTaskPushNotificationConfigsRequest { task_id: task.into(), ..Default::default() };
    let listed = engine.list_task_push_notification_configs(Call::new(request)).await;
    listed.expect("the task exists").response.configs.len()
}

fn assert_exhausted(error: &Error, limit: &str) {
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{error}");
    assert!(error.to_string().contains(limit), "{error}");
}

#[tokio::test]
async fn webhooks_per_host_are_limited_under_concurrency() {
    let (engine, task) = scene().await;
    let urls: Vec<String> = (0..50).map(|number| format!("victim/{number}")).collect();
    let put =
        urls.iter().map(|url| engine.create_task_push_notification_config(webhook(&task, "", url)));
    let (taken, refused): (Vec<_>, Vec<_>) =
        join_all(put).await.into_iter().partition(std::result::Result::is_ok);
    assert_eq!((taken.len(), refused.len()), (5, 45));
    for refused in refused {
        assert_exhausted(&refused.expect_err("it was refused"), "max_push_configs_per_host");
    }
    let other = webhook(&task, "", "other/hook");
    engine.create_task_push_notification_config(other).await.expect("another host has its own");
    assert_eq!(count(&engine, &task).await, 6);
}

#[tokio::test]
async fn webhooks_per_task_are_limited_and_replaceable() {
    let (engine, task) = scene().await;
    for number in 0..20 {
        let put = webhook(&task, &number.to_string(), &format!("host{number}/"));
        engine.create_task_push_notification_config(put).await.expect("there is room");
    }
    let more = engine.create_task_push_notification_config(webhook(&task, "more", "host/")).await;
    assert_exhausted(&more.expect_err("there is no room"), "max_push_configs");
    let again = engine.create_task_push_notification_config(webhook(&task, "3", "moved/")).await;
    again.expect("one is replaced");
    assert_eq!(count(&engine, &task).await, 20);
}

#[tokio::test]
async fn webhooks_sent_with_messages_count_toward_the_limit() {
    let (engine, task) = scene().await;
    for number in 0..5 {
        let sent = engine.send_message(Call::new(message(&task, &format!("victim/{number}"))));
        sent.await.expect("there is room");
    }
    let more = engine.send_message(Call::new(message(&task, "victim/more"))).await;
    assert_exhausted(&more.expect_err("there is no room"), "max_push_configs_per_host");
    assert_eq!(count(&engine, &task).await, 5);
}
