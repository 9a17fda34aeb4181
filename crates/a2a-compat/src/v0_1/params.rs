//! Method parameters.

use a2a_core::{
    Role,
    v1::{self, AuthenticationInfo, SendMessageConfiguration, SendMessageRequest},
    well_known::Struct,
};
use serde::{Deserialize, Serialize};

use super::types::{Message, Place};
use crate::common::{json::some, member, push};

/// Parameters of `tasks/send` and `tasks/sendSubscribe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskSendParams {
    #[serde(deserialize_with = "member::id")]
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    message: Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification: Option<PushNotificationConfig>,
    #[serde(default, deserialize_with = "member::int32", skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

/// Parameters of the other task methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskQueryParams {
    #[serde(deserialize_with = "member::id")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "member::int32", skip_serializing_if = "Option::is_none")]
    pub(super) history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Struct>,
}

/// The webhook of a task, which has at most one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskPushNotificationConfig {
    #[serde(deserialize_with = "member::id")]
    pub(super) id: String,
    push_notification_config: PushNotificationConfig,
}

/// A webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PushNotificationConfig {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication>,
}

/// Authentication schemes, with credentials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Authentication {
    #[serde(default, deserialize_with = "member::list")]
    pub(super) schemes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) credentials: Option<String>,
}

impl TaskSendParams {
    pub(super) fn into_v1(self) -> SendMessageRequest {
        let context_id = self.session_id.unwrap_or_default();
        let place = Place { task_id: &self.id, context_id: &context_id };
        let webhook = self.push_notification.map(|config| v1::TaskPushNotificationConfig {
            // A new task does not have an id yet.
            task_id: String::new(),
            ..config.into_v1(&self.id)
        });
        SendMessageRequest {
            message: Some(self.message.into_v1(Role::User, place)),
            configuration: Some(SendMessageConfiguration {
                task_push_notification_config: webhook,
                history_length: Some(self.history_length.unwrap_or(0)),
                ..SendMessageConfiguration::default()
            }),
            metadata: self.metadata,
            ..SendMessageRequest::default()
        }
    }

    pub(super) fn from_v1(request: &SendMessageRequest) -> Self {
        let message = request.message.clone().unwrap_or_default();
        let configuration = request.configuration.as_ref();
        let webhook = configuration
            .and_then(|configuration| configuration.task_push_notification_config.as_ref());
        Self {
            // Task ids of this revision are chosen by the client.
            id: some(&message.task_id).unwrap_or_else(a2a_core::fresh_id),
            session_id: some(&message.context_id),
            message: Message::from_v1(&message),
            push_notification: webhook.map(PushNotificationConfig::from_v1),
            history_length: configuration
                .and_then(|configuration| configuration.history_length)
                .filter(|length| *length != 0),
            metadata: request.metadata.clone(),
        }
    }
}

impl TaskPushNotificationConfig {
    pub(super) fn into_v1(self) -> v1::TaskPushNotificationConfig {
        self.push_notification_config.into_v1(&self.id)
    }

    pub(super) fn from_v1(config: &v1::TaskPushNotificationConfig) -> Self {
        Self {
            id: config.task_id.clone(),
            push_notification_config: PushNotificationConfig::from_v1(config),
        }
    }
}

impl PushNotificationConfig {
    fn into_v1(self, task_id: &str) -> v1::TaskPushNotificationConfig {
        v1::TaskPushNotificationConfig {
            id: task_id.to_owned(),
            task_id: task_id.to_owned(),
            url: self.url,
            token: self.token.unwrap_or_default(),
            authentication: self.authentication.and_then(|authentication| {
                Some(AuthenticationInfo {
                    scheme: push::scheme(&authentication.schemes)?.to_owned(),
                    credentials: authentication.credentials.unwrap_or_default(),
                })
            }),
            ..v1::TaskPushNotificationConfig::default()
        }
    }

    fn from_v1(config: &v1::TaskPushNotificationConfig) -> Self {
        let authentication = config.authentication.as_ref();
        Self {
            url: config.url.clone(),
            token: some(&config.token),
            authentication: authentication.map(|authentication| Authentication {
                schemes: vec![authentication.scheme.clone()],
                credentials: some(&authentication.credentials),
            }),
        }
    }
}
