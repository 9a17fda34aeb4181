//! The eleven operations of the protocol.

use std::sync::Arc;

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
/// The trait is used on both sides, like `tower::Service`: an [`Engine`](crate::Engine) implements
/// it, every client implements it, and every server exposes an implementation. To write an agent,
/// implement [`AgentExecutor`](crate::AgentExecutor) instead.
///
/// # Laws
///
/// Every implementation must uphold these laws; the behaviour suite checks them.
///
/// - Dropping a returned future or an [`EventStream`] detaches the caller. It cancels nothing:
/// - Dropping a returned future or an [`EventStream`] detaches the caller and cancels nothing; only
///   [`cancel_task`](Self::cancel_task) does.
/// - A stream that ends without an error ended at a `Message`, a terminal or an interrupted
///   state. Any other end is an `Err` of kind [`Unavailable`](a2a_core::ErrorKind::Unavailable)
///   as its last item.
/// - A stream is rejected by the future, before it opens.
/// - [`CallContext::caller`](crate::CallContext::caller) is never written to a wire.
/// - A task of another caller is indistinguishable from one that does not exist.
///
/// There are no default bodies, so that a wrapper that forgets a method does not compile.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Sends a message and waits for the response (spec §3.1.1).
    ///
    /// Responds with a task in a terminal or interrupted state, or with a message; with
    /// `returnImmediately`, as soon as the task exists.
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>>;

    /// Sends a message and streams the response (spec §3.1.2).
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

    /// Cancels a task and returns its state (spec §3.1.5).
    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>>;

    /// Streams a task that has not ended: first the `Task`, then its updates up to a terminal
    /// state (spec §3.1.6).
    ///
    /// With [`CallContext::last_event_id`](crate::CallContext::last_event_id) the stream consists
    /// of exactly the events after that one, even if the task has ended.
    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>>;

    /// Stores a webhook for a task, with a fresh id if none is given (spec §3.1.7).
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

    /// Deletes a webhook of a task; idempotent (spec §3.1.10).
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

/// Implements methods of [`Agent`] by forwarding to another agent: all of them, or the named ones.
///
/// After `=>` follows an expression for the other agent, in which the name before it is `self`.
///
/// ```
/// use a2a_core::{Result, v1::{SendMessageRequest, SendMessageResponse}};
/// use a2a_operations::{Agent, Call, Reply, forward_agent};
/// use async_trait::async_trait;
///
/// /// Counts the messages that an agent gets.
/// struct Counted<A> {
///     agent: A,
///     messages: std::sync::atomic::AtomicU64,
/// }
///
/// #[async_trait]
/// impl<A: Agent> Agent for Counted<A> {
///     async fn send_message(
///         &self,
///         call: Call<SendMessageRequest>,
///     ) -> Result<Reply<SendMessageResponse>> {
///         self.messages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         self.agent.send_message(call).await
///     }
///
///     forward_agent! {
///         this => this.agent;
///         send_streaming_message, get_task, list_tasks, cancel_task, subscribe_to_task,
///         create_task_push_notification_config, get_task_push_notification_config,
///         list_task_push_notification_configs, delete_task_push_notification_config,
///         get_extended_agent_card,
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_agent {
    ($this:ident => $agent:expr) => {
        $crate::forward_agent! {
            $this => $agent;
            send_message, send_streaming_message, get_task, list_tasks, cancel_task,
            subscribe_to_task, create_task_push_notification_config,
            get_task_push_notification_config, list_task_push_notification_configs,
            delete_task_push_notification_config, get_extended_agent_card,
        }
    };
    ($this:ident => $agent:expr; $($method:ident),* $(,)?) => {
        $($crate::forward_agent!(@ $method $this $agent);)*
    };
    (@ send_message $this:ident $agent:expr) => {
        $crate::forward_agent!(@@ $this $agent, send_message, SendMessageRequest => SendMessageResponse);
    };
    (@ send_streaming_message $this:ident $agent:expr) => {
        $crate::forward_agent!(@@ $this $agent, send_streaming_message, SendMessageRequest => EventStream);
    };
    (@ get_task $this:ident $agent:expr) => {
        $crate::forward_agent!(@@ $this $agent, get_task, GetTaskRequest => SharedTask);
    };
    (@ list_tasks $this:ident $agent:expr) => {
        $crate::forward_agent!(@@ $this $agent, list_tasks, ListTasksRequest => ListTasksResponse);
    };
    (@ cancel_task $this:ident $agent:expr) => {
        $crate::forward_agent!(@@ $this $agent, cancel_task, CancelTaskRequest => SharedTask);
    };
    (@ subscribe_to_task $this:ident $agent:expr) => {
        $crate::forward_agent!(@@ $this $agent, subscribe_to_task, SubscribeToTaskRequest => EventStream);
    };
    (@ create_task_push_notification_config $this:ident $agent:expr) => {
        $crate::forward_agent!(
            @@ $this $agent, create_task_push_notification_config,
            TaskPushNotificationConfig => TaskPushNotificationConfig
        );
    };
    (@ get_task_push_notification_config $this:ident $agent:expr) => {
        $crate::forward_agent!(
            @@ $this $agent, get_task_push_notification_config,
            GetTaskPushNotificationConfigRequest => TaskPushNotificationConfig
        );
    };
    (@ list_task_push_notification_configs $this:ident $agent:expr) => {
        $crate::forward_agent!(
            @@ $this $agent, list_task_push_notification_configs,
            ListTaskPushNotificationConfigsRequest => ListTaskPushNotificationConfigsResponse
        );
    };
    (@ delete_task_push_notification_config $this:ident $agent:expr) => {
        $crate::forward_agent!(
            @@ $this $agent, delete_task_push_notification_config,
            DeleteTaskPushNotificationConfigRequest => Nothing
        );
    };
    (@ get_extended_agent_card $this:ident $agent:expr) => {
        $crate::forward_agent!(
            @@ $this $agent, get_extended_agent_card, GetExtendedAgentCardRequest => AgentCard
        );
    };
    // The expansion of an `async fn` by async-trait, without an extra future.
    (@@ $this:ident $agent:expr, $method:ident, $request:ident => $response:ident) => {
        fn $method<'agent, 'future>(
            &'agent self,
            call: $crate::Call<$crate::forward::$request>,
        ) -> $crate::forward::Future<'future, $crate::forward::$response>
        where
            'agent: 'future,
            Self: 'future,
        {
            let $this = self;
            $crate::Agent::$method(&$agent, call)
        }
    };
}

/// Types used by [`forward_agent!`].
#[doc(hidden)]
pub mod forward {
    use std::{pin::Pin, sync::Arc};

    pub use a2a_core::v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    };

    pub use crate::EventStream;
    use crate::Reply;

    pub type Future<'a, T> =
        Pin<Box<dyn std::future::Future<Output = a2a_core::Result<Reply<T>>> + Send + 'a>>;
    pub type Nothing = ();
    pub type SharedTask = Arc<a2a_core::v1::Task>;
}

impl<A: Agent + ?Sized> Agent for Arc<A> {
    forward_agent!(this => **this);
}
