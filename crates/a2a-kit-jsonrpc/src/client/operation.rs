//! The operations of a remote agent.

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
use a2a_kit_operations::{Agent, Call, EventStream, Reply};
use async_trait::async_trait;

use super::{Client, response};

#[async_trait]
impl Agent for Client {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        self.call(Operation::SendMessage, call, response::read_send).await
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        self.stream(Operation::SendStreamingMessage, call).await
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        Ok(self.unary(Operation::GetTask, call).await?.map(Arc::new))
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        self.unary(Operation::ListTasks, call).await
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        Ok(self.unary(Operation::CancelTask, call).await?.map(Arc::new))
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        self.stream(Operation::SubscribeToTask, call).await
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.unary(Operation::CreateTaskPushNotificationConfig, call).await
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.unary(Operation::GetTaskPushNotificationConfig, call).await
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        self.unary(Operation::ListTaskPushNotificationConfigs, call).await
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        self.unary_without_result(Operation::DeleteTaskPushNotificationConfig, call).await
    }

    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        self.unary(Operation::GetExtendedAgentCard, call).await
    }
}
