//! Request parameters.

use a2a_core::{Role, v1, well_known::Struct};
use serde::{Deserialize, Serialize};

use super::{message::Message, push::PushNotificationConfig};
use crate::common::member::{int32, or_default};

/// The parameters of `message/send` and `message/stream`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageSendParams {
    message: Message,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    configuration: Option<MessageSendConfiguration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
    /// The message id in an example of the documents.
    #[serde(default, skip_serializing)]
    message_id: Option<String>,
    /// The webhook on the notifications page.
    #[serde(default, skip_serializing)]
    push_notification: Option<PushNotificationConfig>,
}

/// The configuration of a send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MessageSendConfiguration {
    /// Always written: it was required until 0.2.5.
    #[serde(deserialize_with = "or_default")]
    accepted_output_modes: Vec<String>,
    #[serde(deserialize_with = "int32", skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "pushNotification")]
    push_notification_config: Option<PushNotificationConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocking: Option<bool>,
}

/// Parameters of methods for a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskParams {
    pub(super) id: String,
    #[serde(default, deserialize_with = "int32", skip_serializing_if = "Option::is_none")]
    pub(super) history_length: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Struct>,
}

/// Parameters of methods for a webhook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigParams {
    pub(super) id: String,
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub(super) push_notification_config_id: String,
}

impl From<MessageSendParams> for v1::SendMessageRequest {
    fn from(params: MessageSendParams) -> Self {
        let MessageSendParams {
            mut message,
            mut configuration,
            metadata,
            message_id,
            push_notification,
        } = params;
        if message.message_id.is_empty() {
            message.message_id = message_id.unwrap_or_default();
        }
        if push_notification.is_some() {
            let configuration = configuration.get_or_insert_default();
            configuration.push_notification_config =
                configuration.push_notification_config.take().or(push_notification);
        }
        Self {
            tenant: String::new(),
            // Validation rejects missing roles.
            message: Some(message.into_v1(Role::Unspecified)),
            configuration: configuration.map(Into::into),
            metadata,
        }
    }
}

impl From<v1::SendMessageRequest> for MessageSendParams {
    fn from(request: v1::SendMessageRequest) -> Self {
        Self {
            message: request.message.unwrap_or_default().into(),
            // Always written: servers have different defaults.
            configuration: Some(request.configuration.unwrap_or_default().into()),
            metadata: request.metadata,
            message_id: None,
            push_notification: None,
        }
    }
}

impl From<MessageSendConfiguration> for v1::SendMessageConfiguration {
    fn from(configuration: MessageSendConfiguration) -> Self {
        let webhook = configuration.push_notification_config;
        Self {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: webhook.map(|config| config.into_v1(String::new())),
            history_length: configuration.history_length,
            // The default is to wait, as in 1.0.
            return_immediately: configuration.blocking == Some(false),
        }
    }
}

impl From<v1::SendMessageConfiguration> for MessageSendConfiguration {
    fn from(configuration: v1::SendMessageConfiguration) -> Self {
        Self {
            accepted_output_modes: configuration.accepted_output_modes,
            history_length: configuration.history_length,
            push_notification_config: configuration.task_push_notification_config.map(Into::into),
            blocking: Some(!configuration.return_immediately),
        }
    }
}
