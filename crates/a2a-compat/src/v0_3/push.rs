//! Webhooks.

use a2a_core::v1;
use serde::{Deserialize, Serialize};

use crate::common::{
    json::some,
    member::{list, or_default},
    push,
};

/// The webhook of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskPushNotificationConfig {
    pub(super) task_id: String,
    #[serde(alias = "config")]
    pub(super) push_notification_config: PushNotificationConfig,
}

/// A webhook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PushNotificationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication>,
}

/// The authentication of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Authentication {
    #[serde(default, deserialize_with = "list")]
    schemes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<String>,
}

/// The configs of a task: an array, or the object of 1.0 and REST.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a list of push notification configs")]
pub(super) enum Configs {
    Array(Vec<TaskPushNotificationConfig>),
    Page {
        #[serde(default, deserialize_with = "or_default")]
        configs: Vec<TaskPushNotificationConfig>,
    },
}

impl Configs {
    pub(super) fn into_vec(self) -> Vec<TaskPushNotificationConfig> {
        match self {
            Self::Array(configs) | Self::Page { configs } => configs,
        }
    }
}

impl PushNotificationConfig {
    pub(super) fn into_v1(self, task_id: String) -> v1::TaskPushNotificationConfig {
        v1::TaskPushNotificationConfig {
            tenant: String::new(),
            id: self.id.unwrap_or_default(),
            task_id,
            url: self.url,
            token: self.token.unwrap_or_default(),
            authentication: self.authentication.and_then(Authentication::into_v1),
        }
    }
}

impl Authentication {
    /// Keeps one of several schemes; `None` without schemes and credentials.
    fn into_v1(self) -> Option<v1::AuthenticationInfo> {
        let scheme = push::scheme(&self.schemes);
        let credentials = self.credentials.unwrap_or_default();
        if scheme.is_none() && credentials.is_empty() {
            return None;
        }
        Some(v1::AuthenticationInfo { scheme: scheme.unwrap_or_default().to_owned(), credentials })
    }
}

impl From<v1::TaskPushNotificationConfig> for PushNotificationConfig {
    fn from(config: v1::TaskPushNotificationConfig) -> Self {
        Self {
            id: some(&config.id),
            url: config.url,
            token: some(&config.token),
            authentication: config.authentication.map(|authentication| Authentication {
                credentials: some(&authentication.credentials),
                schemes: some(&authentication.scheme).into_iter().collect(),
            }),
        }
    }
}

impl From<TaskPushNotificationConfig> for v1::TaskPushNotificationConfig {
    fn from(config: TaskPushNotificationConfig) -> Self {
        config.push_notification_config.into_v1(config.task_id)
    }
}

impl From<v1::TaskPushNotificationConfig> for TaskPushNotificationConfig {
    fn from(mut config: v1::TaskPushNotificationConfig) -> Self {
        let task_id = std::mem::take(&mut config.task_id);
        Self { task_id, push_notification_config: config.into() }
    }
}
