//! The parameters of the methods for messages and tasks.

use a2a_core::{
    Error, Result,
    v1::{self, SendMessageRequest},
    well_known::Struct,
};
use serde::{Deserialize, Serialize};

use super::{config::PushNotificationConfig, resource, types::Message};
use crate::common::member;

/// Of `SendMessage` and `SendStreamingMessage`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SendMessageParams {
    // The name in the proto.
    #[serde(alias = "request")]
    message: Message,
    #[serde(default, deserialize_with = "member::or_default")]
    configuration: SendMessageConfiguration,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

/// How a message is to be answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendMessageConfiguration {
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    accepted_output_modes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config: Option<PushNotificationConfig>,
    #[serde(default, deserialize_with = "member::int32", skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    // Not to wait is what a missing member means.
    #[serde(default, deserialize_with = "member::or_default")]
    blocking: bool,
}

/// Of the methods for one task, which has an id, a name or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, deserialize_with = "member::int32", skip_serializing_if = "Option::is_none")]
    pub(super) history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Struct>,
}

impl SendMessageParams {
    pub(super) fn up(self) -> SendMessageRequest {
        let configuration = self.configuration;
        let webhook = configuration.push_notification_config.map(PushNotificationConfig::up);
        SendMessageRequest {
            message: Some(self.message.up()),
            configuration: Some(v1::SendMessageConfiguration {
                accepted_output_modes: configuration.accepted_output_modes,
                task_push_notification_config: webhook,
                history_length: configuration.history_length,
                return_immediately: !configuration.blocking,
            }),
            metadata: self.metadata,
            ..SendMessageRequest::default()
        }
    }

    pub(super) fn down(request: &SendMessageRequest) -> Self {
        let message = request.message.clone().unwrap_or_default();
        let configuration = request.configuration.clone().unwrap_or_default();
        let webhook = configuration.task_push_notification_config.as_ref();
        Self {
            message: Message::down(&message),
            configuration: SendMessageConfiguration {
                accepted_output_modes: configuration.accepted_output_modes,
                push_notification_config: webhook.map(PushNotificationConfig::down),
                history_length: configuration.history_length,
                blocking: !configuration.return_immediately,
            },
            metadata: request.metadata.clone(),
        }
    }
}

impl TaskParams {
    /// Names the task both ways: the text of the draft has the one, its proto the other.
    pub(super) fn new(id: &str) -> Self {
        Self { id: Some(id.to_owned()), name: Some(resource::task(id)), ..Self::default() }
    }

    /// The id of the task.
    pub(super) fn id(&self) -> Result<String> {
        let name = self.id.as_deref().or(self.name.as_deref());
        name.map(|name| resource::split(name).0.to_owned())
            .ok_or_else(|| Error::invalid_params("id", "is required"))
    }
}
