//! The JSON format of the draft of 1.0.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, Operation, ProtocolVersion, Result,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest, SendMessageResponse, StreamResponse,
        SubscribeToTaskRequest, send_message_response, stream_response::Payload,
    },
};
use serde_json::{Value, json};

use super::{
    card,
    config::{
        ConfigParams, ListConfigsParams, ListConfigsResponse, SetConfigParams,
        TaskPushNotificationConfig, WrittenSetConfigParams,
    },
    event::Event,
    list::{ListTasksParams, ListTasksResponse},
    params::{SendMessageParams, TaskParams},
    types::Task,
};
use crate::{
    AnyRequest, AnyResponse, Dialect, ErrorObject,
    common::{
        error_data,
        json::{read_params, read_result, write},
    },
};

/// The draft of 1.0. JSON-RPC and HTTP+JSON share its JSON format.
#[derive(Clone, Copy, Debug, Default)]
pub struct V1Draft;

impl Dialect for V1Draft {
    fn revision(&self) -> ProtocolVersion {
        ProtocolVersion::V1Draft
    }

    fn read_request(&self, method: &str, params: Value) -> Result<AnyRequest> {
        let operation = operation(method).ok_or_else(|| {
            let message = format!("the draft of 1.0 has no method {method:?}");
            Error::new(ErrorKind::MethodNotFound, message).with_metadata("method", method)
        })?;
        read_params_of(operation, &params)
    }

    fn write_response(&self, _operation: Operation, response: AnyResponse) -> Value {
        match response {
            AnyResponse::Sent(response) => {
                Event::from_v1_response(&response).map_or(Value::Null, |event| write(&event))
            }
            AnyResponse::Task(task) => write(&Task::from_v1(&task)),
            AnyResponse::Tasks(tasks) => write(&ListTasksResponse::from_v1(&tasks)),
            AnyResponse::Config(config) => write(&TaskPushNotificationConfig::from_v1(&config)),
            AnyResponse::Configs(configs) => write(&ListConfigsResponse::from_v1(&configs)),
            AnyResponse::Deleted => json!({}),
            AnyResponse::Card(card) => card::write_card(&card),
        }
    }

    fn write_event(&self, event: &StreamResponse, is_last: bool) -> Value {
        Event::from_v1(event, is_last).map_or(Value::Null, |event| write(&event))
    }

    fn write_error(&self, error: &Error) -> ErrorObject {
        ErrorObject {
            code: error.kind().codes().jsonrpc,
            message: error.message().to_owned(),
            data: error_data::data(error),
        }
    }

    fn write_request(&self, request: AnyRequest) -> Result<(&'static str, Value)> {
        let method = match request.operation() {
            Operation::CreateTaskPushNotificationConfig => "SetTaskPushNotificationConfig",
            Operation::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfig",
            operation => operation.name(),
        };
        Ok((method, write_params(&request)))
    }

    fn read_response(&self, operation: Operation, result: Value) -> Result<AnyResponse> {
        Ok(match operation {
            Operation::SendMessage => AnyResponse::Sent(read_sent(&result)?),
            Operation::GetTask | Operation::CancelTask => {
                AnyResponse::Task(Arc::new(read_result::<Task>(&result)?.into_v1()))
            }
            Operation::ListTasks => {
                AnyResponse::Tasks(read_result::<ListTasksResponse>(&result)?.into_v1())
            }
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig => {
                AnyResponse::Config(read_result::<TaskPushNotificationConfig>(&result)?.into_v1())
            }
            Operation::ListTaskPushNotificationConfigs => {
                AnyResponse::Configs(read_result::<ListConfigsResponse>(&result)?.into_v1())
            }
            Operation::DeleteTaskPushNotificationConfig => AnyResponse::Deleted,
            Operation::GetExtendedAgentCard => AnyResponse::Card(card::read_card(&result)?),
            Operation::SendStreamingMessage | Operation::SubscribeToTask => {
                let message = format!("{} returns a stream", operation.name());
                return Err(Error::new(ErrorKind::InvalidAgentResponse, message));
            }
        })
    }

    fn read_event(&self, event: Value) -> Result<StreamResponse> {
        Ok(StreamResponse { payload: Some(Event::read(&event)?.into_v1()) })
    }
}

