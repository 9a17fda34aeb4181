//! Implements the generated service by an agent.

use std::{borrow::Borrow, future::Future, sync::Arc};

use a2a_core::{
    Operation, Result, card,
    v1::{
        AgentCard, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse,
        Task, TaskPushNotificationConfig, send_message_response::Payload,
    },
};
use a2a_kit_http::{BindingOptions, Drain, service_parameters};
use a2a_kit_operations::{
    Agent, Call, CallContext, EventId, EventStream, Reply, list_tasks_within, trace::ServerSpan,
};
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::request::Parts;
use prost::Message;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::{
    deadline,
    events::{Events, GuardedEvents},
    message::{Received, reject, respond, respond_with_stream},
    method::Method,
};
use crate::{metadata::write_position, status};

/// Maximum size of a page of tasks, in bytes: clients reject messages of more than 4 MiB by
/// default.
pub const MAX_PAGE_BYTES: usize = 4 << 20;

/// An agent as the service.
pub(crate) struct AgentService {
    agent: Arc<dyn Agent>,
    options: BindingOptions,
    max_response_bytes: usize,
}

/// An operation of an agent.
type Perform<Q, A> = for<'a> fn(&'a dyn Agent, Call<Q>) -> BoxFuture<'a, Result<Reply<A>>>;

/// The reply of the agent, and properties of the call that the response depends on. The operation
/// has not ended yet.
struct Called<A> {
    reply: Reply<A>,
    served: ServerSpan,
    deadline: Option<Instant>,
    resumed_after: Option<EventId>,
}

impl AgentService {
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        options: BindingOptions,
        max_response_bytes: usize,
    ) -> Self {
        Self { agent, options, max_response_bytes }
    }

    fn context(&self, parts: &Parts) -> Result<(CallContext, Option<Instant>)> {
        let mut context = self.options.read_parameters(&parts.headers, None)?;
        service_parameters::identify(&mut context, &parts.extensions);
        context.max_response_bytes = Some(MAX_PAGE_BYTES.min(self.max_response_bytes));
        Ok((context, deadline::read(&parts.headers)?))
    }

    /// Decodes a request and calls an operation of the agent.
    async fn call<Q, A>(
        &self,
        mut received: Received,
        name: Operation,
        perform: Perform<Q, A>,
    ) -> Result<Called<A>>
    where
        Q: a2a_core::Request + Message + Default,
    {
        let message = received.decode::<Q>(self.options.limits.max_json_values).await?;
        let (mut context, deadline) = self.context(&received.parts)?;
        context.last_event_id =
            context.last_event_id.filter(|_| name == Operation::SubscribeToTask);
        let mut served = ServerSpan::begin(name, card::GRPC, &mut context);
        served.record_ids(message.task_id(), message.context_id());
        let resumed_after = context.last_event_id;
        let performed = perform(&*self.agent, Call::from_parts(context, message));
        let performed = performed.instrument(served.span().clone());
        match within(deadline, performed).await {
            Ok(reply) => Ok(Called { reply, served, deadline, resumed_after }),
            Err(error) => {
                let failed = Err(error);
                served.end(&failed);
                failed
            }
        }
    }

    /// Responds with one message. The task in it, if any, is logged.
    async fn unary<Q, A, M>(
        self: Arc<Self>,
        received: Received,
        name: Operation,
        perform: Perform<Q, A>,
        task: fn(&A) -> Option<&Task>,
    ) -> Response
    where
        Q: a2a_core::Request + Message + Default,
        A: Borrow<M>,
        M: Message,
    {
        let Called { reply, mut served, .. } = match self.call(received, name, perform).await {
            Ok(called) => called,
            Err(error) => return reject(status::encode(error)),
        };
        if let Some(task) = task(&reply.response) {
            served.record_ids(&task.id, &task.context_id);
        }
        served.end(&Ok(()));
        match respond(reply.response.borrow(), self.max_response_bytes) {
            Ok(mut response) => {
                service_parameters::write_activated(&reply.activated, response.headers_mut());
                response
            }
            Err(error) => reject(status::encode(error)),
        }
    }

    /// Responds with a stream of events.
    async fn streaming<Q>(
        self: Arc<Self>,
        received: Received,
        name: Operation,
        perform: Perform<Q, EventStream>,
    ) -> Response
    where
        Q: a2a_core::Request + Message + Default,
    {
        let drain = Drain::of(&received.parts.extensions);
        let Called { reply, mut served, deadline, resumed_after } =
            match self.call(received, name, perform).await {
                Ok(called) => called,
                Err(error) => return reject(status::encode(error)),
            };
        served.end(&Ok(()));
        let events = served.keep_open(reply.response);
        let events = match GuardedEvents::open(events, resumed_after, deadline, drain).await {
            Ok(events) => events,
            Err(error) => return reject(status::encode(error)),
        };
        let position = events.position();
        let mut response = respond_with_stream(Events::new(events, self.max_response_bytes));
        let headers = response.headers_mut();
        service_parameters::write_activated(&reply.activated, headers);
        if let Some(position) = position {
            write_position(position, headers);
        }
        response
    }
}

