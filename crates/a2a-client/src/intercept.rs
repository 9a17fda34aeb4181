//! Implements [`Agent`](a2a_operations::Agent) for wrappers that treat every operation alike.

/// Implements [`Agent`](a2a_operations::Agent) by routing every operation through this method of
/// the wrapper:
///
/// ```text
/// async fn intercept<R, T, F>(
///     &self,
///     operation: Operation,
///     call: Call<R>,
///     next: impl Fn(Arc<dyn Agent>, Call<R>) -> F + Send + Sync,
/// ) -> Result<Reply<T>>
/// where R: Request + Clone, F: Future<Output = Result<Reply<T>>> + Send
/// ```
///
/// `next` makes the call on the agent that is passed to it.
macro_rules! intercept_agent {
    ($wrapper:ty) => {
        $crate::intercept::intercept_agent! {
            $wrapper:
            send_message SendMessage (SendMessageRequest) -> SendMessageResponse;
            send_streaming_message SendStreamingMessage (SendMessageRequest) -> ::a2a_operations::EventStream;
            get_task GetTask (GetTaskRequest) -> ::std::sync::Arc<::a2a_core::v1::Task>;
            list_tasks ListTasks (ListTasksRequest) -> ListTasksResponse;
            cancel_task CancelTask (CancelTaskRequest) -> ::std::sync::Arc<::a2a_core::v1::Task>;
            subscribe_to_task SubscribeToTask (SubscribeToTaskRequest) -> ::a2a_operations::EventStream;
            create_task_push_notification_config CreateTaskPushNotificationConfig
                (TaskPushNotificationConfig) -> TaskPushNotificationConfig;
            get_task_push_notification_config GetTaskPushNotificationConfig
                (GetTaskPushNotificationConfigRequest) -> TaskPushNotificationConfig;
            list_task_push_notification_configs ListTaskPushNotificationConfigs
                (ListTaskPushNotificationConfigsRequest) -> ListTaskPushNotificationConfigsResponse;
            delete_task_push_notification_config DeleteTaskPushNotificationConfig
                (DeleteTaskPushNotificationConfigRequest) -> ();
            get_extended_agent_card GetExtendedAgentCard
                (GetExtendedAgentCardRequest) -> ::a2a_core::v1::AgentCard;
        }
    };
    ($wrapper:ty: $($method:ident $operation:ident ($request:ident) -> $response:ty;)*) => {
        const _: () = {
            use ::a2a_core::v1::{
                CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
                GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
                ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
                ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
                SubscribeToTaskRequest, TaskPushNotificationConfig,
            };

            #[::async_trait::async_trait]
            impl ::a2a_operations::Agent for $wrapper {
                $(
                    async fn $method(
                        &self,
                        call: ::a2a_operations::Call<$request>,
                    ) -> ::a2a_core::Result<::a2a_operations::Reply<$response>> {
                        self.intercept(
                            ::a2a_core::Operation::$operation,
                            call,
                            |agent, call| async move { agent.$method(call).await },
                        )
                        .await
                    }
                )*
            }
        };
    };
}
pub(crate) use intercept_agent;
