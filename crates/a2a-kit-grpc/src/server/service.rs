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

use super::{deadline, events::Events};
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

type Answer<M> = Result<Response<Shared<M>>, Status>;

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
        name: Operation,
        mut request: Request<Undecoded<Q>>,
        operation: impl FnOnce(&'a dyn Agent, Call<Q>) -> Performed<'a, A>,
    ) -> Result<Called<A>>
    where
        Q: a2a_core::Request + prost::Message + Default + 'static,
    {
        let message = Undecoded::decode(&mut request, self.options.limits.max_json_values).await?;
        let (mut context, deadline) = self.context(&request)?;
        context.last_event_id =
            context.last_event_id.filter(|_| name == Operation::SubscribeToTask);
        let mut served = begin(name, &mut context, &message);
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
        name: Operation,
        request: Request<Undecoded<Q>>,
        operation: impl FnOnce(&'a dyn Agent, Call<Q>) -> Performed<'a, A>,
    ) -> Answer<M>
    where
        Q: a2a_core::Request + prost::Message + Default + 'static,
        A: Into<Shared<M>>,
        M: prost::Message,
    {
        self.unary_with(name, request, operation, |_| None).await
    }

    /// As [`unary`](Self::unary), and logs the task of the response.
    async fn unary_with<'a, Q, A, M>(
        &'a self,
        name: Operation,
        request: Request<Undecoded<Q>>,
        operation: impl FnOnce(&'a dyn Agent, Call<Q>) -> Performed<'a, A>,
        task: fn(&A) -> Option<&Task>,
    ) -> Answer<M>
    where
        Q: a2a_core::Request + prost::Message + Default + 'static,
        A: Into<Shared<M>>,
        M: prost::Message,
    {
        let called = self.call(name, request, operation).await;
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
        name: Operation,
        request: Request<Undecoded<Q>>,
        operation: impl FnOnce(&'a dyn Agent, Call<Q>) -> Performed<'a, EventStream>,
    ) -> Result<Response<Events>, Status>
    where
        Q: a2a_core::Request + prost::Message + Default + 'static,
    {
        let drain = Drain::of(request.extensions());
        let result = async {
            let called = self.call(name, request, operation).await?;
            let Called { reply, mut served, deadline, resumed_after } = called;
            served.end(&Ok(()));
            let events = served.keep_open(reply.response);
            let events = Events::open(events, resumed_after, deadline, drain).await?;
            Ok((events.limited_to(self.max_response_bytes), reply.activated))
        };
        let (events, activated) = result.await.map_err(status::encode)?;
        let position = events.position();
        let mut response = Response::new(events);
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

fn begin(
    operation: Operation,
    context: &mut CallContext,
    request: &impl a2a_core::Request,
) -> ServerSpan {
    let served = ServerSpan::begin(operation, card::GRPC, context);
    served.record_ids(request.task_id(), request.context_id());
    served
}

/// Limits an operation to the caller's deadline. Dropping it detaches the caller but cancels
/// nothing.
pub(crate) async fn within<T>(
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

#[tonic::async_trait]
impl A2AService for AgentService {
    type SendStreamingMessageStream = Events;
    type SubscribeToTaskStream = Events;

    async fn send_message(
        &self,
        request: Request<Undecoded<SendMessageRequest>>,
    ) -> Answer<SendMessageResponse> {
        self.unary_with(Operation::SendMessage, request, <dyn Agent>::send_message, sent_task).await
    }

    async fn send_streaming_message(
        &self,
        request: Request<Undecoded<SendMessageRequest>>,
    ) -> Result<Response<Events>, Status> {
        self.streaming(
            Operation::SendStreamingMessage,
            request,
            <dyn Agent>::send_streaming_message,
        )
        .await
    }

    async fn get_task(&self, request: Request<Undecoded<GetTaskRequest>>) -> Answer<Task> {
        self.unary(Operation::GetTask, request, <dyn Agent>::get_task).await
    }

    async fn list_tasks(
        &self,
        request: Request<Undecoded<ListTasksRequest>>,
    ) -> Answer<ListTasksResponse> {
        let list = |agent, call| -> Performed<'_, _> { Box::pin(list_tasks_within(agent, call)) };
        self.unary(Operation::ListTasks, request, list).await
    }

    async fn cancel_task(&self, request: Request<Undecoded<CancelTaskRequest>>) -> Answer<Task> {
        self.unary(Operation::CancelTask, request, <dyn Agent>::cancel_task).await
    }

    async fn subscribe_to_task(
        &self,
        request: Request<Undecoded<SubscribeToTaskRequest>>,
    ) -> Result<Response<Events>, Status> {
        self.streaming(Operation::SubscribeToTask, request, <dyn Agent>::subscribe_to_task).await
    }

    async fn create_task_push_notification_config(
        &self,
        request: Request<Undecoded<TaskPushNotificationConfig>>,
    ) -> Answer<TaskPushNotificationConfig> {
        self.unary(
            Operation::CreateTaskPushNotificationConfig,
            request,
            <dyn Agent>::create_task_push_notification_config,
        )
        .await
    }

    async fn get_task_push_notification_config(
        &self,
        request: Request<Undecoded<GetTaskPushNotificationConfigRequest>>,
    ) -> Answer<TaskPushNotificationConfig> {
        self.unary(
            Operation::GetTaskPushNotificationConfig,
            request,
            <dyn Agent>::get_task_push_notification_config,
        )
        .await
    }

    async fn list_task_push_notification_configs(
        &self,
        request: Request<Undecoded<ListTaskPushNotificationConfigsRequest>>,
    ) -> Answer<ListTaskPushNotificationConfigsResponse> {
        self.unary(
            Operation::ListTaskPushNotificationConfigs,
            request,
            <dyn Agent>::list_task_push_notification_configs,
        )
        .await
    }

    async fn delete_task_push_notification_config(
        &self,
        request: Request<Undecoded<DeleteTaskPushNotificationConfigRequest>>,
    ) -> Answer<()> {
        self.unary(
            Operation::DeleteTaskPushNotificationConfig,
            request,
            <dyn Agent>::delete_task_push_notification_config,
        )
        .await
    }

    async fn get_extended_agent_card(
        &self,
        request: Request<Undecoded<GetExtendedAgentCardRequest>>,
    ) -> Answer<AgentCard> {
        self.unary(Operation::GetExtendedAgentCard, request, <dyn Agent>::get_extended_agent_card)
            .await
    }
}