/// The task of a response to a message.
fn sent_task(sent: &SendMessageResponse) -> Option<&Task> {
    match &sent.payload {
        Some(Payload::Task(task)) => Some(task),
        _ => None,
    }
}

/// Limits an operation to the caller's deadline. Dropping it detaches the caller but cancels
/// nothing.
///
/// # Errors
///
/// Those of the operation, and [`DeadlineExceeded`](a2a_core::ErrorKind::DeadlineExceeded).
pub async fn within<T>(
    deadline: Option<Instant>,
    operation: impl Future<Output = Result<T>>,
) -> Result<T> {
    match deadline {
        None => operation.await,
        Some(deadline) => match timeout_at(deadline, operation).await {
            Ok(result) => result,
            Err(elapsed) => Err(deadline::exceeded().with_source(elapsed)),
        },
    }
}

/// The methods of the service: for each operation, how the agent is called and, for a unary one, the
/// message of its response and the task in it.
macro_rules! methods {
    ($($operation:ident = $call:expr $(, $message:ty, $task:expr)?;)*) => {
        [$((Operation::$operation.name(), |service, received| {
            methods!(@ service, received, Operation::$operation, $call $(, $message, $task)?)
        })),*]
    };
    (@ $service:ident, $received:ident, $name:expr, $call:expr) => {
        Box::pin(AgentService::streaming($service, $received, $name, $call))
    };
    (@ $service:ident, $received:ident, $name:expr, $call:expr, $message:ty, $task:expr) => {
        Box::pin(AgentService::unary::<_, _, $message>($service, $received, $name, $call, $task))
    };
}

pub(crate) const METHODS: [(&str, Method<AgentService>); Operation::ALL.len()] = methods! {
    SendMessage = |agent, call| agent.send_message(call), SendMessageResponse, sent_task;
    SendStreamingMessage = |agent, call| agent.send_streaming_message(call);
    GetTask = |agent, call| agent.get_task(call), Task, |_| None;
    ListTasks = |agent, call| Box::pin(list_tasks_within(agent, call)),
        ListTasksResponse, |_| None;
    CancelTask = |agent, call| agent.cancel_task(call), Task, |_| None;
    SubscribeToTask = |agent, call| agent.subscribe_to_task(call);
    CreateTaskPushNotificationConfig =
        |agent, call| agent.create_task_push_notification_config(call),
        TaskPushNotificationConfig, |_| None;
    GetTaskPushNotificationConfig = |agent, call| agent.get_task_push_notification_config(call),
        TaskPushNotificationConfig, |_| None;
    ListTaskPushNotificationConfigs =
        |agent, call| agent.list_task_push_notification_configs(call),
        ListTaskPushNotificationConfigsResponse, |_| None;
    DeleteTaskPushNotificationConfig =
        |agent, call| agent.delete_task_push_notification_config(call), (), |_| None;
    GetExtendedAgentCard = |agent, call| agent.get_extended_agent_card(call),
        AgentCard, |_| None;
};
