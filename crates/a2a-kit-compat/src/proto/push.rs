//! Webhooks: a resource name and a nested webhook, flat in 1.0.

use a2a_core::{
    Error, Result,
    v1::{self, ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse},
};

use super::{
    AuthenticationInfo, CreateTaskPushNotificationConfigRequest, CreateTaskPushNotificationRequest,
    ListTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigResponse,
    ListTaskPushNotificationRequest, ListTaskPushNotificationResponse, PushNotificationConfig,
    SetTaskPushNotificationConfigRequest, TaskPushNotificationConfig, config_name, ids_of_config,
    task_id, task_name,
};
use crate::common::push::scheme;

impl From<PushNotificationConfig> for v1::TaskPushNotificationConfig {
    fn from(config: PushNotificationConfig) -> Self {
        let authentication = config.authentication.and_then(AuthenticationInfo::into_v1);
        Self {
            id: config.id,
            url: config.url,
            token: config.token,
            authentication,
            ..Self::default()
        }
    }
}

impl From<v1::TaskPushNotificationConfig> for PushNotificationConfig {
    fn from(config: v1::TaskPushNotificationConfig) -> Self {
        let authentication = config.authentication.map(|info| AuthenticationInfo {
            schemes: if info.scheme.is_empty() { Vec::new() } else { vec![info.scheme] },
            credentials: info.credentials,
        });
        Self { id: config.id, url: config.url, token: config.token, authentication }
    }
}

impl AuthenticationInfo {
    /// Keeps one of several schemes; `None` without schemes and credentials, which clients send to
    /// mean no authentication.
    fn into_v1(self) -> Option<v1::AuthenticationInfo> {
        let scheme = scheme(&self.schemes);
        if scheme.is_none() && self.credentials.is_empty() {
            return None;
        }
        Some(v1::AuthenticationInfo {
            scheme: scheme.unwrap_or_default().to_owned(),
            credentials: self.credentials,
        })
    }
}

impl TaskPushNotificationConfig {
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for a malformed resource name.
    pub(crate) fn into_v1(self) -> Result<v1::TaskPushNotificationConfig> {
        let (task_id, id) = ids_of_config(&self.name)?;
        let config = self.push_notification_config.unwrap_or_default();
        let mut config = v1::TaskPushNotificationConfig { task_id, ..config.into() };
        if config.id.is_empty() {
            config.id = id;
        }
        Ok(config)
    }
}

impl From<v1::TaskPushNotificationConfig> for TaskPushNotificationConfig {
    fn from(config: v1::TaskPushNotificationConfig) -> Self {
        let name = config_name(&config.task_id, &config.id);
        Self { name, push_notification_config: Some(config.into()) }
    }
}

/// A request to register a webhook, under any of its three names.
#[derive(Debug)]
pub(crate) struct CreateConfig {
    pub(crate) parent: String,
    pub(crate) config_id: String,
    pub(crate) config: Option<TaskPushNotificationConfig>,
}

impl CreateConfig {
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if the webhook is missing.
    pub(crate) fn into_v1(self) -> Result<v1::TaskPushNotificationConfig> {
        let config = self.config.unwrap_or_default();
        let Some(webhook) = config.push_notification_config else {
            return Err(Error::invalid_params("config.pushNotificationConfig", "is required"));
        };
        let (parent, name_id) = ids_of_config(&config.name).unwrap_or_default();
        let task_id = if self.parent.is_empty() { parent } else { task_id(&self.parent) };
        let mut config = v1::TaskPushNotificationConfig { task_id, ..webhook.into() };
        // If the ids differ, that of the request takes precedence.
        let ids = [self.config_id, config.id, name_id];
        config.id = ids.into_iter().find(|id| !id.is_empty()).unwrap_or_default();
        Ok(config)
    }

    /// Creates a request with an id, which servers of 0.3 require.
    pub(crate) fn from_v1(mut config: v1::TaskPushNotificationConfig) -> Self {
        if config.id.is_empty() {
            config.id = a2a_core::fresh_id();
        }
        Self {
            parent: task_name(&config.task_id),
            config_id: config.id.clone(),
            config: Some(config.into()),
        }
    }
}

/// Conversions for a message with these members.
macro_rules! create {
    ($($name:ident),*) => {$(
        impl From<$name> for CreateConfig {
            fn from($name { parent, config_id, config }: $name) -> Self {
                Self { parent, config_id, config }
            }
        }

        impl From<CreateConfig> for $name {
            fn from(CreateConfig { parent, config_id, config }: CreateConfig) -> Self {
                Self { parent, config_id, config }
            }
        }
    )*};
}
create!(
    CreateTaskPushNotificationRequest,
    CreateTaskPushNotificationConfigRequest,
    SetTaskPushNotificationConfigRequest
);

/// Conversions for a list request and its response, which have two names.
macro_rules! list {
    ($($request:ident -> $response:ident),*) => {$(
        impl From<$request> for ListTaskPushNotificationConfigsRequest {
            fn from($request { parent, page_size, page_token }: $request) -> Self {
                Self { task_id: task_id(&parent), page_size, page_token, ..Self::default() }
            }
        }

        impl From<ListTaskPushNotificationConfigsRequest> for $request {
            fn from(request: ListTaskPushNotificationConfigsRequest) -> Self {
                let ListTaskPushNotificationConfigsRequest { page_size, page_token, .. } = request;
                Self { parent: task_name(&request.task_id), page_size, page_token }
            }
        }

        impl From<ListTaskPushNotificationConfigsResponse> for $response {
            fn from(page: ListTaskPushNotificationConfigsResponse) -> Self {
                let configs = page.configs.into_iter().map(Into::into).collect();
                Self { configs, next_page_token: page.next_page_token }
            }
        }
    )*};
}
list!(
    ListTaskPushNotificationRequest -> ListTaskPushNotificationResponse,
    ListTaskPushNotificationConfigRequest -> ListTaskPushNotificationConfigResponse
);

impl ListTaskPushNotificationConfigResponse {
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for a malformed resource name.
    pub(crate) fn into_v1(self) -> Result<ListTaskPushNotificationConfigsResponse> {
        let configs = self.configs.into_iter().map(TaskPushNotificationConfig::into_v1);
        Ok(ListTaskPushNotificationConfigsResponse {
            configs: configs.collect::<Result<_>>()?,
            next_page_token: self.next_page_token,
        })
    }
}
