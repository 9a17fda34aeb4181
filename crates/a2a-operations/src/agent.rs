//! The eleven operations of the protocol.

use std::{future::Future, pin::Pin, sync::Arc};

use a2a_core::{
    Result,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use async_trait::async_trait;

use crate::{Call, EventStream, Reply};

/// An A2A agent: the protocol's eleven operations (spec §3.1).
///
/// Both ends speak it, as with `tower::Service`: an [`Engine`](crate::Engine) is one, every
/// binding's client is one, and every binding's server puts one on the wire. To write an agent,
/// implement [`AgentExecutor`](crate::AgentExecutor) instead.
///
/// # Laws
///
/// Every implementation keeps these, and the behaviour suite checks them at every seat.
///
/// - Dropping a returned future or an [`EventStream`] detaches the caller. It cancels nothing:
///   only [`cancel_task`](Self::cancel_task) does.
/// - Events of a task come in the order in which they were made, to every reader the same.
/// - A stream that ends without an error ended at a `Message`, a terminal or an interrupted
///   state. Any other end is an `Err` of kind [`Unavailable`](a2a_core::ErrorKind::Unavailable)
///   as its last item.
/// - A refused stream is refused by the future, before it opens.
/// - [`CallContext::caller`](crate::CallContext::caller) stays in this process: it is never
///   written to a wire.
/// - A task that is not the caller's is answered like one that does not exist.
///
/// There are no default bodies, so that a wrapper that forgets a method does not compile.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Delivers a message and waits for what comes of it (spec §3.1.1).
    ///
    /// Answers with a task in a terminal or interrupted state, or with a message. With
    /// `returnImmediately` answers as soon as the task exists.
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>>;

    /// Delivers a message and streams what comes of it (spec §3.1.2).
    ///
    /// The stream is one `Message`, or a `Task` and then its updates up to a terminal state or
    /// INPUT_REQUIRED.
    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>>;

    /// Returns the current state of a task (spec §3.1.3).
    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>>;

    /// Returns a page of the caller's tasks, newest status first (spec §3.1.4).
    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>>;

    /// Cancels a task and returns it as it is then (spec §3.1.5).
    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>>;

    /// Streams a task that has not ended: first the `Task`, then its updates up to a terminal
    /// state (spec §3.1.6).
    ///
    /// With [`CallContext::last_event_id`](crate::CallContext::last_event_id) the stream is
    /// instead exactly the events after that one, also those of a task that has ended since.
    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>>;

    /// Stores a webhook for a task, under a fresh id where none is given (spec §3.1.7).
    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>>;

    /// Returns a webhook of a task, without its secrets (spec §3.1.8).
    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>>;

    /// Returns the webhooks of a task, without their secrets (spec §3.1.9).
    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>>;

    /// Removes a webhook of a task; removing it again succeeds too (spec §3.1.10).
    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>>;

    /// Returns the card for authenticated callers (spec §3.1.11).
    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>>;
}

/// Passes calls on as they are: an `async fn` here would put a future around each one.
macro_rules! pass_on {
    ($($method:ident($request:ty) -> $response:ty;)*) => {
        impl<A: Agent + ?Sized> Agent for Arc<A> {
            $(
                fn $method<'agent, 'future>(
                    &'agent self,
                    call: Call<$request>,
                ) -> Pin<Box<dyn Future<Output = Result<Reply<$response>>> + Send + 'future>>
                where
                    'agent: 'future,
                    Self: 'future,
                {
                    (**self).$method(call)
                }
            )*
        }
    };
}

pass_on! {
    send_message(SendMessageRequest) -> SendMessageResponse;
    send_streaming_message(SendMessageRequest) -> EventStream;
    get_task(GetTaskRequest) -> Arc<Task>;
    list_tasks(ListTasksRequest) -> ListTasksResponse;
    cancel_task(CancelTaskRequest) -> Arc<Task>;
    subscribe_to_task(SubscribeToTaskRequest) -> EventStream;
    create_task_push_notification_config(TaskPushNotificationConfig) -> TaskPushNotificationConfig;
    get_task_push_notification_config(GetTaskPushNotificationConfigRequest)
        -> TaskPushNotificationConfig;
    list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest)
        -> ListTaskPushNotificationConfigsResponse;
    delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest) -> ();
    get_extended_agent_card(GetExtendedAgentCardRequest) -> AgentCard;
}
