//! Any request of the protocol, and any answer: what fronts and backs of a revision pass on.

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

/// What an operation without a stream answers with.
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

/// What an operation answers with.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is moved once, from the agent to the wire")]
pub enum AnyAnswer {
    /// One answer.
    One(AnyResponse),
    /// Events as they come.
    Events(EventStream),
}

impl AnyRequest {
    /// The operation that the request is of.
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

/// Calls the operation that a request is of.
///
/// # Errors
///
/// Those of the agent.
pub async fn call(
    agent: &dyn Agent,
    context: CallContext,
    request: AnyRequest,
) -> Result<Reply<AnyAnswer>> {
    macro_rules! one {
        ($method:ident($request:expr) => $answer:expr) => {{
            let call = Call::from_parts(context, $request);
            Ok(agent.$method(call).await?.map($answer).map(AnyAnswer::One))
        }};
    }
    macro_rules! events {
        ($method:ident($request:expr)) => {{
            let call = Call::from_parts(context, $request);
            Ok(agent.$method(call).await?.map(AnyAnswer::Events))
        }};
    }
    match request {
        AnyRequest::SendMessage(request) => one!(send_message(request) => AnyResponse::Sent),
        AnyRequest::SendStreamingMessage(request) => events!(send_streaming_message(request)),
        AnyRequest::GetTask(request) => one!(get_task(request) => AnyResponse::Task),
        AnyRequest::ListTasks(request) => one!(list_tasks(request) => AnyResponse::Tasks),
        AnyRequest::CancelTask(request) => one!(cancel_task(request) => AnyResponse::Task),
        AnyRequest::SubscribeToTask(request) => events!(subscribe_to_task(request)),
        AnyRequest::CreateTaskPushNotificationConfig(request) => {
            one!(create_task_push_notification_config(request) => AnyResponse::Config)
        }
        AnyRequest::GetTaskPushNotificationConfig(request) => {
            one!(get_task_push_notification_config(request) => AnyResponse::Config)
        }
        AnyRequest::ListTaskPushNotificationConfigs(request) => {
            one!(list_task_push_notification_configs(request) => AnyResponse::Configs)
        }
        AnyRequest::DeleteTaskPushNotificationConfig(request) => {
            one!(delete_task_push_notification_config(request) => |()| AnyResponse::Deleted)
        }
        AnyRequest::GetExtendedAgentCard(request) => {
            one!(get_extended_agent_card(request) => AnyResponse::Card)
        }
    }
}
