//! Parameters of message and task methods.

use a2a_core::{
    Error, Result,
    v1::{self, SendMessageRequest},
    well_known::Struct,
};
use serde::{Deserialize, Serialize};

use super::{config::PushNotificationConfig, resource, types::Message};
use crate::common::member;

/// Parameters of `SendMessage` and `SendStreamingMessage`.
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

/// The configuration of a send.
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
    // The default is non-blocking.
    #[serde(default, deserialize_with = "member::or_default")]
    blocking: bool,
}

/// Parameters of methods for a task, identified by id, name or both.
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
    pub(super) fn into_v1(self) -> SendMessageRequest {
        let configuration = self.configuration;
        let webhook = configuration.push_notification_config.map(PushNotificationConfig::into_v1);
        SendMessageRequest {
            message: Some(self.message.into_v1()),
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

    pub(super) fn from_v1(request: &SendMessageRequest) -> Self {
        let message = request.message.clone().unwrap_or_default();
        let configuration = request.configuration.clone().unwrap_or_default();
        let webhook = configuration.task_push_notification_config.as_ref();
        Self {
            message: Message::from_v1(&message),
            configuration: SendMessageConfiguration {
                accepted_output_modes: configuration.accepted_output_modes,
                push_notification_config: webhook.map(PushNotificationConfig::from_v1),
                history_length: configuration.history_length,
                blocking: !configuration.return_immediately,
            },
            metadata: request.metadata.clone(),
        }
    }
}

impl TaskParams {
    /// Writes both: the text of the draft uses the id, its proto the name.
    pub(super) fn new(id: &str) -> Self {
        Self { id: Some(id.to_owned()), name: Some(resource::task(id)), ..Self::default() }
    }

    /// The task id.
    pub(super) fn id(&self) -> Result<String> {
        let name = self.id.as_deref().or(self.name.as_deref());
        name.map(|name| resource::split(name).0.to_owned())
            .ok_or_else(|| Error::invalid_params("id", "is required"))
    }
}
