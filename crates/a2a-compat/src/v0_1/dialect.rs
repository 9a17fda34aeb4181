//! The JSON format of 0.1.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, Operation, ProtocolVersion, Result,
    v1::{
        CancelTaskRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        SendMessageResponse, StreamResponse, SubscribeToTaskRequest, send_message_response,
    },
};
use serde_json::Value;

use super::{
    event::{self, Event},
    params::{TaskPushNotificationConfig, TaskQueryParams, TaskSendParams},
    types::Task,
};
use crate::{
    AnyRequest, AnyResponse, Dialect, ErrorObject,
    common::{
        error_data,
        json::{read_params, read_result, write},
    },
};

/// Revision 0.1, which only has JSON-RPC.
#[derive(Clone, Copy, Debug, Default)]
pub struct V0_1;

impl Dialect for V0_1 {
    fn revision(&self) -> ProtocolVersion {
        ProtocolVersion::V0_1
    }

    fn read_request(&self, method: &str, params: Value) -> Result<AnyRequest> {
        let query = || read_params::<TaskQueryParams>(&params);
        Ok(match method {
            "tasks/send" => {
                AnyRequest::SendMessage(read_params::<TaskSendParams>(&params)?.into_v1())
            }
            "tasks/sendSubscribe" => {
                AnyRequest::SendStreamingMessage(read_params::<TaskSendParams>(&params)?.into_v1())
            }
            "tasks/get" => {
                let TaskQueryParams { id, history_length, .. } = query()?;
                let history_length = Some(history_length.unwrap_or(0));
                AnyRequest::GetTask(GetTaskRequest { id, history_length, ..Default::default() })
            }
            "tasks/cancel" => {
                let TaskQueryParams { id, metadata, .. } = query()?;
                AnyRequest::CancelTask(CancelTaskRequest { id, metadata, ..Default::default() })
            }
            "tasks/resubscribe" => AnyRequest::SubscribeToTask(SubscribeToTaskRequest {
                id: query()?.id,
                ..Default::default()
            }),
            "tasks/pushNotification/set" => AnyRequest::CreateTaskPushNotificationConfig(
                read_params::<TaskPushNotificationConfig>(&params)?.into_v1(),
            ),
            "tasks/pushNotification/get" => {
                let id = query()?.id;
                AnyRequest::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
                    task_id: id.clone(),
                    id,
                    ..Default::default()
                })
            }
            _ => {
                let message = format!("revision 0.1 has no method {method:?}");
                return Err(
                    Error::new(ErrorKind::MethodNotFound, message).with_metadata("method", method)
                );
            }
        })
    }

    fn write_response(&self, _operation: Operation, response: AnyResponse) -> Value {
        use send_message_response::Payload;

        match response {
            AnyResponse::Sent(response) => match response.payload {
                Some(Payload::Task(task)) => write(&Task::from_v1(&task)),
                Some(Payload::Message(message)) => write(&Task::of_message(&message)),
                None => Value::Null,
            },
            AnyResponse::Task(task) => write(&Task::from_v1(&task)),
            AnyResponse::Config(config) => write(&TaskPushNotificationConfig::from_v1(&config)),
            // The revision has no method with these responses.
            AnyResponse::Tasks(_)
            | AnyResponse::Configs(_)
            | AnyResponse::Deleted
            | AnyResponse::Card(_) => Value::Null,
        }
    }

    fn write_event(&self, event: &StreamResponse, is_last: bool) -> Value {
        Event::from_v1(event, is_last).map_or(Value::Null, |event| write(&event))
    }

    fn write_error(&self, error: &Error) -> ErrorObject {
        let code = match error.kind() {
            ErrorKind::ExtendedAgentCardNotConfigured => ErrorKind::UnsupportedOperation,
            ErrorKind::ExtensionSupportRequired | ErrorKind::VersionNotSupported => {
                ErrorKind::InvalidRequest
            }
            ErrorKind::InvalidAgentResponse => ErrorKind::Internal,
            kind => kind,
        };
        ErrorObject {
            code: code.codes().jsonrpc,
            message: error.message().to_owned(),
            data: error_data::data(error),
        }
    }

    fn write_request(&self, request: AnyRequest) -> Result<(&'static str, Value)> {
        let query = |id: String| TaskQueryParams { id, history_length: None, metadata: None };
        Ok(match request {
            AnyRequest::SendMessage(request) => {
                ("tasks/send", write(&TaskSendParams::from_v1(&request)))
            }
            AnyRequest::SendStreamingMessage(request) => {
                ("tasks/sendSubscribe", write(&TaskSendParams::from_v1(&request)))
            }
            AnyRequest::GetTask(GetTaskRequest { id, history_length, .. }) => {
                ("tasks/get", write(&TaskQueryParams { history_length, ..query(id) }))
            }
            AnyRequest::CancelTask(CancelTaskRequest { id, metadata, .. }) => {
                ("tasks/cancel", write(&TaskQueryParams { metadata, ..query(id) }))
            }
            AnyRequest::SubscribeToTask(request) => {
                ("tasks/resubscribe", write(&query(request.id)))
            }
            AnyRequest::CreateTaskPushNotificationConfig(config) => {
                ("tasks/pushNotification/set", write(&TaskPushNotificationConfig::from_v1(&config)))
            }
            AnyRequest::GetTaskPushNotificationConfig(request) => {
                ("tasks/pushNotification/get", write(&query(request.task_id)))
            }
            AnyRequest::ListTasks(_)
            | AnyRequest::ListTaskPushNotificationConfigs(_)
            | AnyRequest::DeleteTaskPushNotificationConfig(_)
            | AnyRequest::GetExtendedAgentCard(_) => {
                let name = request.operation().name();
                return Err(Error::unsupported(format!("revision 0.1 has no {name}")));
            }
        })
    }

    fn read_response(&self, operation: Operation, result: Value) -> Result<AnyResponse> {
        let task = || read_result::<Task>(&result).map(Task::into_v1);
        match operation {
            Operation::SendMessage => {
                let payload = Some(send_message_response::Payload::Task(task()?));
                Ok(AnyResponse::Sent(SendMessageResponse { payload }))
            }
            Operation::GetTask | Operation::CancelTask => Ok(AnyResponse::Task(Arc::new(task()?))),
            Operation::CreateTaskPushNotificationConfig => read_config(&result),
            Operation::GetTaskPushNotificationConfig => {
                let none = result.is_null() || result.as_object().is_some_and(|o| o.is_empty());
                if none {
                    let message = "the task has no push notification config";
                    return Err(Error::new(ErrorKind::TaskNotFound, message));
                }
                read_config(&result)
            }
            Operation::SendStreamingMessage
            | Operation::ListTasks
            | Operation::SubscribeToTask
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::GetExtendedAgentCard => {
                let message = format!("revision 0.1 has no such response to {}", operation.name());
                Err(Error::new(ErrorKind::InvalidAgentResponse, message))
            }
        }
    }

    fn read_event(&self, event: Value) -> Result<StreamResponse> {
        Ok(StreamResponse { payload: Some(event::read(&event)?) })
    }
}

fn read_config(result: &Value) -> Result<AnyResponse> {
    read_result::<TaskPushNotificationConfig>(result)
        .map(|config| AnyResponse::Config(config.into_v1()))
}