/// The operation of a method, by its name in the draft or in 1.0.
fn operation(method: &str) -> Option<Operation> {
    match method {
        "SetTaskPushNotificationConfig" => Some(Operation::CreateTaskPushNotificationConfig),
        "ListTaskPushNotificationConfig" => Some(Operation::ListTaskPushNotificationConfigs),
        _ => Operation::ALL.into_iter().find(|operation| operation.name() == method),
    }
}

/// Reads the parameters of an operation.
pub(super) fn read_params_of(operation: Operation, params: &Value) -> Result<AnyRequest> {
    let send = || read_params::<SendMessageParams>(params).map(SendMessageParams::into_v1);
    let task = || read_params::<TaskParams>(params);
    let config = || read_params::<ConfigParams>(params)?.ids();
    Ok(match operation {
        Operation::SendMessage => AnyRequest::SendMessage(send()?),
        Operation::SendStreamingMessage => AnyRequest::SendStreamingMessage(send()?),
        Operation::GetTask => {
            let task = task()?;
            AnyRequest::GetTask(GetTaskRequest {
                id: task.id()?,
                history_length: task.history_length,
                ..Default::default()
            })
        }
        Operation::ListTasks if params.is_null() => {
            AnyRequest::ListTasks(ListTasksParams::default().into_v1()?)
        }
        Operation::ListTasks => {
            AnyRequest::ListTasks(read_params::<ListTasksParams>(params)?.into_v1()?)
        }
        Operation::CancelTask => {
            let task = task()?;
            AnyRequest::CancelTask(CancelTaskRequest {
                id: task.id()?,
                metadata: task.metadata,
                ..Default::default()
            })
        }
        Operation::SubscribeToTask => AnyRequest::SubscribeToTask(SubscribeToTaskRequest {
            id: task()?.id()?,
            ..Default::default()
        }),
        Operation::CreateTaskPushNotificationConfig => {
            let config = read_params::<SetConfigParams>(params)?.into_v1()?;
            AnyRequest::CreateTaskPushNotificationConfig(config)
        }
        Operation::GetTaskPushNotificationConfig => {
            let (task_id, id) = config()?;
            AnyRequest::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
                task_id,
                id,
                ..Default::default()
            })
        }
        Operation::ListTaskPushNotificationConfigs => {
            let request = read_params::<ListConfigsParams>(params)?.into_v1()?;
            AnyRequest::ListTaskPushNotificationConfigs(request)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            let (task_id, id) = config()?;
            AnyRequest::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
                task_id,
                id,
                ..Default::default()
            })
        }
        Operation::GetExtendedAgentCard => {
            AnyRequest::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
        }
    })
}

/// Writes the parameters of a request.
pub(super) fn write_params(request: &AnyRequest) -> Value {
    match request {
        AnyRequest::SendMessage(request) | AnyRequest::SendStreamingMessage(request) => {
            write(&SendMessageParams::from_v1(request))
        }
        AnyRequest::GetTask(request) => write(&TaskParams {
            history_length: request.history_length,
            ..TaskParams::new(&request.id)
        }),
        AnyRequest::ListTasks(request) => write(&ListTasksParams::from_v1(request)),
        AnyRequest::CancelTask(request) => write(&TaskParams {
            metadata: request.metadata.clone(),
            ..TaskParams::new(&request.id)
        }),
        AnyRequest::SubscribeToTask(request) => write(&TaskParams::new(&request.id)),
        AnyRequest::CreateTaskPushNotificationConfig(config) => {
            write(&WrittenSetConfigParams::from_v1(config))
        }
        AnyRequest::GetTaskPushNotificationConfig(request) => {
            write(&ConfigParams::new(&request.task_id, &request.id))
        }
        AnyRequest::ListTaskPushNotificationConfigs(request) => {
            write(&ListConfigsParams::from_v1(request))
        }
        AnyRequest::DeleteTaskPushNotificationConfig(request) => {
            write(&ConfigParams::new(&request.task_id, &request.id))
        }
        AnyRequest::GetExtendedAgentCard(_) => json!({}),
    }
}

fn read_sent(result: &Value) -> Result<SendMessageResponse> {
    let payload = match Event::read(result)?.into_v1() {
        Payload::Task(task) => send_message_response::Payload::Task(task),
        Payload::Message(message) => send_message_response::Payload::Message(message),
        Payload::StatusUpdate(_) | Payload::ArtifactUpdate(_) => {
            let message = "the response is neither a task nor a message";
            return Err(Error::new(ErrorKind::InvalidAgentResponse, message));
        }
    };
    Ok(SendMessageResponse { payload: Some(payload) })
}
