//! The agent as this command serves it: behind the bearer check and the word `drop`.

use std::sync::Arc;

use a2a_core::{
    Operation, Request, Result, Task,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
};
use a2a_operations::{Agent, Call, EventStream, Reply};
use async_trait::async_trait;

use super::{bearer::Bearer, cut};

/// How many events of a stream pass before `drop` cuts it.
const EVENTS_BEFORE_CUT: usize = 3;

/// An agent that admits callers first, and cuts the streams that ask for it.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) bearer: Option<Bearer>,
    /// Whether the word `drop` is understood.
    pub(crate) cuts: bool,
}

impl Front {
    async fn admit<R: Request>(&self, operation: Operation, mut call: Call<R>) -> Result<Call<R>> {
        if let Some(bearer) = &self.bearer {
            bearer.admit(operation, &mut call.context).await?;
        }
        Ok(call)
    }
}

/// Admits the call and hands it on.
macro_rules! admitted {
    ($($method:ident $operation:ident ($request:ty) -> $response:ty;)*) => {
        #[async_trait]
        impl Agent for Front {
            $(
                async fn $method(&self, call: Call<$request>) -> Result<Reply<$response>> {
                    let call = self.admit(Operation::$operation, call).await?;
                    self.agent.$method(call).await
                }
            )*

            async fn send_streaming_message(
                &self,
                call: Call<SendMessageRequest>,
            ) -> Result<Reply<EventStream>> {
                let call = self.admit(Operation::SendStreamingMessage, call).await?;
                let text = call.request.message.as_ref().map(|message| message.text());
                let first = text.as_deref().and_then(|text| text.split_whitespace().next());
                let is_cut = self.cuts && first == Some("drop");
                let reply = self.agent.send_streaming_message(call).await?;
                Ok(if is_cut { reply.map(|events| cut::after(EVENTS_BEFORE_CUT, events)) } else { reply })
            }
        }
    };
}

admitted! {
    send_message SendMessage(SendMessageRequest) -> SendMessageResponse;
    get_task GetTask(GetTaskRequest) -> Arc<Task>;
    list_tasks ListTasks(ListTasksRequest) -> ListTasksResponse;
    cancel_task CancelTask(CancelTaskRequest) -> Arc<Task>;
    subscribe_to_task SubscribeToTask(SubscribeToTaskRequest) -> EventStream;
    create_task_push_notification_config CreateTaskPushNotificationConfig(TaskPushNotificationConfig)
        -> TaskPushNotificationConfig;
    get_task_push_notification_config GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest)
        -> TaskPushNotificationConfig;
    list_task_push_notification_configs ListTaskPushNotificationConfigs(
        ListTaskPushNotificationConfigsRequest
    ) -> ListTaskPushNotificationConfigsResponse;
    delete_task_push_notification_config DeleteTaskPushNotificationConfig(
        DeleteTaskPushNotificationConfigRequest
    ) -> ();
    get_extended_agent_card GetExtendedAgentCard(GetExtendedAgentCardRequest) -> AgentCard;
}
