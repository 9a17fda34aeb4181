//! A test double for agents: returns queued responses and records the calls it receives.

use std::{
    any::Any,
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use a2a_core::{
    Artifact, Error, ErrorKind, Operation, Request, Result, Task, TaskState,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageRequest,
        StreamResponse, SubscribeToTaskRequest, TaskArtifactUpdateEvent,
        TaskPushNotificationConfig, TaskStatus, TaskStatusUpdateEvent, stream_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentMethod, Call, CallContext, Event, EventId, EventStream, Reply, intercept_agent,
};
use futures_util::{StreamExt as _, future, stream};

/// A call that the agent received.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedCall {
    pub(crate) operation: Operation,
    pub(crate) tenant: String,
    pub(crate) context: CallContext,
    /// Set for subscriptions.
    pub(crate) task_id: Option<String>,
}

impl ReceivedCall {
    pub(crate) fn last_event_id(&self) -> Option<u64> {
        self.context.last_event_id.map(EventId::get)
    }
}

/// Stands for a response that never comes.
struct NoResponse;

type Response = Result<Box<dyn Any + Send>>;

#[derive(Clone, Default)]
pub(crate) struct TestAgent {
    responses: Arc<Mutex<VecDeque<Response>>>,
    received: Arc<Mutex<Vec<ReceivedCall>>>,
}

impl TestAgent {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Queues a response, of the response type of the operation.
    pub(crate) fn then(self, response: impl Any + Send) -> Self {
        self.responses.lock().unwrap().push_back(Ok(Box::new(response)));
        self
    }

    /// Queues an error.
    pub(crate) fn then_fail(self, error: Error) -> Self {
        self.responses.lock().unwrap().push_back(Err(error));
        self
    }

    /// Queues a response that never comes.
    pub(crate) fn then_no_response(self) -> Self {
        self.then(NoResponse)
    }

    /// Queues a stream that breaks off after these events unless they end the task.
    pub(crate) fn then_stream(self, events: impl IntoIterator<Item = Event>) -> Self {
        let events: Vec<_> = events.into_iter().map(Ok).collect();
        self.then(EventStream::new(stream::iter(events)))
    }

    /// Queues a stream that stays open after these events.
    pub(crate) fn then_open_stream(self, events: impl IntoIterator<Item = Event>) -> Self {
        let events: Vec<_> = events.into_iter().map(Ok).collect();
        self.then(EventStream::new(stream::iter(events).chain(stream::pending())))
    }

    pub(crate) fn received(&self) -> Vec<ReceivedCall> {
        self.received.lock().unwrap().clone()
    }

    pub(crate) fn operations(&self) -> Vec<Operation> {
        self.received().iter().map(|call| call.operation).collect()
    }

    async fn intercept<R: Request, T: 'static>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let subscription = (&call.request as &dyn Any).downcast_ref::<SubscribeToTaskRequest>();
        self.received.lock().unwrap().push(ReceivedCall {
            operation,
            tenant: call.request.tenant().to_owned(),
            context: call.context.clone(),
            task_id: subscription.map(|request| request.id.clone()),
        });
        let response = self.responses.lock().unwrap().pop_front();
        let response = response.unwrap_or_else(|| panic!("no response queued for {operation:?}"));
        let body = response?;
        if body.is::<NoResponse>() {
            return future::pending().await;
        }
        Ok(Reply::new(*body.downcast().expect("response of the operation's type")))
    }
}

impl Agent for TestAgent {
    intercept_agent!(intercept);
}

/// Calls every operation once and returns the kinds of the errors.
pub(crate) async fn call_every_operation(agent: &dyn Agent) -> Vec<Option<ErrorKind>> {
    fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
        result.err().map(|error| error.kind())
    }
    vec![
        kind(agent.send_message(Call::new(SendMessageRequest::default())).await),
        kind(agent.send_streaming_message(Call::new(SendMessageRequest::default())).await),
        kind(agent.get_task(Call::new(GetTaskRequest::default())).await),
        kind(agent.list_tasks(Call::new(ListTasksRequest::default())).await),
        kind(agent.cancel_task(Call::new(CancelTaskRequest::default())).await),
        kind(agent.subscribe_to_task(Call::new(SubscribeToTaskRequest::default())).await),
        kind(
            agent
                .create_task_push_notification_config(Call::new(
                    TaskPushNotificationConfig::default(),
                ))
                .await,
        ),
        kind(
            agent
                .get_task_push_notification_config(Call::new(
                    GetTaskPushNotificationConfigRequest::default(),
                ))
                .await,
        ),
        kind(
            agent
                .list_task_push_notification_configs(Call::new(
                    ListTaskPushNotificationConfigsRequest::default(),
                ))
                .await,
        ),
        kind(
            agent
                .delete_task_push_notification_config(Call::new(
                    DeleteTaskPushNotificationConfigRequest::default(),
                ))
                .await,
        ),
        kind(
            agent.get_extended_agent_card(Call::new(GetExtendedAgentCardRequest::default())).await,
        ),
    ]
}

pub(crate) fn task(state: TaskState) -> Task {
    Task {
        id: "t".into(),
        context_id: "c".into(),
        status: Some(TaskStatus { state: state.into(), ..TaskStatus::default() }),
        ..Task::default()
    }
}

fn event(id: u64, payload: Payload) -> Event {
    Event::new(EventId::new(id), StreamResponse { payload: Some(payload) })
}

/// Returns a task snapshot event. An id of 0 means no position.
pub(crate) fn snapshot(id: u64, task: Task) -> Event {
    event(id, Payload::Task(task))
}

pub(crate) fn status(id: u64, state: TaskState) -> Event {
    event(
        id,
        Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            status: task(state).status,
            ..TaskStatusUpdateEvent::default()
        }),
    )
}

pub(crate) fn chunk(id: u64, text: &str) -> Event {
    event(
        id,
        Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            artifact: Some(Artifact::new("a", text).with_id("a")),
            append: true,
            ..TaskArtifactUpdateEvent::default()
        }),
    )
}

/// Describes an event in a word.
pub(crate) fn describe(event: &Event) -> String {
    match event.payload() {
        Some(Payload::Task(task)) => {
            format!("task {} {:?}", task.state().as_str_name(), task.text())
        }
        Some(Payload::Message(message)) => format!("message {:?}", message.text()),
        Some(Payload::StatusUpdate(_)) => {
            format!("status {}", event.state().unwrap_or_default().as_str_name())
        }
        Some(Payload::ArtifactUpdate(update)) => update.text(),
        None => "nothing".into(),
    }
    .replace("TASK_STATE_", "")
}
