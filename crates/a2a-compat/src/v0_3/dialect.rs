//! The JSON format of 0.2 and 0.3.

use a2a_core::{
    Error, ErrorKind, Operation, ProtocolVersion, Result, Validate,
    v1::{self, StreamResponse, send_message_response, stream_response},
};
use serde_json::{Value, json};

use super::{
    card::{read_card, write_card},
    event::Event,
    push::{Configs, TaskPushNotificationConfig},
    request::{ConfigParams, MessageSendParams, TaskParams},
    task::{Task, write_task},
};
use crate::{
    AnyRequest, AnyResponse, Dialect, ErrorObject,
    common::{
        error_data,
        json::{read_params, read_result, write},
    },
};

/// Revisions 0.2 and 0.3 in JSON.
///
/// A webhook may be requested without its id, which 1.0 does not allow. The request then has an
/// empty `id` and means the webhook with the id of the task, or else the oldest. Servers resolve it
/// by listing the webhooks.
#[derive(Clone, Copy, Debug, Default)]
pub struct V0_3;

impl Dialect for V0_3 {
    fn revision(&self) -> ProtocolVersion {
        ProtocolVersion::V0_3
    }

    fn read_request(&self, method: &str, params: Value) -> Result<AnyRequest> {
        Ok(match method {
            "message/send" => AnyRequest::SendMessage(send(&params)?),
            "message/stream" => AnyRequest::SendStreamingMessage(send(&params)?),
            "tasks/get" => {
                let TaskParams { id, history_length, .. } = read_params(&params)?;
                AnyRequest::GetTask(valid(v1::GetTaskRequest {
                    id,
                    history_length,
                    ..Default::default()
                })?)
            }
            "tasks/cancel" => {
                let TaskParams { id, metadata, .. } = read_params(&params)?;
                AnyRequest::CancelTask(valid(v1::CancelTaskRequest {
                    id,
                    metadata,
                    ..Default::default()
                })?)
            }
            "tasks/resubscribe" => {
                let TaskParams { id, .. } = read_params(&params)?;
                let request = v1::SubscribeToTaskRequest { id, ..Default::default() };
                AnyRequest::SubscribeToTask(valid(request)?)
            }
            "tasks/pushNotificationConfig/set" => {
                let config: TaskPushNotificationConfig = read_params(&params)?;
                let config = valid(v1::TaskPushNotificationConfig::from(config))?;
                required("taskId", &config.task_id)?;
                AnyRequest::CreateTaskPushNotificationConfig(config)
            }
            "tasks/pushNotificationConfig/get" => {
                let ConfigParams { id: task_id, push_notification_config_id: id } =
                    read_params(&params)?;
                required("id", &task_id)?;
                AnyRequest::GetTaskPushNotificationConfig(
                    v1::GetTaskPushNotificationConfigRequest { task_id, id, ..Default::default() },
                )
            }
            "tasks/pushNotificationConfig/list" => {
                let ConfigParams { id: task_id, .. } = read_params(&params)?;
                required("id", &task_id)?;
                AnyRequest::ListTaskPushNotificationConfigs(valid(
                    v1::ListTaskPushNotificationConfigsRequest { task_id, ..Default::default() },
                )?)
            }
            "tasks/pushNotificationConfig/delete" => {
                let ConfigParams { id: task_id, push_notification_config_id: id } =
                    read_params(&params)?;
                required("id", &task_id)?;
                required("pushNotificationConfigId", &id)?;
                AnyRequest::DeleteTaskPushNotificationConfig(valid(
                    v1::DeleteTaskPushNotificationConfigRequest {
                        task_id,
                        id,
                        ..Default::default()
                    },
                )?)
            }
            // The text of 0.3 uses both names.
            "agent/getAuthenticatedExtendedCard" | "agent/authenticatedExtendedCard" => {
                AnyRequest::GetExtendedAgentCard(v1::GetExtendedAgentCardRequest::default())
            }
            other => {
                let name: String = other.chars().take(64).collect();
                let message = format!("method not found: {name}");
                return Err(Error::new(ErrorKind::MethodNotFound, message));
            }
        })
    }

    fn write_response(&self, _operation: Operation, response: AnyResponse) -> Value {
        match response {
            AnyResponse::Sent(sent) => match sent.payload {
                Some(send_message_response::Payload::Task(task)) => write_task(&task),
                Some(send_message_response::Payload::Message(message)) => {
                    write(&super::message::Message::from(message))
                }
                None => Value::Null,
            },
            AnyResponse::Task(task) => write_task(&task),
            // Only the REST table has this operation, which returns a bare array.
            AnyResponse::Tasks(page) => page.tasks.iter().map(write_task).collect(),
            AnyResponse::Config(config) => write(&TaskPushNotificationConfig::from(config)),
            AnyResponse::Configs(page) => {
                let configs = page.configs.into_iter().map(TaskPushNotificationConfig::from);
                configs.map(|config| write(&config)).collect()
            }
            AnyResponse::Deleted => Value::Null,
            AnyResponse::Card(card) => write_card(&card),
        }
    }

