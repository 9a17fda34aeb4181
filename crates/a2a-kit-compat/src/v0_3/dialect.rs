//! The JSON format of 0.2 and 0.3.

use std::sync::Arc;

use a2a_core::{
    Error, Operation, ProtocolVersion, Result, Task, Validate,
    v1::{self, SendMessageRequest, StreamResponse, send_message_response, stream_response},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::card::{read_card, write_card};
use crate::{
    AnyRequest, AnyResponse, Dialect, ErrorObject,
    common::{
        Format, error_data,
        json::{object, params_object, read_params, rename, some, take_object, unreadable, write},
    },
    operation::TaskParams,
};

const METHODS: &[(&str, Operation)] = &[
    ("message/send", Operation::SendMessage),
    ("message/stream", Operation::SendStreamingMessage),
    ("tasks/get", Operation::GetTask),
    ("tasks/cancel", Operation::CancelTask),
    ("tasks/resubscribe", Operation::SubscribeToTask),
    ("tasks/pushNotificationConfig/set", Operation::CreateTaskPushNotificationConfig),
    ("tasks/pushNotificationConfig/get", Operation::GetTaskPushNotificationConfig),
    ("tasks/pushNotificationConfig/list", Operation::ListTaskPushNotificationConfigs),
    ("tasks/pushNotificationConfig/delete", Operation::DeleteTaskPushNotificationConfig),
    // The text of 0.3 uses both names.
    ("agent/getAuthenticatedExtendedCard", Operation::GetExtendedAgentCard),
    ("agent/authenticatedExtendedCard", Operation::GetExtendedAgentCard),
];

/// Revisions 0.2 and 0.3 in JSON.
///
/// A webhook may be requested without its id, which 1.0 does not allow. The request then has an
/// empty `id` and means the webhook with the id of the task, or else the oldest. Servers resolve it
/// by listing the webhooks.
#[derive(Clone, Copy, Debug, Default)]
pub struct V0_3;

/// Parameters of methods for a webhook.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigParams {
    id: String,
    push_notification_config_id: Option<String>,
}

impl Dialect for V0_3 {
    fn revision(&self) -> ProtocolVersion {
        ProtocolVersion::V0_3
    }

