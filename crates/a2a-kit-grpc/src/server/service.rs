//! Implements the generated service by an agent.

use std::{future::Future, sync::Arc};

use a2a_core::{
    Operation, Result, card,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig, send_message_response::Payload,
    },
};
use a2a_kit_http::{BindingOptions, Drain, service_parameters};
use a2a_kit_operations::{
    Agent, Call, CallContext, EventId, EventStream, Reply, list_tasks_within, trace::ServerSpan,
};
use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use tonic::{Request, Response, Status};
use tracing::Instrument as _;

use super::{
    deadline,
    events::{Events, GuardedEvents},
};
use crate::{
    generated::a2_a_service_server::A2AService,
    metadata::write_position,
    server::codec::{Shared, Undecoded},
    status,
};

/// Maximum size of a page of tasks, in bytes: clients reject messages of more than 4 MiB by
/// default.
pub const MAX_PAGE_BYTES: usize = 4 << 20;

/// An agent as the generated service.
pub(crate) struct AgentService {
    agent: Arc<dyn Agent>,
    options: BindingOptions,
    max_response_bytes: usize,
}

type Answer<M> = Result<Response<M>, Status>;

impl AgentService {
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        options: BindingOptions,
        max_response_bytes: usize,
    ) -> Self {
        Self { agent, options, max_response_bytes }
    }

    fn context(&self, request: &Request<impl Sized>) -> Result<(CallContext, Option<Instant>)> {
        let headers = request.metadata().as_ref();
        let mut context = self.options.read_parameters(headers, None)?;
        service_parameters::identify(&mut context, request.extensions());
        context.max_response_bytes = Some(MAX_PAGE_BYTES.min(self.max_response_bytes));
        Ok((context, deadline::read(headers)?))
    }

    /// Decodes a request and calls an operation of the agent.
    async fn call<'a, Q, A>(
        &'a self,
        mut request: Request<Undecoded<Q>>,
        name: Operation,
        operation: impl FnOnce(&'a dyn Agent, Call<Q>) -> Performed<'a, A>,
    ) -> Result<Called<A>>
    where
        Q: a2a_core::Request + prost::Message + Default + 'static,
    {
        let message = Undecoded::decode(&mut request, self.options.limits.max_json_values).await?;
        let (mut context, deadline) = self.context(&request)?;
        context.last_event_id =
            context.last_event_id.filter(|_| name == Operation::SubscribeToTask);
        let mut served = ServerSpan::begin(name, card::GRPC, &mut context);
        served.record_ids(message.task_id(), message.context_id());
        let resumed_after = context.last_event_id;
        let performed = operation(&*self.agent, Call::from_parts(context, message));
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

    async fn unary<'a, Q, A, M>(
        &'a self,
        request: Request<Undecoded<Q>>,
        name: Operation,
        operation: impl FnOnce(&'a dyn Agent, Call<Q>) -> Performed<'a, A>,
    ) -> Answer<Shared<M>>
    where
        Q: a2a_core::Request + prost::Message + Default + 'static,
        A: Into<Shared<M>>,
        M: prost::Message,
    {
        self.logged(request, name, operation, |_| None).await
    }

    /// As [`unary`](Self::unary), and logs the task of the response.
    async fn logged<'a, Q, A, M>(
        &'a self,
        request: Request<Undecoded<Q>>,
        name: Operation,
        operation: impl FnOnce(&'a dyn Agent, Call<Q>) -> Performed<'a, A>,
        task: fn(&A) -> Option<&Task>,
    ) -> Answer<Shared<M>>
    where
        Q: a2a_core::Request + prost::Message + Default + 'static,
        A: Into<Shared<M>>,
        M: prost::Message,
    {
        let called = self.call(request, name, operation).await;
        let result = called.and_then(|Called { reply, mut served, .. }| {
            if let Some(task) = task(&reply.response) {
                served.record_ids(&task.id, &task.context_id);
            }
            served.end(&Ok(()));
            Ok((reply.response.into().within(self.max_response_bytes)?, reply.activated))
        });
        let (message, activated) = result.map_err(status::encode)?;
        let mut response = Response::new(message);
        service_parameters::write_activated(&activated, response.metadata_mut().as_mut());
        Ok(response)
    }

    async fn streaming<'a, Q>(
        &'a self,
        request: Request<Undecoded<Q>>,
        name: Operation,
        operation: impl FnOnce(&'a dyn Agent, Call<Q>) -> Performed<'a, EventStream>,
    ) -> Answer<Events>
    where
        Q: a2a_core::Request + prost::Message + Default + 'static,
    {
        let drain = Drain::of(request.extensions());
        let result = async {
            let called = self.call(request, name, operation).await?;
            let Called { reply, mut served, deadline, resumed_after } = called;
            served.end(&Ok(()));
            let events = served.keep_open(reply.response);
            let events = GuardedEvents::open(events, resumed_after, deadline, drain).await?;
            Ok((events, reply.activated))
        };
        let (events, activated) = result.await.map_err(status::encode)?;
        let position = events.position();
        let mut response = Response::new(Events::new(events, self.max_response_bytes));
        let headers = response.metadata_mut().as_mut();
        service_parameters::write_activated(&activated, headers);
        if let Some(position) = position {
            write_position(position, headers);
        }
        Ok(response)
    }
}

