//! The eleven operations, written down once for the clients of every wire.

use a2a_core::{
    Error, ErrorKind, ProtocolVersion, Result,
    v1::{SendMessageRequest, SubscribeToTaskRequest},
};
use a2a_operations::{Call, CallContext, EventStream, Reply};
use async_trait::async_trait;

use super::{
    attach::attach,
    opening::{opened, without_echo},
};
use crate::{AnyRequest, AnyResponse};

/// A client of agents of an older revision: what differs from wire to wire.
#[async_trait]
pub(crate) trait Back: Clone + Send + Sync + 'static {
    /// The revision that the agent speaks.
    fn revision(&self) -> ProtocolVersion;

    /// Performs the request of an operation without a stream.
    async fn one(&self, context: CallContext, request: AnyRequest) -> Result<Reply<AnyResponse>>;

    /// Performs the request of an operation with a stream, which is given as it comes.
    async fn events(&self, context: CallContext, request: AnyRequest)
    -> Result<Reply<EventStream>>;
}

/// Sends a message, and reads a stream that begins with a task or is a message.
pub(crate) async fn stream(
    back: &impl Back,
    call: Call<SendMessageRequest>,
) -> Result<Reply<EventStream>> {
    let resumes = call.context.last_event_id.is_some();
    let request = AnyRequest::SendStreamingMessage(call.request);
    let reply = back.events(call.context, request).await?.map(without_echo);
    Ok(if resumes { reply } else { reply.map(opened) })
}

/// Reads the events of a task: those after a position, or the task and then its events.
pub(crate) async fn subscribe(
    back: &impl Back,
    call: Call<SubscribeToTaskRequest>,
) -> Result<Reply<EventStream>> {
    let Call { context, request, .. } = call;
    let resumes = context.last_event_id.is_some();
    if !resumes && back.revision() < ProtocolVersion::V1Draft {
        return Ok(attach(back.clone(), context, request).await?.map(without_echo));
    }
    let request = AnyRequest::SubscribeToTask(request);
    let reply = back.events(context, request).await?.map(without_echo);
    Ok(if resumes { reply } else { reply.map(opened) })
}

/// Implements [`Agent`](a2a_operations::Agent) for a [`Back`]. There is never more history in an
/// answer than was asked for.
macro_rules! impl_agent {
    ($client:ty) => {
        $crate::back::operation::impl_agent! {
            $client:
            one {
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
        one {$(
            $method:ident $operation:ident($request:ident) -> $response:ty;
            $answer:ident $(($bound:ident))? => $value:expr;
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
                back::{
                    history::{asked_history, limit_history},
                    operation::{Back, of_another_operation, stream, subscribe},
                },
            };

            #[::async_trait::async_trait]
            impl Agent for $client {
                $(
                    async fn $method(&self, call: Call<$request>) -> Result<Reply<$response>> {
                        let request = AnyRequest::$operation(call.request);
                        let asked = asked_history(&request);
                        let mut reply = self.one(call.context, request).await?;
                        limit_history(&mut reply.response, asked);
                        let AnyResponse::$answer $(($bound))? = reply.response else {
                            return Err(of_another_operation());
                        };
                        Ok(Reply { response: $value, activated: reply.activated })
                    }
                )*

                async fn send_streaming_message(
                    &self,
                    call: Call<SendMessageRequest>,
                ) -> Result<Reply<EventStream>> {
                    stream(self, call).await
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

/// The error for an answer that does not fit its request.
pub(crate) fn of_another_operation() -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, "the answer is one to another operation")
}
