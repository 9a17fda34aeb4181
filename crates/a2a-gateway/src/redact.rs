//! Requests and answers as a record may keep them: without what would let its reader act for
//! somebody.

use std::sync::Arc;

use a2a_core::v1::{
    AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};
use a2a_operations::EventStream;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// What stands in place of a secret.
const REDACTED: &str = "[redacted]";

/// A message of the protocol that can be kept.
pub(crate) trait Redact {
    /// The message as JSON without its secrets; `None` for one that has no JSON.
    fn redacted(&self) -> Option<Box<RawValue>>;
}

fn json(message: &impl Serialize) -> Option<Box<RawValue>> {
    // Maps have string keys and numbers are finite, so nothing can fail.
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

/// Its events are kept one by one.
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
            hide(webhook);
        }
        json(&request)
    }
}

impl Redact for TaskPushNotificationConfig {
    fn redacted(&self) -> Option<Box<RawValue>> {
        let mut webhook = self.clone();
        hide(&mut webhook);
        json(&webhook)
    }
}

impl Redact for ListTaskPushNotificationConfigsResponse {
    fn redacted(&self) -> Option<Box<RawValue>> {
        let mut response = self.clone();
        response.configs.iter_mut().for_each(hide);
        json(&response)
    }
}

/// Hides what a webhook is called with, and what of its address can be a secret.
fn hide(webhook: &mut TaskPushNotificationConfig) {
    let hide = |secret: &mut String| {
        if !secret.is_empty() {
            REDACTED.clone_into(secret);
        }
    };
    hide(&mut webhook.token);
    if let Some(authentication) = &mut webhook.authentication {
        hide(&mut authentication.credentials);
    }
    if let Some(query) = webhook.url.find(['?', '#']) {
        webhook.url.replace_range(query + 1.., REDACTED);
    }
    let start = webhook.url.find("://").map_or(0, |scheme| scheme + 3);
    let end = webhook.url[start..].find('/').map_or(webhook.url.len(), |path| start + path);
    if let Some(at) = webhook.url[start..end].rfind('@') {
        webhook.url.replace_range(start..start + at, REDACTED);
    }
}

/// Returns the value of a parameter, unless its name says that it is a secret.
pub(crate) fn parameter<'a>(name: &str, value: &'a str) -> &'a str {
    let secret = ["auth", "cookie", "credential", "key", "secret", "token"];
    if secret.iter().any(|word| name.contains(word)) { REDACTED } else { value }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Message,
        v1::{AuthenticationInfo, SendMessageConfiguration},
    };

    use super::*;

    #[test]
    fn nothing_of_a_webhook_is_kept_that_lets_others_use_it() {
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