/// The task of a response to a message.
fn sent_task(sent: &SendMessageResponse) -> Option<&Task> {
    match &sent.payload {
        Some(Payload::Task(task)) => Some(task),
        _ => None,
    }
}

/// The future of an operation.
type Performed<'a, A> = BoxFuture<'a, Result<Reply<A>>>;

/// The reply of the agent, and properties of the call that the response depends on. The operation
/// has not ended yet.
struct Called<A> {
    reply: Reply<A>,
    served: ServerSpan,
    deadline: Option<Instant>,
    resumed_after: Option<EventId>,
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

/// Implements the service: for each method its messages, and how it is called.
macro_rules! service {
    ($($method:ident($request:ty) -> $answer:ty = $how:ident($($argument:expr),*);)*) => {
        #[tonic::async_trait]
        impl A2AService for AgentService {
            type SendStreamingMessageStream = Events;
            type SubscribeToTaskStream = Events;

            $(
                async fn $method(&self, request: Request<Undecoded<$request>>) -> Answer<$answer> {
                    self.$how(request, $($argument),*).await
                }
            )*
        }
    };
}
service! {
    send_message(SendMessageRequest) -> Shared<SendMessageResponse>
        = logged(Operation::SendMessage, <dyn Agent>::send_message, sent_task);
    send_streaming_message(SendMessageRequest) -> Events
        = streaming(Operation::SendStreamingMessage, <dyn Agent>::send_streaming_message);
    get_task(GetTaskRequest) -> Shared<Task> = unary(Operation::GetTask, <dyn Agent>::get_task);
    list_tasks(ListTasksRequest) -> Shared<ListTasksResponse>
        = unary(Operation::ListTasks, |agent, call| Box::pin(list_tasks_within(agent, call)));
    cancel_task(CancelTaskRequest) -> Shared<Task>
        = unary(Operation::CancelTask, <dyn Agent>::cancel_task);
    subscribe_to_task(SubscribeToTaskRequest) -> Events
        = streaming(Operation::SubscribeToTask, <dyn Agent>::subscribe_to_task);
    create_task_push_notification_config(TaskPushNotificationConfig)
        -> Shared<TaskPushNotificationConfig>
        = unary(
            Operation::CreateTaskPushNotificationConfig,
            <dyn Agent>::create_task_push_notification_config
        );
    get_task_push_notification_config(GetTaskPushNotificationConfigRequest)
        -> Shared<TaskPushNotificationConfig>
        = unary(
            Operation::GetTaskPushNotificationConfig,
            <dyn Agent>::get_task_push_notification_config
        );
    list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest)
        -> Shared<ListTaskPushNotificationConfigsResponse>
        = unary(
            Operation::ListTaskPushNotificationConfigs,
            <dyn Agent>::list_task_push_notification_configs
        );
    delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest) -> Shared<()>
        = unary(
            Operation::DeleteTaskPushNotificationConfig,
            <dyn Agent>::delete_task_push_notification_config
        );
    get_extended_agent_card(GetExtendedAgentCardRequest) -> Shared<AgentCard>
        = unary(Operation::GetExtendedAgentCard, <dyn Agent>::get_extended_agent_card);
}
