//! Requests and responses of all operations as enums, which servers and clients dispatch on.

use std::{any::Any, sync::Arc};

use a2a_core::{
    Error, Operation, Request, Result, Validate as _,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Message, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig, send_message_response::Payload,
    },
    well_known::Struct,
};
use a2a_kit_operations::{Agent, Call, CallContext, EventStream, Reply};
use serde::Deserialize;

use crate::common::member;

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

impl AnyResponse {
    /// The task of a response that is one.
    pub(crate) fn task(&self) -> Option<&Task> {
        match self {
            Self::Task(task) => Some(task),
            Self::Sent(SendMessageResponse { payload: Some(Payload::Task(task)) }) => Some(task),
            _ => None,
        }
    }

    /// The tasks of a response.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = &Task> {
        let page = if let Self::Tasks(page) = self { &page.tasks[..] } else { &[] };
        self.task().into_iter().chain(page)
    }
}

/// Returns whether an operation is about the webhooks of a task.
pub(crate) fn is_of_webhook(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
    )
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

/// The parameters of methods for a task.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskParams {
    pub(crate) id: String,
    #[serde(default, deserialize_with = "member::int32")]
    pub(crate) history_length: Option<i32>,
    pub(crate) metadata: Option<Struct>,
}

impl From<AnyResponse> for AnyOutput {
    fn from(response: AnyResponse) -> Self {
        Self::Unary(response)
    }
}

impl AnyOutput {
    /// The response or the event stream; `None` if it is of another operation.
    pub(crate) fn downcast<T: 'static>(self) -> Option<T> {
        let output: Box<dyn Any> = match self {
            Self::Stream(events) => Box::new(events),
            Self::Unary(AnyResponse::Sent(sent)) => Box::new(sent),
            Self::Unary(AnyResponse::Task(task)) => Box::new(task),
            Self::Unary(AnyResponse::Tasks(page)) => Box::new(page),
            Self::Unary(AnyResponse::Config(config)) => Box::new(config),
            Self::Unary(AnyResponse::Configs(page)) => Box::new(page),
            Self::Unary(AnyResponse::Deleted) => Box::new(()),
            Self::Unary(AnyResponse::Card(card)) => Box::new(card),
        };
        output.downcast().ok().map(|output| *output)
    }
}

