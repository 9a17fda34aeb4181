//! The operations of an [`Agent`](a2a_operations::Agent), shared by the clients of all bindings.

use a2a_core::{
    Error, ErrorKind, ProtocolVersion, Result,
    v1::{SendMessageRequest, SubscribeToTaskRequest},
};
use a2a_operations::{Call, CallContext, EventStream, Reply};
use async_trait::async_trait;

use super::{
    normalize::{starting_with_task, without_repeated_status},
    subscribe::subscribe_with_snapshot,
};
use crate::{AnyRequest, AnyResponse};

/// A client of agents of an older revision: the part that is specific to a binding.
#[async_trait]
pub(crate) trait Transport: Clone + Send + Sync + 'static {
    /// The revision that the agent speaks.
    fn revision(&self) -> ProtocolVersion;

    /// Calls a unary operation.
    async fn unary(&self, context: CallContext, request: AnyRequest) -> Result<Reply<AnyResponse>>;

    /// Calls a streaming operation. The events are returned unchanged.
    async fn stream(&self, context: CallContext, request: AnyRequest)
    -> Result<Reply<EventStream>>;
}

/// Sends a message. The stream starts with a task or is a message.
pub(crate) async fn send_streaming(
    transport: &impl Transport,
    call: Call<SendMessageRequest>,
) -> Result<Reply<EventStream>> {
    let resumes = call.context.last_event_id.is_some();
    let request = AnyRequest::SendStreamingMessage(call.request);
    let reply = transport.stream(call.context, request).await?.map(without_repeated_status);
    Ok(if resumes { reply } else { reply.map(starting_with_task) })
}

/// Subscribes to a task: to the events after an event id, or to the task and its events.
pub(crate) async fn subscribe(
    transport: &impl Transport,
    call: Call<SubscribeToTaskRequest>,
) -> Result<Reply<EventStream>> {
    let Call { context, request, .. } = call;
    let resumes = context.last_event_id.is_some();
    if !resumes && transport.revision() < ProtocolVersion::V1Draft {
        let reply = subscribe_with_snapshot(transport.clone(), context, request).await?;
        return Ok(reply.map(without_repeated_status));
    }
    let request = AnyRequest::SubscribeToTask(request);
    let reply = transport.stream(context, request).await?.map(without_repeated_status);
    Ok(if resumes { reply } else { reply.map(starting_with_task) })
}

/// Implements [`Agent`](a2a_operations::Agent) for a [`Transport`]. History is truncated to the
/// requested length.
macro_rules! impl_agent {
    ($client:ty) => {
        $crate::client::transport::impl_agent! {
            $client:
            unary {
                send_message SendMessage(SendMessageRequest) -> SendMessageResponse;
                Sent(response) => response;

                get_task GetTask(GetTaskRequest) -> ::std::sync::Arc<Task>;
                Task(response) => response;

                list_tasks ListTasks(ListTasksRequest) -> ListTasksResponse;
                Tasks(response) => response;

                cancel_task CancelTask(CancelTaskRequest) -> ::std::sync::Arc<Task>;
                Task(response) => response;

                create_task_push_notification_config
                CreateTaskPushNotificationConfig(TaskPushNotificationConfig)
                    -> TaskPushNotificationConfig;
                Config(response) => response;

                get_task_push_notification_config
                GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest)
                    -> TaskPushNotificationConfig;
                Config(response) => response;

                list_task_push_notification_configs
                ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest)
                    -> ListTaskPushNotificationConfigsResponse;
                Configs(response) => response;

                delete_task_push_notification_config
                DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest) -> ();
                Deleted => ();

                get_extended_agent_card
                GetExtendedAgentCard(GetExtendedAgentCardRequest) -> AgentCard;
                Card(response) => response;
            }
        }
    };
    (
        $client:ty:
        unary {$(
            $method:ident $operation:ident($request:ident) -> $response:ty;
            $variant:ident $(($bound:ident))? => $value:expr;
        )*}
    ) => {
        const _: () = {
            use ::a2a_core::{
                Result,
                v1::{
                    AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
                    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
                    GetTaskRequest, ListTaskPushNotificationConfigsRequest,
                    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse,
                    SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, Task,
                    TaskPushNotificationConfig,
                },
            };
            use ::a2a_operations::{Agent, Call, EventStream, Reply};
            use $crate::{
                AnyRequest, AnyResponse,
                client::{
                    history::{limit_history, requested_history},
                    transport::{Transport, mismatched_response, send_streaming, subscribe},
                },
            };

            #[::async_trait::async_trait]
            impl Agent for $client {
                $(
                    async fn $method(&self, call: Call<$request>) -> Result<Reply<$response>> {
                        let request = AnyRequest::$operation(call.request);
                        let limit = requested_history(&request);
                        let mut reply = self.unary(call.context, request).await?;
                        limit_history(&mut reply.response, limit);
                        let AnyResponse::$variant $(($bound))? = reply.response else {
                            return Err(mismatched_response());
                        };
                        Ok(Reply { response: $value, activated: reply.activated })
                    }
                )*

                async fn send_streaming_message(
                    &self,
                    call: Call<SendMessageRequest>,
                ) -> Result<Reply<EventStream>> {
                    send_streaming(self, call).await
                }

                async fn subscribe_to_task(
                    &self,
                    call: Call<SubscribeToTaskRequest>,
                ) -> Result<Reply<EventStream>> {
                    subscribe(self, call).await
                }
            }
        };
    };
}
pub(crate) use impl_agent;

/// The error for a response that does not match its request.
pub(crate) fn mismatched_response() -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, "the response is of another operation")
}
