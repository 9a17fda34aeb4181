//! The card for authenticated callers, with the interfaces that are served.

use std::sync::Arc;

use a2a_core::{
    Result,
    v1::{
        AgentCard, AgentInterface, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use a2a_operations::{Agent, Call, CardSigner, EventStream, Reply};
use async_trait::async_trait;

/// An agent whose extended card names the same interfaces as its public one, where it names none
/// itself, and is signed where the public one is.
pub(crate) struct Extended {
    agent: Arc<dyn Agent>,
    interfaces: Vec<AgentInterface>,
    signer: Option<Arc<dyn CardSigner>>,
}

impl Extended {
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        interfaces: Vec<AgentInterface>,
        signer: Option<Arc<dyn CardSigner>>,
    ) -> Self {
        Self { agent, interfaces, signer }
    }
}

#[async_trait]
impl Agent for Extended {
    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        let mut reply = self.agent.get_extended_agent_card(call).await?;
        if reply.response.supported_interfaces.is_empty() {
            reply.response.supported_interfaces.clone_from(&self.interfaces);
        }
        if let Some(signer) = &self.signer {
            reply.response = signer.sign(reply.response)?;
        }
        Ok(reply)
    }

    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        self.agent.send_message(call).await
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        self.agent.send_streaming_message(call).await
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        self.agent.get_task(call).await
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        self.agent.list_tasks(call).await
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        self.agent.cancel_task(call).await
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        self.agent.subscribe_to_task(call).await
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.agent.create_task_push_notification_config(call).await
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.agent.get_task_push_notification_config(call).await
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        self.agent.list_task_push_notification_configs(call).await
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        self.agent.delete_task_push_notification_config(call).await
    }
}