macro_rules! operations {
    ($($request:ident: $($operation:ident $method:ident($output:expr)),+;)*) => {
        /// The request of an operation.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each variant is the operation of its name")]
        pub enum AnyRequest {
            $($($operation($request),)+)*
        }

        impl AnyRequest {
            /// The request of an operation; `None` if the operation has another request.
            pub(crate) fn of<R: Request>(operation: Operation, request: R) -> Option<Self> {
                let request: Box<dyn Any> = Box::new(request);
                Some(match operation {
                    $($(Operation::$operation => Self::$operation(*request.downcast().ok()?),)+)*
                })
            }

            /// The operation of the request.
            pub fn operation(&self) -> Operation {
                match self {
                    $($(Self::$operation(_) => Operation::$operation,)+)*
                }
            }

            /// The id of the task; empty if the request has none.
            pub fn task_id(&self) -> &str {
                match self {
                    $($(Self::$operation(request) => request.task_id(),)+)*
                }
            }

            /// The id of the context; empty if the request has none.
            pub(crate) fn context_id(&self) -> &str {
                match self {
                    $($(Self::$operation(request) => request.context_id(),)+)*
                }
            }

            /// The member that is a variable of the operation's routes, by proto name.
            pub(crate) fn variable(&mut self, name: &str) -> Option<&mut String> {
                match self {
                    $($(Self::$operation(request) => request.variable(name),)+)*
                }
            }

            /// Validates the request by the rules of 1.0.
            ///
            /// # Errors
            ///
            /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams).
            pub fn validate(&self) -> Result<()> {
                match self {
                    $($(Self::$operation(request) => request.validate(),)+)*
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
            match request {
                $($(AnyRequest::$operation(request) => {
                    let call = Call::from_parts(context, request);
                    Ok(agent.$method(call).await?.map($output).map(AnyOutput::from))
                })+)*
            }
        }
    };
}
operations! {
    SendMessageRequest:
        SendMessage send_message(AnyResponse::Sent),
        SendStreamingMessage send_streaming_message(AnyOutput::Stream);
    GetTaskRequest: GetTask get_task(AnyResponse::Task);
    ListTasksRequest: ListTasks list_tasks(AnyResponse::Tasks);
    CancelTaskRequest: CancelTask cancel_task(AnyResponse::Task);
    SubscribeToTaskRequest: SubscribeToTask subscribe_to_task(AnyOutput::Stream);
    TaskPushNotificationConfig:
        CreateTaskPushNotificationConfig create_task_push_notification_config(AnyResponse::Config);
    GetTaskPushNotificationConfigRequest:
        GetTaskPushNotificationConfig get_task_push_notification_config(AnyResponse::Config);
    ListTaskPushNotificationConfigsRequest:
        ListTaskPushNotificationConfigs list_task_push_notification_configs(AnyResponse::Configs);
    DeleteTaskPushNotificationConfigRequest:
        DeleteTaskPushNotificationConfig delete_task_push_notification_config(|()| AnyResponse::Deleted);
    GetExtendedAgentCardRequest: GetExtendedAgentCard get_extended_agent_card(AnyResponse::Card);
}

impl AnyRequest {
    /// Creates the request of a send.
    pub(crate) fn of_send(operation: Operation, request: SendMessageRequest) -> Self {
        match operation {
            Operation::SendStreamingMessage => Self::SendStreamingMessage(request),
            _ => Self::SendMessage(request),
        }
    }

    /// Creates the request of an operation on a task or on a webhook of it, whose id is empty if it
    /// is not given.
    ///
    /// # Errors
    ///
    /// [`UnsupportedOperation`](a2a_core::ErrorKind::UnsupportedOperation) for another operation.
    pub(crate) fn of_task(
        operation: Operation,
        task: TaskParams,
        config_id: String,
    ) -> Result<Self> {
        let TaskParams { id, history_length, metadata } = task;
        Ok(match operation {
            Operation::GetTask => {
                Self::GetTask(GetTaskRequest { id, history_length, ..Default::default() })
            }
            Operation::CancelTask => {
                Self::CancelTask(CancelTaskRequest { id, metadata, ..Default::default() })
            }
            Operation::SubscribeToTask => {
                Self::SubscribeToTask(SubscribeToTaskRequest { id, ..Default::default() })
            }
            Operation::GetTaskPushNotificationConfig => {
                Self::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
                    task_id: id,
                    id: config_id,
                    ..Default::default()
                })
            }
            Operation::ListTaskPushNotificationConfigs => {
                Self::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                    task_id: id,
                    ..Default::default()
                })
            }
            Operation::DeleteTaskPushNotificationConfig => {
                Self::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
                    task_id: id,
                    id: config_id,
                    ..Default::default()
                })
            }
            other => return Err(Error::unsupported(format!("{} names no task", other.name()))),
        })
    }

    /// Replaces the id of the task, if the request has one; an empty id creates a new task.
    ///
    /// The id of a webhook config of 0.1 remains the one that the client chose for the task, which
    /// identifies the config.
    #[must_use]
    pub(crate) fn with_task_id(mut self, id: &str) -> Self {
        if let Some(message) = self.message_mut() {
            id.clone_into(&mut message.task_id);
        } else {
            let name = if self.variable("task_id").is_some() { "task_id" } else { "id" };
            self.variable(name).into_iter().for_each(|member| id.clone_into(member));
        }
        self
    }

    /// The message of a send.
    pub(crate) fn message_mut(&mut self) -> Option<&mut Message> {
        match self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => {
                Some(request.message.get_or_insert_default())
            }
            _ => None,
        }
    }
}
