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
/// The trait is used on both sides, like `tower::Service`: an [`Engine`](crate::Engine) implements
/// it, every client implements it, and every server exposes an implementation. To write an agent,
/// implement [`AgentExecutor`](crate::AgentExecutor) instead.
///
/// # Laws
///
/// Every implementation must uphold these laws; the behaviour suite checks them.
///
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
/// use a2a_kit_operations::{Agent, Call, Reply, forward_agent};
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
        $crate::agent_methods!((forward $this $agent));
    };
    ($this:ident => $agent:expr; $($method:ident),* $(,)?) => {
        $($crate::agent_methods!(@ $method => (forward $this $agent));)*
    };
}

/// Writes the methods of an [`Agent`] that a wrapper treats alike: all of them, or those that are
/// named. Each calls one method of the wrapper, which gets the operation, the call, and the
/// operation as a function that calls it on an agent.
///
/// ```
/// use a2a_core::{Operation, Request, Result};
/// use a2a_kit_operations::{Agent, AgentMethod, Call, Reply, intercept_agent};
///
/// /// Logs the operations of an agent.
/// struct Logged<A>(A);
///
/// impl<A: Agent> Logged<A> {
///     async fn log<R: Request, T>(
///         &self,
///         operation: Operation,
///         call: Call<R>,
///         method: AgentMethod<R, T>,
///     ) -> Result<Reply<T>> {
///         println!("{}", operation.name());
///         method(&self.0, call).await
///     }
/// }
///
/// impl<A: Agent> Agent for Logged<A> {
///     intercept_agent!(log);
/// }
/// ```
#[macro_export]
macro_rules! intercept_agent {
    ($intercept:ident) => {
        $crate::agent_methods!((intercept $intercept));
    };
    ($intercept:ident; $($method:ident),* $(,)?) => {
        $($crate::agent_methods!(@ $method => (intercept $intercept));)*
    };
}

/// The table of operations: method, operation, request and response.
#[doc(hidden)]
#[macro_export]
macro_rules! agent_methods {
    (@ send_message => $how:tt) => {
        $crate::agent_methods!(@@ $how, send_message SendMessage SendMessageRequest SendMessageResponse);
    };
    (@ send_streaming_message => $how:tt) => {
        $crate::agent_methods!(@@ $how, send_streaming_message SendStreamingMessage SendMessageRequest EventStream);
    };
    (@ get_task => $how:tt) => {
        $crate::agent_methods!(@@ $how, get_task GetTask GetTaskRequest SharedTask);
    };
    (@ list_tasks => $how:tt) => {
        $crate::agent_methods!(@@ $how, list_tasks ListTasks ListTasksRequest ListTasksResponse);
    };
    (@ cancel_task => $how:tt) => {
        $crate::agent_methods!(@@ $how, cancel_task CancelTask CancelTaskRequest SharedTask);
    };
    (@ subscribe_to_task => $how:tt) => {
        $crate::agent_methods!(@@ $how, subscribe_to_task SubscribeToTask SubscribeToTaskRequest EventStream);
    };
    (@ create_task_push_notification_config => $how:tt) => {
        $crate::agent_methods!(
            @@ $how, create_task_push_notification_config CreateTaskPushNotificationConfig
            TaskPushNotificationConfig TaskPushNotificationConfig
        );
    };
    (@ get_task_push_notification_config => $how:tt) => {
        $crate::agent_methods!(
            @@ $how, get_task_push_notification_config GetTaskPushNotificationConfig
            GetTaskPushNotificationConfigRequest TaskPushNotificationConfig
        );
    };
    (@ list_task_push_notification_configs => $how:tt) => {
        $crate::agent_methods!(
            @@ $how, list_task_push_notification_configs ListTaskPushNotificationConfigs
            ListTaskPushNotificationConfigsRequest ListTaskPushNotificationConfigsResponse
        );
    };
    (@ delete_task_push_notification_config => $how:tt) => {
        $crate::agent_methods!(
            @@ $how, delete_task_push_notification_config DeleteTaskPushNotificationConfig
            DeleteTaskPushNotificationConfigRequest Nothing
        );
    };
    (@ get_extended_agent_card => $how:tt) => {
        $crate::agent_methods!(
            @@ $how, get_extended_agent_card GetExtendedAgentCard
            GetExtendedAgentCardRequest AgentCard
        );
    };
    (@ $unknown:ident => $how:tt) => {
        compile_error!(concat!("`", stringify!($unknown), "` is not a method of `Agent`"));
    };
    // What an `async fn` of async-trait becomes, without a future around the other agent's.
    (@@ (forward $this:ident $agent:expr), $method:ident $operation:ident $request:ident $response:ident) => {
        fn $method<'agent, 'future>(
            &'agent self,
            call: $crate::Call<$crate::forward::$request>,
        ) -> $crate::ReplyFuture<'future, $crate::forward::$response>
        where
            'agent: 'future,
            Self: 'future,
        {
            let $this = self;
            $crate::Agent::$method(&$agent, call)
        }
    };
    (@@ (intercept $intercept:ident), $method:ident $operation:ident $request:ident $response:ident) => {
        fn $method<'agent, 'future>(
            &'agent self,
            call: $crate::Call<$crate::forward::$request>,
        ) -> $crate::ReplyFuture<'future, $crate::forward::$response>
        where
            'agent: 'future,
            Self: 'future,
        {
            let operation = $crate::forward::Operation::$operation;
            ::std::boxed::Box::pin(self.$intercept(operation, call, |agent, call| {
                $crate::Agent::$method(agent, call)
            }))
        }
    };
    ($how:tt) => {
        $crate::agent_methods! {
            $how: send_message send_streaming_message get_task list_tasks cancel_task
            subscribe_to_task create_task_push_notification_config
            get_task_push_notification_config list_task_push_notification_configs
            delete_task_push_notification_config get_extended_agent_card
        }
    };
    ($how:tt: $($method:ident)*) => {
        $($crate::agent_methods!(@ $method => $how);)*
    };
}

/// The future of an agent's reply.
pub type ReplyFuture<'a, T> = Pin<Box<dyn Future<Output = Result<Reply<T>>> + Send + 'a>>;

/// An operation as a function that calls it on an agent; see [`intercept_agent!`].
pub type AgentMethod<R, T> = for<'a> fn(&'a dyn Agent, Call<R>) -> ReplyFuture<'a, T>;

/// The types that [`forward_agent!`] and [`intercept_agent!`] name.
#[doc(hidden)]
pub mod forward {
    use std::sync::Arc;

    pub use a2a_core::{
        Operation,
        v1::{
            AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
            GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
            ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
            ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
            SubscribeToTaskRequest, TaskPushNotificationConfig,
        },
    };

    pub use crate::EventStream;

    pub type Nothing = ();
    pub type SharedTask = Arc<a2a_core::v1::Task>;
}

impl<A: Agent + ?Sized> Agent for Arc<A> {
    forward_agent!(this => **this);
}
