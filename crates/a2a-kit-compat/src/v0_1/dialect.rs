//! The JSON format of 0.1.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, Message, Operation, ProtocolVersion, Result, Task, TaskState,
    v1::{
        CancelTaskRequest, GetTaskRequest, SendMessageResponse, StreamResponse, TaskStatus,
        send_message_response::Payload,
    },
};
use serde_json::Value;

use super::params::{read_config, read_send, read_task_params, write_config, write_send};
use crate::{
    AnyRequest, AnyResponse, Dialect, ErrorObject,
    common::{
        Format, error_data,
        json::{object, unreadable, write},
    },
};

const METHODS: &[(&str, Operation)] = &[
    ("tasks/send", Operation::SendMessage),
    ("tasks/sendSubscribe", Operation::SendStreamingMessage),
    ("tasks/get", Operation::GetTask),
    ("tasks/cancel", Operation::CancelTask),
    ("tasks/resubscribe", Operation::SubscribeToTask),
    ("tasks/pushNotification/set", Operation::CreateTaskPushNotificationConfig),
    ("tasks/pushNotification/get", Operation::GetTaskPushNotificationConfig),
];

/// Revision 0.1, which only has JSON-RPC.
#[derive(Clone, Copy, Debug, Default)]
pub struct V0_1;

impl Dialect for V0_1 {
    fn revision(&self) -> ProtocolVersion {
        ProtocolVersion::V0_1
    }

    fn methods(&self) -> &'static [(&'static str, Operation)] {
        METHODS
    }

    fn read_params(&self, operation: Operation, params: Value) -> Result<AnyRequest> {
        Ok(match operation {
            Operation::SendMessage | Operation::SendStreamingMessage => {
                AnyRequest::of_send(operation, read_send(params)?)
            }
            Operation::CreateTaskPushNotificationConfig => {
                AnyRequest::CreateTaskPushNotificationConfig(read_config(params)?)
            }
            Operation::GetTask
            | Operation::CancelTask
            | Operation::SubscribeToTask
            | Operation::GetTaskPushNotificationConfig => {
                let mut task = read_task_params(params)?;
                task.history_length.get_or_insert(0);
                let config_id = task.id.clone();
                AnyRequest::of_task(operation, task, config_id)?
            }
            _ => {
                let message = format!("version 0.1 has no {}", operation.name());
                return Err(Error::unsupported(message));
            }
        })
    }

    fn write_response(&self, _operation: Operation, response: AnyResponse) -> Value {
        match response {
            AnyResponse::Sent(response) => match response.payload {
                Some(Payload::Task(task)) => Format::V0_1.write_task(task),
                Some(Payload::Message(message)) => Format::V0_1.write_task(of_message(message)),
                None => Value::Null,
            },
            AnyResponse::Task(task) => Format::V0_1.write_task(Arc::unwrap_or_clone(task)),
            AnyResponse::Config(config) => write_config(&config),
            // The revision has no method with these responses.
            _ => Value::Null,
        }
    }

    fn write_event(&self, event: &StreamResponse, is_last: bool) -> Value {
        Format::V0_1.write_event(event.clone(), is_last)
    }

    fn write_error(&self, error: &Error) -> ErrorObject {
        let kind = match error.kind() {
            ErrorKind::ExtendedAgentCardNotConfigured => ErrorKind::UnsupportedOperation,
            ErrorKind::ExtensionSupportRequired | ErrorKind::VersionNotSupported => {
                ErrorKind::InvalidRequest
            }
            ErrorKind::InvalidAgentResponse => ErrorKind::Internal,
            kind => kind,
        };
        error_data::object(kind, error)
    }

    fn write_params(&self, request: AnyRequest) -> Value {
        let task = |id: String| object([("id", id.into())]);
        match request {
            AnyRequest::SendMessage(request) | AnyRequest::SendStreamingMessage(request) => {
                write_send(request)
            }
            AnyRequest::GetTask(GetTaskRequest { id, history_length, .. }) => {
                object([("id", id.into()), ("historyLength", history_length.into())])
            }
            AnyRequest::CancelTask(CancelTaskRequest { id, metadata, .. }) => {
                object([("id", id.into()), ("metadata", write(&metadata))])
            }
            AnyRequest::SubscribeToTask(request) => task(request.id),
            AnyRequest::CreateTaskPushNotificationConfig(config) => write_config(&config),
            AnyRequest::GetTaskPushNotificationConfig(request) => task(request.task_id),
            _ => Value::Null,
        }
    }

    fn read_response(&self, operation: Operation, result: Value) -> Result<AnyResponse> {
        let config = |result| read_config(result).map(AnyResponse::Config).map_err(unreadable);
        match operation {
            Operation::SendMessage => {
                let payload = Some(Payload::Task(Format::V0_1.read_task(result)?));
                Ok(AnyResponse::Sent(SendMessageResponse { payload }))
            }
            Operation::GetTask | Operation::CancelTask => {
                Ok(AnyResponse::Task(Arc::new(Format::V0_1.read_task(result)?)))
            }
            Operation::CreateTaskPushNotificationConfig => config(result),
            Operation::GetTaskPushNotificationConfig => {
                let none = result.is_null() || result.as_object().is_some_and(|o| o.is_empty());
                if none {
                    let message = "the task has no push notification config";
                    return Err(Error::new(ErrorKind::TaskNotFound, message));
                }
                config(result)
            }
            _ => {
                let name = operation.name();
                Err(Error::invalid_response(format!("version 0.1 has no such response to {name}")))
            }
        }
    }

    fn read_event(&self, event: Value) -> Result<StreamResponse> {
        Format::V0_1.read_event(event)
    }
}

/// A completed task with a message: every response of this revision is a task.
fn of_message(message: Message) -> Task {
    Task {
        id: message.task_id.clone(),
        context_id: message.context_id.clone(),
        status: Some(TaskStatus {
            state: TaskState::Completed.into(),
            message: Some(message),
            timestamp: None,
        }),
        ..Task::default()
    }
}
