//! The JSON format of the draft of 1.0.

use std::sync::Arc;

use a2a_core::{
    Error, Operation, ProtocolVersion, Result,
    v1::{
        CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, StreamResponse,
        send_message_response, stream_response::Payload,
    },
};
use serde_json::{Value, json};

use super::{card, config, list};
use crate::{
    AnyRequest, AnyResponse, Dialect, ErrorObject,
    common::{
        Format, error_data,
        json::{params_object, read_params, take, write},
        name::{split, task_name},
    },
    operation::TaskParams,
};

/// Names of 1.0 are also accepted where the draft has others.
const METHODS: &[(&str, Operation)] = &[
    ("SendMessage", Operation::SendMessage),
    ("SendStreamingMessage", Operation::SendStreamingMessage),
    ("GetTask", Operation::GetTask),
    ("ListTasks", Operation::ListTasks),
    ("CancelTask", Operation::CancelTask),
    ("SubscribeToTask", Operation::SubscribeToTask),
    ("SetTaskPushNotificationConfig", Operation::CreateTaskPushNotificationConfig),
    ("CreateTaskPushNotificationConfig", Operation::CreateTaskPushNotificationConfig),
    ("GetTaskPushNotificationConfig", Operation::GetTaskPushNotificationConfig),
    ("ListTaskPushNotificationConfig", Operation::ListTaskPushNotificationConfigs),
    ("ListTaskPushNotificationConfigs", Operation::ListTaskPushNotificationConfigs),
    ("DeleteTaskPushNotificationConfig", Operation::DeleteTaskPushNotificationConfig),
    ("GetExtendedAgentCard", Operation::GetExtendedAgentCard),
];

/// The draft of 1.0. JSON-RPC and HTTP+JSON share its JSON format.
#[derive(Clone, Copy, Debug, Default)]
pub struct V1Draft;

impl Dialect for V1Draft {
    fn revision(&self) -> ProtocolVersion {
        ProtocolVersion::V1Draft
    }

    fn methods(&self) -> &'static [(&'static str, Operation)] {
        METHODS
    }

    fn read_params(&self, operation: Operation, params: Value) -> Result<AnyRequest> {
        Ok(match operation {
            Operation::SendMessage | Operation::SendStreamingMessage => {
                AnyRequest::of_send(operation, Format::Draft.read_send(params)?)
            }
            Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => {
                AnyRequest::of_task(operation, read_task_params(params)?, String::new())?
            }
            Operation::ListTasks => AnyRequest::ListTasks(list::read_params_of_list(&params)?),
            Operation::CreateTaskPushNotificationConfig => {
                AnyRequest::CreateTaskPushNotificationConfig(config::read_set(params)?)
            }
            Operation::GetTaskPushNotificationConfig
            | Operation::DeleteTaskPushNotificationConfig => {
                let (id, config_id) = config::read_ids(&params)?;
                AnyRequest::of_task(operation, TaskParams { id, ..Default::default() }, config_id)?
            }
            Operation::ListTaskPushNotificationConfigs => {
                AnyRequest::ListTaskPushNotificationConfigs(config::read_list(&params)?)
            }
            Operation::GetExtendedAgentCard => {
                AnyRequest::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
            }
        })
    }

    fn write_params(&self, request: AnyRequest) -> Value {
        match request {
            AnyRequest::SendMessage(request) | AnyRequest::SendStreamingMessage(request) => {
                Format::Draft.write_send(request)
            }
            AnyRequest::GetTask(GetTaskRequest { id, history_length, .. }) => {
                write_task_params(&id, [("historyLength", history_length.into())])
            }
            AnyRequest::ListTasks(request) => list::write_params(&request),
            AnyRequest::CancelTask(CancelTaskRequest { id, metadata, .. }) => {
                write_task_params(&id, [("metadata", write(&metadata))])
            }
            AnyRequest::SubscribeToTask(request) => write_task_params(&request.id, []),
            AnyRequest::CreateTaskPushNotificationConfig(config) => config::write_set(&config),
            AnyRequest::GetTaskPushNotificationConfig(request) => {
                config::write_ids(&request.task_id, &request.id)
            }
            AnyRequest::ListTaskPushNotificationConfigs(request) => config::write_list(&request),
            AnyRequest::DeleteTaskPushNotificationConfig(request) => {
                config::write_ids(&request.task_id, &request.id)
            }
            AnyRequest::GetExtendedAgentCard(_) => json!({}),
        }
    }

    fn write_response(&self, _operation: Operation, response: AnyResponse) -> Value {
        match response {
            AnyResponse::Sent(response) => {
                let payload = response.payload.map(|payload| match payload {
                    send_message_response::Payload::Task(task) => Payload::Task(task),
                    send_message_response::Payload::Message(message) => Payload::Message(message),
                });
                Format::Draft.write_event(StreamResponse { payload }, false)
            }
            AnyResponse::Task(task) => Format::Draft.write_task(Arc::unwrap_or_clone(task)),
            AnyResponse::Tasks(tasks) => list::write(tasks),
            AnyResponse::Config(config) => config::write(&config),
            AnyResponse::Configs(configs) => config::write_page(&configs),
            AnyResponse::Deleted => json!({}),
            AnyResponse::Card(card) => card::write_card(&card),
        }
    }

    fn write_event(&self, event: &StreamResponse, is_last: bool) -> Value {
        Format::Draft.write_event(event.clone(), is_last)
    }

    fn write_error(&self, error: &Error) -> ErrorObject {
        error_data::object(error.kind(), error)
    }

    fn read_response(&self, operation: Operation, result: Value) -> Result<AnyResponse> {
        Ok(match operation {
            Operation::SendMessage => AnyResponse::Sent(Format::Draft.read_sent(result)?),
            Operation::GetTask | Operation::CancelTask => {
                AnyResponse::Task(Arc::new(Format::Draft.read_task(result)?))
            }
            Operation::ListTasks => AnyResponse::Tasks(list::read(result)?),
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig => {
                AnyResponse::Config(config::read(result)?)
            }
            Operation::ListTaskPushNotificationConfigs => {
                AnyResponse::Configs(config::read_page(&result)?)
            }
            Operation::DeleteTaskPushNotificationConfig => AnyResponse::Deleted,
            Operation::GetExtendedAgentCard => AnyResponse::Card(card::read_card(&result)?),
            Operation::SendStreamingMessage | Operation::SubscribeToTask => {
                let message = format!("{} returns a stream", operation.name());
                return Err(Error::invalid_response(message));
            }
        })
    }

    fn read_event(&self, event: Value) -> Result<StreamResponse> {
        Format::Draft.read_event(event)
    }
}

/// Reads the parameters of methods for a task, identified by id, name or both.
fn read_task_params(params: Value) -> Result<TaskParams> {
    let mut params = params_object(params)?;
    let id = take(&mut params, &["id", "name"]);
    let id = id.map(|name| match name.as_str() {
        Some(name) => split(name).0.into(),
        None => name,
    });
    params.extend(id.map(|id| ("id".to_owned(), id)));
    read_params(&params.into())
}

/// Writes both id and name: the text of the draft uses the id, its proto the name.
fn write_task_params<const N: usize>(id: &str, others: [(&str, Value); N]) -> Value {
    let ids = [("id", id.into()), ("name", task_name(id).into())];
    let others = others.into_iter().filter(|(_, member)| !member.is_null());
    let members = ids.into_iter().chain(others);
    members.map(|(name, member)| (name.to_owned(), member)).collect()
}
