//! The operations of a remote agent.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, Result,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use a2a_operations::{Agent, Call, EventStream, Reply};
use async_trait::async_trait;

use super::RestClient;
use crate::{AnyRequest, AnyResponse};

macro_rules! one {
    ($self:ident, $call:ident, $request:ident, $answer:ident) => {{
        let reply = $self.one($call.context, AnyRequest::$request($call.request)).await?;
        match reply.response {
            AnyResponse::$answer(response) => Ok(Reply { response, activated: reply.activated }),
            _ => Err(Error::new(
                ErrorKind::InvalidAgentResponse,
                "the answer is one to another operation",
            )),
        }
    }};
}

#[async_trait]
impl Agent for RestClient {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        one!(self, call, SendMessage, Sent)
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        self.events(call.context, AnyRequest::SendStreamingMessage(call.request)).await
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        one!(self, call, GetTask, Task)
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        one!(self, call, ListTasks, Tasks)
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        one!(self, call, CancelTask, Task)
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        self.events(call.context, AnyRequest::SubscribeToTask(call.request)).await
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        one!(self, call, CreateTaskPushNotificationConfig, Config)
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        one!(self, call, GetTaskPushNotificationConfig, Config)
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        one!(self, call, ListTaskPushNotificationConfigs, Configs)
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        let request = AnyRequest::DeleteTaskPushNotificationConfig(call.request);
        Ok(self.one(call.context, request).await?.map(|_deleted| ()))
    }

    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        one!(self, call, GetExtendedAgentCard, Card)
    }
}
