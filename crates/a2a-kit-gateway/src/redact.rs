//! Redaction of secrets in recorded requests and responses.

use std::sync::Arc;

use a2a_core::v1::{
    AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};
use a2a_kit_http::redaction::{REDACTED, is_secret, redact_url, redact_webhook};
use a2a_kit_operations::EventStream;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// A protocol message that can be recorded.
pub(crate) trait Redact {
    /// Returns the message as JSON without secrets; `None` if it has no JSON form.
    fn redacted(&self) -> Option<Box<RawValue>>;
}

fn json(message: &impl Serialize) -> Option<Box<RawValue>> {
    // Maps have string keys and numbers are finite, so serialization can't fail.
    to_raw_value(message).ok()
}

macro_rules! without_secrets {
    ($($message:ty),* $(,)?) => {
        $(
            impl Redact for $message {
                fn redacted(&self) -> Option<Box<RawValue>> {
                    json(self)
                }
            }
        )*
    };
}

without_secrets! {
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageResponse,
    SubscribeToTaskRequest,
}

impl Redact for () {
    fn redacted(&self) -> Option<Box<RawValue>> {
        None
    }
}

/// Events are recorded separately.
impl Redact for EventStream {
    fn redacted(&self) -> Option<Box<RawValue>> {
        None
    }
}

impl Redact for Arc<Task> {
    fn redacted(&self) -> Option<Box<RawValue>> {
        json(&**self)
    }
}

impl Redact for SendMessageRequest {
    fn redacted(&self) -> Option<Box<RawValue>> {
        let has_webhook = |request: &Self| {
            let configuration = request.configuration.as_ref();
            configuration.is_some_and(|some| some.task_push_notification_config.is_some())
        };
        if !has_webhook(self) {
            return json(self);
        }
        let mut request = self.clone();
        let configuration = request.configuration.as_mut();
        if let Some(webhook) =
            configuration.and_then(|some| some.task_push_notification_config.as_mut())
        {
            without_secrets(webhook);
        }
        json(&request)
    }
}

impl Redact for TaskPushNotificationConfig {
    fn redacted(&self) -> Option<Box<RawValue>> {
        let mut webhook = self.clone();
        without_secrets(&mut webhook);
        json(&webhook)
    }
}

impl Redact for ListTaskPushNotificationConfigsResponse {
    fn redacted(&self) -> Option<Box<RawValue>> {
        let mut response = self.clone();
        response.configs.iter_mut().for_each(without_secrets);
        json(&response)
    }
}

/// Redacts the credentials of a webhook, and the parts of its URL that may be secret.
fn without_secrets(webhook: &mut TaskPushNotificationConfig) {
    redact_webhook(webhook);
    webhook.url = redact_url(&webhook.url).into_owned();
}

/// Returns the value of a parameter, redacted if the name indicates a secret.
pub(crate) fn parameter<'a>(name: &str, value: &'a str) -> &'a str {
    if is_secret(name) { REDACTED } else { value }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Message,
        v1::{AuthenticationInfo, SendMessageConfiguration},
    };

    use super::*;

    #[test]
    fn webhook_secrets_are_redacted() {
        let webhook = TaskPushNotificationConfig {
            url: "https://me:secret@hooks.example/a/b?key=secret#secret".into(),
            token: "secret".into(),
            authentication: Some(AuthenticationInfo {
                scheme: "Bearer".into(),
                credentials: "secret".into(),
            }),
            ..TaskPushNotificationConfig::default()
        };
        let configuration = SendMessageConfiguration {
            task_push_notification_config: Some(webhook.clone()),
            ..SendMessageConfiguration::default()
        };
        let send = SendMessageRequest {
            message: Some(Message::user("hello")),
            configuration: Some(configuration),
            ..SendMessageRequest::default()
        };
        let list = ListTaskPushNotificationConfigsResponse {
            configs: vec![webhook.clone()],
            ..ListTaskPushNotificationConfigsResponse::default()
        };
        for json in [webhook.redacted(), send.redacted(), list.redacted()] {
            let json = json.unwrap();
            assert!(!json.get().contains("secret"), "{json}");
            assert!(json.get().contains("@hooks.example/a/b?[redacted]"), "{json}");
        }
        assert!(send.redacted().unwrap().get().contains("hello"));
        assert_eq!(parameter("a2a-shop-token", "t"), REDACTED);
        assert_eq!(parameter("traceparent", "t"), "t");
    }
}
