//! Push notification configs: resource names and webhooks.

use a2a_core::{
    Error, Result,
    v1::{self, AuthenticationInfo},
};
use serde::{Deserialize, Serialize};

use super::resource;
use crate::common::{json::some, member, push};

/// A webhook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PushNotificationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, deserialize_with = "member::or_default")]
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication>,
}

/// Authentication schemes, with credentials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Authentication {
    #[serde(default, alias = "scheme", deserialize_with = "member::list")]
    schemes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<String>,
}

/// A named config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskPushNotificationConfig {
    name: String,
    push_notification_config: PushNotificationConfig,
}

/// Parameters that set a config, in any documented format: the config in `config`, in
/// `pushNotificationConfig`, or as the body itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SetConfigParams {
    parent: Option<String>,
    task_id: Option<String>,
    config_id: Option<String>,
    name: Option<String>,
    config: Option<Box<Self>>,
    push_notification_config: Option<PushNotificationConfig>,
    #[serde(flatten)]
    bare: PushNotificationConfig,
}

/// Parameters that set a config, as written.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WrittenSetConfigParams {
    parent: String,
    config_id: String,
    config: TaskPushNotificationConfig,
}

/// Parameters that get or delete a config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// Parameters that list configs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListConfigsParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    #[serde(default, deserialize_with = "member::int32", skip_serializing_if = "Option::is_none")]
    page_size: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_token: Option<String>,
}

/// The configs of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListConfigsResponse {
    #[serde(default, deserialize_with = "member::or_default")]
    configs: Vec<TaskPushNotificationConfig>,
    #[serde(default, deserialize_with = "member::or_default")]
    next_page_token: String,
}

impl PushNotificationConfig {
    pub(super) fn into_v1(self) -> v1::TaskPushNotificationConfig {
        v1::TaskPushNotificationConfig {
            id: self.id.unwrap_or_default(),
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

    pub(super) fn from_v1(config: &v1::TaskPushNotificationConfig) -> Self {
        let authentication = config.authentication.as_ref();
        Self {
            id: some(&config.id),
            url: config.url.clone(),
            token: some(&config.token),
            authentication: authentication.map(|authentication| Authentication {
                schemes: vec![authentication.scheme.clone()],
                credentials: some(&authentication.credentials),
            }),
        }
    }
}

impl TaskPushNotificationConfig {
    pub(super) fn into_v1(self) -> v1::TaskPushNotificationConfig {
        let (task_id, id) = resource::split(&self.name);
        let config = self.push_notification_config.into_v1();
        v1::TaskPushNotificationConfig {
            id: some(&config.id).unwrap_or_else(|| id.unwrap_or_default().to_owned()),
            task_id: task_id.to_owned(),
            ..config
        }
    }

    pub(super) fn from_v1(config: &v1::TaskPushNotificationConfig) -> Self {
        Self {
            name: resource::config(&config.task_id, &config.id),
            push_notification_config: PushNotificationConfig::from_v1(config),
        }
    }
}

impl SetConfigParams {
    pub(super) fn into_v1(self) -> Result<v1::TaskPushNotificationConfig> {
        let config = self.resolve();
        if config.task_id.is_empty() {
            return Err(Error::invalid_params("parent", "is required"));
        }
        Ok(config)
    }

    fn resolve(self) -> v1::TaskPushNotificationConfig {
        let inner = match (self.config, self.push_notification_config) {
            (Some(config), _) => config.resolve(),
            (None, Some(config)) => config.into_v1(),
            (None, None) => self.bare.into_v1(),
        };
        let named = self.name.as_deref().map(resource::split);
        let parent = self.parent.as_deref().map(|parent| resource::split(parent).0);
        let task_id = parent.or(self.task_id.as_deref()).or(named.map(|(task_id, _)| task_id));
        let id = self.config_id.as_deref().filter(|id| !id.is_empty());
        let id = id.or(some_text(&inner.id)).or(named.and_then(|(_, id)| id)).map(str::to_owned);
        let task_id = task_id.map(str::to_owned);
        v1::TaskPushNotificationConfig {
            id: id.unwrap_or_default(),
            task_id: task_id.unwrap_or(inner.task_id),
            ..inner
        }
    }
}

fn some_text(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

impl WrittenSetConfigParams {
    pub(super) fn from_v1(config: &v1::TaskPushNotificationConfig) -> Self {
        Self {
            parent: resource::task(&config.task_id),
            config_id: config.id.clone(),
            config: TaskPushNotificationConfig::from_v1(config),
        }
    }
}

impl ConfigParams {
    pub(super) fn new(task_id: &str, id: &str) -> Self {
        Self { name: Some(resource::config(task_id, id)), ..Self::default() }
    }

    /// The ids of the task and the config.
    pub(super) fn ids(&self) -> Result<(String, String)> {
        let named = self.name.as_deref().map(resource::split);
        let task_id = self.task_id.as_deref().or(named.map(|(task_id, _)| task_id));
        let id = self.config_id.as_deref().or(self.id.as_deref());
        let id = id.or(named.and_then(|(_, id)| id));
        match (task_id, id) {
            (Some(task_id), Some(id)) => Ok((task_id.to_owned(), id.to_owned())),
            _ => Err(Error::invalid_params("name", "must name a push notification config")),
        }
    }
}

impl ListConfigsParams {
    pub(super) fn into_v1(self) -> Result<v1::ListTaskPushNotificationConfigsRequest> {
        let name = self.parent.as_deref().or(self.task_id.as_deref());
        let name = name.ok_or_else(|| Error::invalid_params("parent", "is required"))?;
        Ok(v1::ListTaskPushNotificationConfigsRequest {
            task_id: resource::split(name).0.to_owned(),
            page_size: self.page_size.unwrap_or(0),
            page_token: self.page_token.unwrap_or_default(),
            ..v1::ListTaskPushNotificationConfigsRequest::default()
        })
    }

    pub(super) fn from_v1(request: &v1::ListTaskPushNotificationConfigsRequest) -> Self {
        Self {
            parent: Some(resource::task(&request.task_id)),
            task_id: None,
            page_size: (request.page_size != 0).then_some(request.page_size),
            page_token: some(&request.page_token),
        }
    }
}

impl ListConfigsResponse {
    pub(super) fn into_v1(self) -> v1::ListTaskPushNotificationConfigsResponse {
        v1::ListTaskPushNotificationConfigsResponse {
            configs: self.configs.into_iter().map(TaskPushNotificationConfig::into_v1).collect(),
            next_page_token: self.next_page_token,
        }
    }

    pub(super) fn from_v1(response: &v1::ListTaskPushNotificationConfigsResponse) -> Self {
        Self {
            configs: response.configs.iter().map(TaskPushNotificationConfig::from_v1).collect(),
            next_page_token: response.next_page_token.clone(),
        }
    }
}