    fn methods(&self) -> &'static [(&'static str, Operation)] {
        METHODS
    }

    fn read_params(&self, operation: Operation, params: Value) -> Result<AnyRequest> {
        Ok(match operation {
            Operation::SendMessage | Operation::SendStreamingMessage => {
                AnyRequest::of_send(operation, read_send(params)?)
            }
            Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => {
                let request = AnyRequest::of_task(operation, read_params(&params)?, String::new())?;
                request.validate()?;
                request
            }
            Operation::CreateTaskPushNotificationConfig => {
                let config = valid(read_config(params)?)?;
                required("taskId", &config.task_id)?;
                AnyRequest::CreateTaskPushNotificationConfig(config)
            }
            Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig => {
                let ConfigParams { id, push_notification_config_id } = read_params(&params)?;
                required("id", &id)?;
                let config_id = push_notification_config_id.unwrap_or_default();
                if operation == Operation::DeleteTaskPushNotificationConfig {
                    required("pushNotificationConfigId", &config_id)?;
                }
                AnyRequest::of_task(operation, TaskParams { id, ..Default::default() }, config_id)?
            }
            Operation::GetExtendedAgentCard => {
                AnyRequest::GetExtendedAgentCard(v1::GetExtendedAgentCardRequest::default())
            }
            Operation::ListTasks => {
                return Err(Error::unsupported("version 0.3 has no ListTasks"));
            }
        })
    }

    fn write_response(&self, _operation: Operation, response: AnyResponse) -> Value {
        match response {
            AnyResponse::Sent(sent) => match sent.payload {
                Some(send_message_response::Payload::Task(task)) => Format::V0_3.write_task(task),
                Some(send_message_response::Payload::Message(message)) => {
                    Format::V0_3.write_message(message)
                }
                None => Value::Null,
            },
            AnyResponse::Task(task) => Format::V0_3.write_task(Arc::unwrap_or_clone(task)),
            // Only the REST table has this operation, which returns a bare array.
            AnyResponse::Tasks(page) => {
                page.tasks.into_iter().map(|task| Format::V0_3.write_task(task)).collect()
            }
            AnyResponse::Config(config) => write_config(&config),
            AnyResponse::Configs(page) => page.configs.iter().map(write_config).collect(),
            AnyResponse::Deleted => Value::Null,
            AnyResponse::Card(card) => write_card(&card),
        }
    }

    fn write_event(&self, event: &StreamResponse, is_last: bool) -> Value {
        Format::V0_3.write_event(event.clone(), is_last)
    }

    fn write_error(&self, error: &Error) -> ErrorObject {
        error_data::object(error.kind(), error)
    }

    fn write_params(&self, request: AnyRequest) -> Value {
        let task = |id: String| object([("id", id.into())]);
        let config = |task_id: String, id: String| {
            object([("id", task_id.into()), ("pushNotificationConfigId", some(&id).into())])
        };
        match request {
            AnyRequest::SendMessage(request) | AnyRequest::SendStreamingMessage(request) => {
                Format::V0_3.write_send(request)
            }
            AnyRequest::GetTask(v1::GetTaskRequest { id, history_length, .. }) => {
                object([("id", id.into()), ("historyLength", history_length.into())])
            }
            AnyRequest::CancelTask(v1::CancelTaskRequest { id, metadata, .. }) => {
                object([("id", id.into()), ("metadata", write(&metadata))])
            }
            AnyRequest::SubscribeToTask(request) => task(request.id),
            AnyRequest::CreateTaskPushNotificationConfig(config) => write_config(&config),
            AnyRequest::GetTaskPushNotificationConfig(request) => {
                config(request.task_id, request.id)
            }
            AnyRequest::ListTaskPushNotificationConfigs(request) => task(request.task_id),
            AnyRequest::DeleteTaskPushNotificationConfig(request) => {
                config(request.task_id, request.id)
            }
            AnyRequest::GetExtendedAgentCard(_) => json!({}),
            AnyRequest::ListTasks(_) => Value::Null,
        }
    }

    fn read_response(&self, operation: Operation, result: Value) -> Result<AnyResponse> {
        Ok(match operation {
            Operation::SendMessage | Operation::SendStreamingMessage => {
                AnyResponse::Sent(Format::V0_3.read_sent(result)?)
            }
            Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => {
                match Format::V0_3.read_event(result)?.payload {
                    Some(stream_response::Payload::Task(task)) => AnyResponse::Task(task.into()),
                    _ => return Err(Error::invalid_response("the response is not a task")),
                }
            }
            Operation::ListTasks => {
                let tasks = list(result, "tasks")?.into_iter();
                let tasks: Result<Vec<Task>> =
                    tasks.map(|task| Format::V0_3.read_task(task)).collect();
                AnyResponse::Tasks(v1::ListTasksResponse { tasks: tasks?, ..Default::default() })
            }
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig => {
                AnyResponse::Config(read_config(result).map_err(unreadable)?)
            }
            Operation::ListTaskPushNotificationConfigs => {
                let configs = list(result, "configs")?.into_iter().map(read_config);
                AnyResponse::Configs(v1::ListTaskPushNotificationConfigsResponse {
                    configs: configs.collect::<Result<_>>().map_err(unreadable)?,
                    ..Default::default()
                })
            }
            Operation::DeleteTaskPushNotificationConfig => AnyResponse::Deleted,
            Operation::GetExtendedAgentCard => AnyResponse::Card(read_card(result)?),
        })
    }

    fn read_event(&self, event: Value) -> Result<StreamResponse> {
        let event = Format::V0_3.read_event(event)?;
        match &event.payload {
            Some(stream_response::Payload::Task(task)) if task.id.is_empty() => {
                Err(Error::invalid_response("the task has no id"))
            }
            _ => Ok(event),
        }
    }
}

/// Writes a task of 0.2 or 0.3, which is also the webhook body.
pub fn write_task(task: &Task) -> Value {
    Format::V0_3.write_task(task.clone())
}

fn read_send(params: Value) -> Result<SendMessageRequest> {
    valid(Format::V0_3.read_send(params)?)
}

/// Reads the webhook of a task.
fn read_config(config: Value) -> Result<v1::TaskPushNotificationConfig> {
    /// The members next to the webhook.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Config {
        task_id: String,
    }
    let mut config = params_object(config)?;
    if !config.contains_key("pushNotificationConfig") {
        rename(&mut config, "config", "pushNotificationConfig");
    }
    let webhook = take_object(&mut config, "pushNotificationConfig")?;
    let Config { task_id } = read_params(&config.into())?;
    let webhook = Format::V0_3.read_webhook(webhook, "pushNotificationConfig.")?;
    Ok(v1::TaskPushNotificationConfig { task_id, ..webhook })
}

/// Writes the webhook of a task.
fn write_config(config: &v1::TaskPushNotificationConfig) -> Value {
    object([
        ("taskId", config.task_id.as_str().into()),
        ("pushNotificationConfig", Format::V0_3.write_webhook(config).into()),
    ])
}

/// The elements of a response: an array, or the object of 1.0 and REST with an array in a member.
fn list(mut response: Value, member: &str) -> Result<Vec<Value>> {
    let list = match response.as_object_mut() {
        Some(page) => page.remove(member).unwrap_or_else(|| json!([])),
        None => response,
    };
    match list {
        Value::Array(elements) => Ok(elements),
        _ => Err(Error::invalid_response("the response is not a list")),
    }
}

/// Rejects a missing member by its name in this revision, which differs from that in 1.0.
fn required(name: &str, id: &str) -> Result<()> {
    if id.is_empty() { Err(Error::invalid_params(name, "is required")) } else { Ok(()) }
}

// Validated here because these requests do not pass the binding of 1.0.
fn valid<T: Validate>(request: T) -> Result<T> {
    request.validate()?;
    Ok(request)
}
