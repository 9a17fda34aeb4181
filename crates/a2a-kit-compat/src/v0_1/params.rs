//! Method parameters.

use a2a_core::{
    Result, Role,
    v1::{SendMessageRequest, TaskPushNotificationConfig},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    common::{
        Format,
        json::{Object, object, params_object, read_params, some, take_object, write},
        member,
        part::decode,
        parts::Parts as _,
        task::{TaskIds, read_id},
    },
    operation::TaskParams,
};

/// The parameters of a send next to the message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendParams {
    #[serde(deserialize_with = "member::id")]
    id: String,
    session_id: Option<String>,
    push_notification: Option<Object>,
    #[serde(default, deserialize_with = "member::int32")]
    history_length: Option<i32>,
    metadata: Option<Value>,
}

/// Reads the parameters of `tasks/send` and `tasks/sendSubscribe`.
pub(super) fn read_send(params: Value) -> Result<SendMessageRequest> {
    let mut params = params_object(params)?;
    let mut message = take_object(&mut params, "message")?;
    let params: SendParams = read_params(&params.into())?;
    let ids = TaskIds { task_id: params.id, context_id: params.session_id.unwrap_or_default() };
    Format::V0_1.read_received(&mut message, "message.", Role::User, &ids)?;
    let webhook = match params.push_notification {
        Some(webhook) => Some(TaskPushNotificationConfig {
            // A new task does not have an id yet.
            id: ids.task_id,
            ..Format::V0_1.read_webhook(webhook, "pushNotification.")?
        }),
        None => None,
    };
    let configuration = object([
        ("taskPushNotificationConfig", write(&webhook)),
        ("historyLength", params.history_length.unwrap_or(0).into()),
    ]);
    let mut request: SendMessageRequest = read_params(&object([
        ("message", message.into()),
        ("configuration", configuration),
        ("metadata", params.metadata.into()),
    ]))?;
    request.each_part(decode);
    Ok(request)
}

/// Writes the parameters of `tasks/send` and `tasks/sendSubscribe`.
pub(super) fn write_send(request: SendMessageRequest) -> Value {
    let message = request.message.unwrap_or_default();
    let configuration = request.configuration.unwrap_or_default();
    let webhook = configuration.task_push_notification_config;
    object([
        // Task ids of this revision are chosen by the client.
        ("id", some(&message.task_id).unwrap_or_else(a2a_core::fresh_id).into()),
        ("sessionId", some(&message.context_id).into()),
        ("message", Format::V0_1.write_message(message)),
        ("pushNotification", webhook.map(|config| Format::V0_1.write_webhook(&config)).into()),
        ("historyLength", configuration.history_length.filter(|length| *length != 0).into()),
        ("metadata", write(&request.metadata)),
    ])
}

/// Reads the parameters of the other task methods.
pub(super) fn read_task_params(params: Value) -> Result<TaskParams> {
    let mut params = params_object(params)?;
    read_id(&mut params, "id")?;
    read_params(&params.into())
}

/// Reads the webhook of a task, which has at most one.
pub(super) fn read_config(config: Value) -> Result<TaskPushNotificationConfig> {
    let mut config = params_object(config)?;
    let webhook = take_object(&mut config, "pushNotificationConfig")?;
    let id = read_task_params(config.into())?.id;
    let webhook = Format::V0_1.read_webhook(webhook, "pushNotificationConfig.")?;
    Ok(TaskPushNotificationConfig { id: id.clone(), task_id: id, ..webhook })
}

/// Writes the webhook of a task.
pub(super) fn write_config(config: &TaskPushNotificationConfig) -> Value {
    object([
        ("id", config.task_id.as_str().into()),
        ("pushNotificationConfig", Format::V0_1.write_webhook(config).into()),
    ])
}
