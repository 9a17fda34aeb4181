//! An agent that records its calls.

use std::sync::{Arc, Mutex};

use a2a_core::{
    AgentCard, Artifact, Error, Message, Operation, Part, Result, Role, Task, TaskState,
    v1::{
        self, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, TaskPushNotificationConfig, send_message_response,
        stream_response::Payload,
    },
    well_known::Timestamp,
};
use a2a_kit_operations::{Agent, Call, CallContext, Event, EventId, EventStream, Reply};
use async_trait::async_trait;
use futures_util::stream;
use serde::Serialize;
use serde_json::Value;

/// A recorded call.
#[derive(Clone, Debug)]
pub struct Seen {
    pub operation: Operation,
    pub context: CallContext,
    pub request: Value,
}

type Refuse = dyn Fn(Operation) -> Option<Error> + Send + Sync;
type Events = dyn Fn() -> Vec<Result<StreamResponse>> + Send + Sync;

/// An agent that records its calls, and responds with minimal results.
#[derive(Clone)]
pub struct Fake {
    calls: Arc<Mutex<Vec<Seen>>>,
    refuse: Arc<Refuse>,
    events: Arc<Events>,
    history: Vec<Message>,
}

impl Fake {
    pub fn new() -> Self {
        Self {
            calls: Arc::default(),
            refuse: Arc::new(|_| None),
            events: Arc::new(|| vec![Ok(completed(task("t-1")))]),
            history: Vec::new(),
        }
    }

    /// Returns an error from every operation.
    pub fn refusing(mut self, error: impl Fn() -> Error + Send + Sync + 'static) -> Self {
        self.refuse = Arc::new(move |_| Some(error()));
        self
    }

    /// Streams these events, at positions 1, 2, 3…
    pub fn streaming(
        mut self,
        events: impl Fn() -> Vec<Result<StreamResponse>> + Send + Sync + 'static,
    ) -> Self {
        self.events = Arc::new(events);
        self
    }

    /// Returns tasks with this history, ignoring the requested history length.
    pub fn remembering(mut self, history: Vec<Message>) -> Self {
        self.history = history;
        self
    }

    /// Returns the last call, and clears the record.
    pub fn last(&self) -> Option<Seen> {
        let mut calls = self.calls.lock().unwrap();
        let last = calls.pop();
        calls.clear();
        last
    }

    fn see<T: Serialize, R>(
        &self,
        operation: Operation,
        call: &Call<T>,
        response: impl FnOnce() -> R,
    ) -> Result<Reply<R>> {
        let request = serde_json::to_value(&call.request).unwrap();
        let context = call.context.clone();
        let activated = context.extensions.clone();
        self.calls.lock().unwrap().push(Seen { operation, context, request });
        match (self.refuse)(operation) {
            Some(error) => Err(error),
            None => Ok(Reply { response: response(), activated }),
        }
    }

    fn stream(&self) -> EventStream {
        let events = (self.events)().into_iter().zip(1..);
        EventStream::new(stream::iter(
            events.map(|(event, id)| Ok(Event::new(EventId::new(id), event?))),
        ))
    }
}

pub fn task(id: &str) -> Task {
    Task {
        id: id.into(),
        context_id: "c-1".into(),
        status: Some(v1::TaskStatus {
            state: TaskState::Working.into(),
            message: None,
            timestamp: Some(Timestamp::from_millis(1_767_323_045_678)),
        }),
        ..Task::default()
    }
}

pub fn opening(task: Task) -> StreamResponse {
    StreamResponse { payload: Some(Payload::Task(task)) }
}

pub fn completed(mut task: Task) -> StreamResponse {
    let status = task.status.get_or_insert_default();
    status.state = TaskState::Completed.into();
    StreamResponse { payload: Some(Payload::Task(task)) }
}

pub fn message(text: &str) -> Message {
    Message {
        message_id: "m-1".into(),
        role: Role::Agent.into(),
        parts: vec![Part::text(text)],
        ..Message::default()
    }
}

pub fn status(state: TaskState) -> StreamResponse {
    let status = v1::TaskStatus { state: state.into(), message: None, timestamp: None };
    StreamResponse {
        payload: Some(Payload::StatusUpdate(v1::TaskStatusUpdateEvent {
            task_id: "t-1".into(),
            context_id: "c-1".into(),
            status: Some(status),
            metadata: None,
        })),
    }
}

pub fn artifact(text: &str) -> StreamResponse {
    let artifact = Artifact {
        artifact_id: "a-1".into(),
        parts: vec![Part::text(text)],
        ..Artifact::default()
    };
    StreamResponse {
        payload: Some(Payload::ArtifactUpdate(v1::TaskArtifactUpdateEvent {
            task_id: "t-1".into(),
            context_id: "c-1".into(),
            artifact: Some(artifact),
            append: true,
            ..Default::default()
        })),
    }
}

#[async_trait]
impl Agent for Fake {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        self.see(Operation::SendMessage, &call, || SendMessageResponse {
            payload: Some(send_message_response::Payload::Message(message("hello"))),
        })
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        self.see(Operation::SendStreamingMessage, &call, || self.stream())
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        let history = self.history.clone();
        let task = || Task { history, ..task(&call.request.id) };
        self.see(Operation::GetTask, &call, || Arc::new(task()))
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        self.see(Operation::ListTasks, &call, || ListTasksResponse {
            page_size: 50,
            ..Default::default()
        })
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        self.see(Operation::CancelTask, &call, || Arc::new(task(&call.request.id)))
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        self.see(Operation::SubscribeToTask, &call, || self.stream())
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.see(Operation::CreateTaskPushNotificationConfig, &call, || call.request.clone())
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.see(Operation::GetTaskPushNotificationConfig, &call, || TaskPushNotificationConfig {
            id: call.request.id.clone(),
            task_id: call.request.task_id.clone(),
            ..Default::default()
        })
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        self.see(Operation::ListTaskPushNotificationConfigs, &call, Default::default)
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        self.see(Operation::DeleteTaskPushNotificationConfig, &call, || ())
    }

    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        self.see(Operation::GetExtendedAgentCard, &call, || AgentCard::new("Fake", "Remembers"))
    }
}
