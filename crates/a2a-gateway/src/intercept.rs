//! Implements [`Agent`](a2a_operations::Agent) for wrappers that treat every operation alike.

use std::{future::Future, pin::Pin};

use a2a_core::Result;
use a2a_operations::Reply;

/// The future of an agent's reply.
pub(crate) type ReplyFuture<'a, T> = Pin<Box<dyn Future<Output = Result<Reply<T>>> + Send + 'a>>;

/// Implements [`Agent`](a2a_operations::Agent) by routing every operation through this method of
/// the wrapper; `next` makes the call on the agent that is passed to it:
///
/// ```text
/// async fn intercept<'a, R, T>(
///     &'a self,
///     operation: Operation,
///     call: Call<R>,
///     next: impl FnOnce(&'a A, Call<R>) -> ReplyFuture<'a, T> + Send,
/// ) -> Result<Reply<T>>
/// ```
macro_rules! intercept_agent {
    ($wrapper:ident) => {
        $crate::intercept::intercept_agent! {
            $wrapper:
            send_message SendMessage(SendMessageRequest) -> SendMessageResponse;
            send_streaming_message SendStreamingMessage(SendMessageRequest) -> EventStream;
            get_task GetTask(GetTaskRequest) -> Arc<Task>;
            list_tasks ListTasks(ListTasksRequest) -> ListTasksResponse;
            cancel_task CancelTask(CancelTaskRequest) -> Arc<Task>;
            subscribe_to_task SubscribeToTask(SubscribeToTaskRequest) -> EventStream;
            create_task_push_notification_config CreateTaskPushNotificationConfig(
                TaskPushNotificationConfig
            ) -> TaskPushNotificationConfig;
            get_task_push_notification_config GetTaskPushNotificationConfig(
                GetTaskPushNotificationConfigRequest
            ) -> TaskPushNotificationConfig;
            list_task_push_notification_configs ListTaskPushNotificationConfigs(
                ListTaskPushNotificationConfigsRequest
            ) -> ListTaskPushNotificationConfigsResponse;
            delete_task_push_notification_config DeleteTaskPushNotificationConfig(
                DeleteTaskPushNotificationConfigRequest
            ) -> ();
            get_extended_agent_card GetExtendedAgentCard(GetExtendedAgentCardRequest) -> AgentCard;
        }
    };
    ($wrapper:ident: $($method:ident $operation:ident($request:ty) -> $response:ty;)*) => {
        const _: () = {
            use ::std::sync::Arc;

            use ::a2a_core::v1::{
                AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
                GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
                ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
                ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
                SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
            };
            use ::a2a_operations::{Agent, Call, EventStream, Reply};

            #[::async_trait::async_trait]
            impl<A: Agent> Agent for $wrapper<A> {
                $(
                    async fn $method(
                        &self,
                        call: Call<$request>,
                    ) -> ::a2a_core::Result<Reply<$response>> {
                        let operation = ::a2a_core::Operation::$operation;
                        self.intercept(operation, call, |agent, call| agent.$method(call)).await
                    }
                )*
            }
        };
    };
}
pub(crate) use intercept_agent;
