//! A stateless agent that derives responses from the request.

use std::sync::Arc;

use a2a_core::{
    AgentCard, Error, Message, Result, TaskState,
    v1::{
        Artifact, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent,
        TaskPushNotificationConfig, TaskStatus, TaskStatusUpdateEvent, send_message_response,
        stream_response::Payload,
    },
};
use a2a_kit_operations::{Agent, Call, Event, EventId, EventStream, Reply};
use async_trait::async_trait;
use futures_util::stream;

/// The agent. It responds to a message that begins with `message` with a message.
#[derive(Debug)]
pub(crate) struct Parrot;

/// The card of the agent.
pub(crate) fn parrot_card() -> AgentCard {
    AgentCard::new("Echo", "Repeats its input")
        .with_streaming(true)
        .with_push_notifications(true)
        .with_extended_card(true)
}

fn or_else(text: &str, other: &str) -> String {
    if text.is_empty() { other.into() } else { text.into() }
}

fn status(state: TaskState, message: Option<Message>) -> TaskStatus {
    TaskStatus { state: state.into(), message, ..TaskStatus::default() }
}

fn artifact(message: &Message) -> Artifact {
    Artifact {
        artifact_id: "said".into(),
        parts: message.parts.clone(),
        metadata: message.metadata.clone(),
        extensions: message.extensions.clone(),
        ..Artifact::default()
    }
}

fn task(message: Message) -> Task {
    Task {
        id: or_else(&message.task_id, "task"),
        context_id: or_else(&message.context_id, "context"),
        status: Some(status(TaskState::Completed, Some(Message::agent("said")))),
        artifacts: vec![artifact(&message)],
        metadata: message.metadata.clone(),
        history: vec![message],
    }
}

fn task_of_id(id: &str) -> Result<Arc<Task>> {
    if id == "missing" {
        return Err(Error::task_not_found(id));
    }
    let mut message = Message::user("hello");
    message.task_id = id.into();
    Ok(Arc::new(task(message)))
}

fn events(message: Message) -> EventStream {
    let task = task(message.clone());
    let (task_id, context_id) = (task.id.clone(), task.context_id.clone());
    let chunk = TaskArtifactUpdateEvent {
        task_id: task_id.clone(),
        context_id: context_id.clone(),
        artifact: Some(artifact(&message)),
        append: true,
        last_chunk: true,
        metadata: message.metadata.clone(),
    };
    let end = TaskStatusUpdateEvent {
        task_id,
        context_id,
        status: Some(status(TaskState::Completed, Some(message.clone()))),
        metadata: message.metadata,
    };
    let payloads =
        [Payload::Task(task), Payload::ArtifactUpdate(chunk), Payload::StatusUpdate(end)];
    let events = payloads.into_iter().zip(1..).map(|(payload, position)| {
        Ok(Event::new(EventId::new(position), StreamResponse { payload: Some(payload) }))
    });
    EventStream::new(stream::iter(events))
}

fn said(request: SendMessageRequest) -> Message {
    request.message.unwrap_or_default()
}

fn config(task_id: &str, id: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: task_id.into(),
        id: id.into(),
        url: "https://receiver.example/".into(),
        ..TaskPushNotificationConfig::default()
    }
}

#[async_trait]
impl Agent for Parrot {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        let message = said(call.request);
        let payload = if message.message_id.starts_with("message") {
            send_message_response::Payload::Message(message)
        } else {
            send_message_response::Payload::Task(task(message))
        };
        Ok(Reply::new(SendMessageResponse { payload: Some(payload) }))
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        Ok(Reply::new(events(said(call.request))))
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        task_of_id(&call.request.id).map(Reply::new)
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        let mut message = Message::user("hello");
        message.context_id = call.request.context_id;
        Ok(Reply::new(ListTasksResponse {
            tasks: vec![task(message)],
            next_page_token: call.request.page_token,
            page_size: 1,
            total_size: 2,
        }))
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        task_of_id(&call.request.id).map(Reply::new)
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        let task = task_of_id(&call.request.id)?;
        Ok(Reply::new(events(task.history[0].clone())))
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        Ok(Reply::new(call.request))
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        Ok(Reply::new(config(&call.request.task_id, &call.request.id)))
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        Ok(Reply::new(ListTaskPushNotificationConfigsResponse {
            configs: vec![config(&call.request.task_id, "first")],
            ..ListTaskPushNotificationConfigsResponse::default()
        }))
    }

    async fn delete_task_push_notification_config(
        &self,
        _call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        Ok(Reply::new(()))
    }

    async fn get_extended_agent_card(
        &self,
        _call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        Ok(Reply::new(parrot_card()))
    }
}
