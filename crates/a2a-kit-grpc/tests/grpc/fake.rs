//! A fake agent that records calls and returns scripted results, and its server.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use a2a_core::{
    AgentCard, Error, ErrorKind, ExtensionSet, Message, Operation, Result, Task, TaskState,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, TaskPushNotificationConfig, TaskStatus,
        TaskStatusUpdateEvent, send_message_response, stream_response::Payload,
    },
};
use a2a_kit_grpc::{
    Client, GrpcOptions,
    operations::{Agent, Call, CallContext, Event, EventId, EventStream, Reply},
};
use a2a_kit_http::HttpServer;
use axum::Router;
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

/// What the agent was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) operation: Operation,
    pub(crate) context: CallContext,
    pub(crate) request: Value,
}

#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<State>);

#[derive(Default)]
struct State {
    asked: Mutex<Vec<Asked>>,
    error: Mutex<Option<Error>>,
    events: Mutex<Option<EventStream>>,
    activated: Mutex<ExtensionSet>,
    is_silent: Mutex<bool>,
}

impl Fake {
    /// Fails the next call with an error.
    pub(crate) fn fail(&self, error: Error) {
        *self.0.error.lock().unwrap() = Some(error);
    }

    /// Returns these events for the next stream.
    pub(crate) fn stream(&self, events: EventStream) {
        *self.0.events.lock().unwrap() = Some(events);
    }

    /// Activates these extensions.
    pub(crate) fn activate(&self, extensions: ExtensionSet) {
        *self.0.activated.lock().unwrap() = extensions;
    }

    /// Never responds again.
    pub(crate) fn fall_silent(&self) {
        *self.0.is_silent.lock().unwrap() = true;
    }

    /// What was asked, oldest first.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.0.asked.lock().unwrap().clone()
    }

    /// What was asked last.
    pub(crate) fn last(&self) -> Asked {
        self.asked().pop().expect("the agent was asked")
    }

    async fn answer<Q: serde::Serialize, T>(
        &self,
        operation: Operation,
        call: Call<Q>,
        response: T,
    ) -> Result<Reply<T>> {
        let request = serde_json::to_value(&call.request).unwrap();
        self.0.asked.lock().unwrap().push(Asked { operation, context: call.context, request });
        if *self.0.is_silent.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        if let Some(error) = self.0.error.lock().unwrap().take() {
            return Err(error);
        }
        Ok(Reply { response, activated: self.0.activated.lock().unwrap().clone() })
    }

    fn events(&self) -> EventStream {
        let given = self.0.events.lock().unwrap().take();
        given.unwrap_or_else(|| events(vec![opening(1), ended(2)]))
    }
}

/// A stream of these events.
pub(crate) fn events(events: Vec<Event>) -> EventStream {
    EventStream::new(tokio_stream::iter(events.into_iter().map(Ok)))
}

pub(crate) fn task() -> Task {
    let status = TaskStatus { state: TaskState::Working.into(), ..Default::default() };
    Task {
        id: "t1".into(),
        context_id: "c1".into(),
        status: Some(status),
        history: vec![Message { message_id: "m1".into(), ..Message::user("hello") }],
        ..Default::default()
    }
}

/// The first event of a stream, with an id; 0 means none.
pub(crate) fn opening(position: u64) -> Event {
    event(position, Payload::Task(task()))
}

/// An update that is not the last event.
pub(crate) fn working(position: u64) -> Event {
    update(position, TaskState::Working)
}

/// The last update of a stream.
pub(crate) fn ended(position: u64) -> Event {
    update(position, TaskState::Completed)
}

fn update(position: u64, state: TaskState) -> Event {
    let status = TaskStatus { state: state.into(), ..Default::default() };
    let update = TaskStatusUpdateEvent {
        task_id: "t1".into(),
        context_id: "c1".into(),
        status: Some(status),
        ..Default::default()
    };
    event(position, Payload::StatusUpdate(update))
}

fn event(position: u64, payload: Payload) -> Event {
    Event::new(EventId::new(position), StreamResponse { payload: Some(payload) })
}

pub(crate) fn config() -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        id: "p1".into(),
        task_id: "t1".into(),
        url: "https://example.com/hook".into(),
        ..Default::default()
    }
}

#[async_trait::async_trait]
impl Agent for Fake {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        let payload = Some(send_message_response::Payload::Task(task()));
        self.answer(Operation::SendMessage, call, SendMessageResponse { payload }).await
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        self.answer(Operation::SendStreamingMessage, call, self.events()).await
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        self.answer(Operation::GetTask, call, Arc::new(task())).await
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        let page = ListTasksResponse {
            tasks: vec![task()],
            page_size: 50,
            total_size: 1,
            ..Default::default()
        };
        self.answer(Operation::ListTasks, call, page).await
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        self.answer(Operation::CancelTask, call, Arc::new(task())).await
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        self.answer(Operation::SubscribeToTask, call, self.events()).await
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.answer(Operation::CreateTaskPushNotificationConfig, call, config()).await
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.answer(Operation::GetTaskPushNotificationConfig, call, config()).await
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        let page = ListTaskPushNotificationConfigsResponse {
            configs: vec![config()],
            ..Default::default()
        };
        self.answer(Operation::ListTaskPushNotificationConfigs, call, page).await
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        self.answer(Operation::DeleteTaskPushNotificationConfig, call, ()).await
    }

    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        let card = AgentCard::new("Fake", "Says what it is told");
        self.answer(Operation::GetExtendedAgentCard, call, card).await
    }
}

/// The fake agent, served on its own port.
pub(crate) struct Served {
    pub(crate) agent: Fake,
    pub(crate) address: SocketAddr,
    pub(crate) server: JoinHandle<()>,
    pub(crate) drain: a2a_kit_http::Drain,
}

impl Served {
    pub(crate) async fn new() -> Self {
        Self::with(GrpcOptions::default()).await
    }

    pub(crate) async fn with(options: GrpcOptions) -> Self {
        let agent = Fake::default();
        let router = a2a_kit_grpc::router_with(agent.clone(), options);
        Self::mounted(agent, router.fallback(a2a_kit_grpc::fallback)).await
    }

    pub(crate) async fn mounted(agent: Fake, router: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = HttpServer::new(router);
        let drain = server.drain().clone();
        let server = tokio::spawn(server.serve(listener, std::future::pending()));
        Self { agent, address, server, drain }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.address.to_string()).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Asserts that an error has a kind.
pub(crate) fn assert_kind<T>(answer: Result<T>, kind: ErrorKind) -> Error {
    match answer {
        Err(error) => {
            assert_eq!(error.kind(), kind, "{error:?}");
            error
        }
        Ok(_) => panic!("an answer instead of {kind:?}"),
    }
}
