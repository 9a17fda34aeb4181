//! Requests and responses of all operations as enums, which servers and clients dispatch on.

use std::sync::Arc;

use a2a_core::{
    Operation, Result,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use a2a_operations::{Agent, Call, CallContext, EventStream, Reply};

/// The request of an operation.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is the operation of its name")]
pub enum AnyRequest {
    SendMessage(SendMessageRequest),
    SendStreamingMessage(SendMessageRequest),
    GetTask(GetTaskRequest),
    ListTasks(ListTasksRequest),
    CancelTask(CancelTaskRequest),
    SubscribeToTask(SubscribeToTaskRequest),
    CreateTaskPushNotificationConfig(TaskPushNotificationConfig),
    GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest),
    ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest),
    DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest),
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
}

/// The response of a unary operation.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyResponse {
    /// Of `SendMessage`.
    Sent(SendMessageResponse),
    /// Of `GetTask` and `CancelTask`.
    Task(Arc<Task>),
    /// Of `ListTasks`.
    Tasks(ListTasksResponse),
    /// Of `CreateTaskPushNotificationConfig` and `GetTaskPushNotificationConfig`.
    Config(TaskPushNotificationConfig),
    /// Of `ListTaskPushNotificationConfigs`.
    Configs(ListTaskPushNotificationConfigsResponse),
    /// Of `DeleteTaskPushNotificationConfig`.
    Deleted,
    /// Of `GetExtendedAgentCard`.
    Card(AgentCard),
}

/// The output of an operation.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is moved once, from the agent to the wire")]
pub enum AnyOutput {
    /// A single response.
    Unary(AnyResponse),
    /// An event stream.
    Stream(EventStream),
}

impl AnyRequest {
    /// The operation of the request.
    pub fn operation(&self) -> Operation {
        match self {
            Self::SendMessage(_) => Operation::SendMessage,
            Self::SendStreamingMessage(_) => Operation::SendStreamingMessage,
            Self::GetTask(_) => Operation::GetTask,
            Self::ListTasks(_) => Operation::ListTasks,
            Self::CancelTask(_) => Operation::CancelTask,
            Self::SubscribeToTask(_) => Operation::SubscribeToTask,
            Self::CreateTaskPushNotificationConfig(_) => {
                Operation::CreateTaskPushNotificationConfig
            }
            Self::GetTaskPushNotificationConfig(_) => Operation::GetTaskPushNotificationConfig,
            Self::ListTaskPushNotificationConfigs(_) => Operation::ListTaskPushNotificationConfigs,
            Self::DeleteTaskPushNotificationConfig(_) => {
                Operation::DeleteTaskPushNotificationConfig
            }
            Self::GetExtendedAgentCard(_) => Operation::GetExtendedAgentCard,
        }
    }
}

/// Calls the operation of a request.
///
/// # Errors
///
/// Those of the agent.
pub async fn call(
    agent: &dyn Agent,
    context: CallContext,
    request: AnyRequest,
) -> Result<Reply<AnyOutput>> {
    macro_rules! unary {
        ($method:ident($request:expr) => $response:expr) => {{
            let call = Call::from_parts(context, $request);
            Ok(agent.$method(call).await?.map($response).map(AnyOutput::Unary))
        }};
    }
    macro_rules! stream {
        ($method:ident($request:expr)) => {{
            let call = Call::from_parts(context, $request);
            Ok(agent.$method(call).await?.map(AnyOutput::Stream))
        }};
    }
    match request {
        AnyRequest::SendMessage(request) => unary!(send_message(request) => AnyResponse::Sent),
        AnyRequest::SendStreamingMessage(request) => stream!(send_streaming_message(request)),
        AnyRequest::GetTask(request) => unary!(get_task(request) => AnyResponse::Task),
        AnyRequest::ListTasks(request) => unary!(list_tasks(request) => AnyResponse::Tasks),
        AnyRequest::CancelTask(request) => unary!(cancel_task(request) => AnyResponse::Task),
        AnyRequest::SubscribeToTask(request) => stream!(subscribe_to_task(request)),
        AnyRequest::CreateTaskPushNotificationConfig(request) => {
            unary!(create_task_push_notification_config(request) => AnyResponse::Config)
        }
        AnyRequest::GetTaskPushNotificationConfig(request) => {
            unary!(get_task_push_notification_config(request) => AnyResponse::Config)
        }
        AnyRequest::ListTaskPushNotificationConfigs(request) => {
            unary!(list_task_push_notification_configs(request) => AnyResponse::Configs)
        }
        AnyRequest::DeleteTaskPushNotificationConfig(request) => {
            unary!(delete_task_push_notification_config(request) => |()| AnyResponse::Deleted)
        }
        AnyRequest::GetExtendedAgentCard(request) => {
            unary!(get_extended_agent_card(request) => AnyResponse::Card)
        }
    }
}