    fn write_event(&self, event: &StreamResponse, is_last: bool) -> Value {
        Event::from_v1(event.clone(), is_last).map_or(Value::Null, |event| write(&event))
    }

    fn write_error(&self, error: &Error) -> ErrorObject {
        ErrorObject {
            code: error.kind().codes().jsonrpc,
            message: error.message().to_owned(),
            data: error_data::data(error),
        }
    }

    fn write_request(&self, request: AnyRequest) -> Result<(&'static str, Value)> {
        let task =
            |id, history_length, metadata| write(&TaskParams { id, history_length, metadata });
        let config =
            |task_id, id| write(&ConfigParams { id: task_id, push_notification_config_id: id });
        Ok(match request {
            AnyRequest::SendMessage(request) => {
                ("message/send", write(&MessageSendParams::from(request)))
            }
            AnyRequest::SendStreamingMessage(request) => {
                ("message/stream", write(&MessageSendParams::from(request)))
            }
            AnyRequest::GetTask(request) => {
                ("tasks/get", task(request.id, request.history_length, None))
            }
            AnyRequest::CancelTask(request) => {
                ("tasks/cancel", task(request.id, None, request.metadata))
            }
            AnyRequest::SubscribeToTask(request) => {
                ("tasks/resubscribe", task(request.id, None, None))
            }
            AnyRequest::CreateTaskPushNotificationConfig(request) => {
                let config = TaskPushNotificationConfig::from(request);
                ("tasks/pushNotificationConfig/set", write(&config))
            }
            AnyRequest::GetTaskPushNotificationConfig(request) => {
                ("tasks/pushNotificationConfig/get", config(request.task_id, request.id))
            }
            AnyRequest::ListTaskPushNotificationConfigs(request) => {
                ("tasks/pushNotificationConfig/list", config(request.task_id, String::new()))
            }
            AnyRequest::DeleteTaskPushNotificationConfig(request) => {
                ("tasks/pushNotificationConfig/delete", config(request.task_id, request.id))
            }
            AnyRequest::GetExtendedAgentCard(_) => {
                ("agent/getAuthenticatedExtendedCard", json!({}))
            }
            AnyRequest::ListTasks(_) => {
                return Err(Error::unsupported("version 0.3 has no ListTasks"));
            }
        })
    }

    fn read_response(&self, operation: Operation, result: Value) -> Result<AnyResponse> {
        Ok(match operation {
            Operation::SendMessage | Operation::SendStreamingMessage => {
                let payload = match Event::read(&result)? {
                    Event::Task(task) => send_message_response::Payload::Task(task.into()),
                    Event::Message(message) => {
                        let message = message.into_v1(a2a_core::Role::Agent);
                        send_message_response::Payload::Message(message)
                    }
                    Event::StatusUpdate(_) | Event::ArtifactUpdate(_) => {
                        return Err(invalid_response(
                            "the response is neither a task nor a message",
                        ));
                    }
                };
                AnyResponse::Sent(v1::SendMessageResponse { payload: Some(payload) })
            }
            Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => {
                match Event::read(&result)? {
                    Event::Task(task) => AnyResponse::Task(v1::Task::from(task).into()),
                    _ => return Err(invalid_response("the response is not a task")),
                }
            }
            Operation::ListTasks => {
                let tasks = result.get("tasks").unwrap_or(&result).as_array();
                let tasks = tasks.ok_or_else(|| invalid_response("the response is not a list"))?;
                let tasks: Result<Vec<Task>> = tasks.iter().map(read_result).collect();
                AnyResponse::Tasks(v1::ListTasksResponse {
                    tasks: tasks?.into_iter().map(Into::into).collect(),
                    ..Default::default()
                })
            }
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig => {
                let config: TaskPushNotificationConfig = read_result(&result)?;
                AnyResponse::Config(config.into())
            }
            Operation::ListTaskPushNotificationConfigs => {
                let configs: Configs = serde_json::from_value(result).map_err(|error| {
                    invalid_response("the response is not a list of configs").with_source(error)
                })?;
                AnyResponse::Configs(v1::ListTaskPushNotificationConfigsResponse {
                    configs: configs.into_vec().into_iter().map(Into::into).collect(),
                    ..Default::default()
                })
            }
            Operation::DeleteTaskPushNotificationConfig => AnyResponse::Deleted,
            Operation::GetExtendedAgentCard => AnyResponse::Card(read_card(result)?),
        })
    }

    fn read_event(&self, event: Value) -> Result<StreamResponse> {
        let event = StreamResponse::from(Event::read(&event)?);
        match event.payload {
            Some(stream_response::Payload::Task(ref task)) if task.id.is_empty() => {
                Err(invalid_response("the task has no id"))
            }
            _ => Ok(event),
        }
    }
}

fn send(params: &Value) -> Result<v1::SendMessageRequest> {
    let params: MessageSendParams = read_params(params)?;
    valid(params.into())
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

fn invalid_response(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, message)
}
