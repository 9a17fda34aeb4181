//! The eleven methods of the service, each one operation of the agent.

use std::{future::Future, sync::Arc};

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
use a2a_http::{Drain, VersionPolicy, parameters};
use a2a_operations::{Agent, Call, CallContext, EventStream, Reply};
use tokio::time::{Instant, timeout_at};
use tonic::{Request, Response, Status};
use tracing::{Instrument as _, Span, info_span};

use super::{deadline, events::Events};
use crate::{
    codec::Shared, generated::a2_a_service_server::A2AService, metadata::write_position, status,
};

/// Puts an agent behind the generated trait.
pub(crate) struct AgentService {
    agent: Arc<dyn Agent>,
    versions: VersionPolicy,
    max_answer_bytes: usize,
}

type Answer<M> = Result<Response<Shared<M>>, Status>;

impl AgentService {
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        versions: VersionPolicy,
        max_answer_bytes: usize,
    ) -> Self {
        Self { agent, versions, max_answer_bytes }
    }

    fn context(&self, request: &Request<impl Sized>) -> Result<(CallContext, Option<Instant>)> {
        let headers = request.metadata().as_ref();
        let mut context = parameters::read(headers, None, self.versions)?;
        context.caller = parameters::caller(request.extensions());
        Ok((context, deadline::read(headers)?))
    }

    async fn unary<Q, A, M, F>(
        &self,
        request: Request<Q>,
        operation: impl FnOnce(Arc<dyn Agent>, Call<Q>) -> F,
    ) -> Answer<M>
    where
        A: Into<Shared<M>>,
        M: prost::Message,
        F: Future<Output = Result<Reply<A>>>,
    {
        let answer = async {
            let (context, deadline) = self.context(&request)?;
            let call = Call::with_context(context, request.into_inner());
            let reply = within(deadline, operation(Arc::clone(&self.agent), call)).await?;
            Ok((reply.response.into().within(self.max_answer_bytes)?, reply.activated))
        };
        let (message, activated) = answer.await.map_err(status::encode)?;
        let mut response = Response::new(message);
        parameters::write_activated(&activated, response.metadata_mut().as_mut());
        Ok(response)
    }

    async fn streaming<Q, F>(
        &self,
        request: Request<Q>,
        operation: impl FnOnce(Arc<dyn Agent>, Call<Q>) -> F,
    ) -> Result<Response<Events>, Status>
    where
        F: Future<Output = Result<Reply<EventStream>>>,
    {
        let answer = async {
            let (context, deadline) = self.context(&request)?;
            let drain = Drain::of(request.extensions());
            let resumed_after = context.last_event_id;
            let call = Call::with_context(context, request.into_inner());
            let reply = within(deadline, operation(Arc::clone(&self.agent), call)).await?;
            let events = Events::open(reply.response, resumed_after, deadline, drain).await?;
            Ok((events.limited_to(self.max_answer_bytes), reply.activated))
        };
        let (events, activated) = answer.await.map_err(status::encode)?;
        let position = events.position();
        let mut response = Response::new(events);
        let headers = response.metadata_mut().as_mut();
        parameters::write_activated(&activated, headers);
        if let Some(position) = position {
            write_position(position, headers);
        }
        Ok(response)
    }
}

/// Waits no longer than the caller does. The operation is dropped then, which detaches the
/// caller and cancels nothing.
pub(crate) async fn within<T>(
    deadline: Option<Instant>,
    operation: impl Future<Output = Result<T>>,
) -> Result<T> {
    match deadline {
        None => operation.await,
        Some(deadline) => match timeout_at(deadline, operation).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(deadline::exceeded().with_source(elapsed)),
        },
    }
}

/// An id as the field of a span: left out if it is not known.
fn known(id: &str) -> Option<&str> {
    (!id.is_empty()).then_some(id)
}

fn send_span(span: Span, request: &SendMessageRequest) -> Span {
    if let Some(message) = &request.message {
        span.record("task.id", known(&message.task_id));
        span.record("context.id", known(&message.context_id));
    }
    span
}

#[tonic::async_trait]
impl A2AService for AgentService {
    type SendStreamingMessageStream = Events;
    type SubscribeToTaskStream = Events;

    async fn send_message(
        &self,
        request: Request<SendMessageRequest>,
    ) -> Answer<SendMessageResponse> {
        let span = info_span!(
            "send_message",
            binding = "grpc",
            task.id = tracing::field::Empty,
            context.id = tracing::field::Empty
        );
        let span = send_span(span, request.get_ref());
        self.unary(request, |agent, call| async move { agent.send_message(call).await })
            .instrument(span)
            .await
    }

    async fn send_streaming_message(
        &self,
        request: Request<SendMessageRequest>,
    ) -> Result<Response<Events>, Status> {
        let span = info_span!(
            "send_streaming_message",
            binding = "grpc",
            task.id = tracing::field::Empty,
            context.id = tracing::field::Empty
        );
        let span = send_span(span, request.get_ref());
        self.streaming(
            request,
            |agent, call| async move { agent.send_streaming_message(call).await },
        )
        .instrument(span)
        .await
    }

    async fn get_task(&self, request: Request<GetTaskRequest>) -> Answer<Task> {
        let span = info_span!("get_task", binding = "grpc", task.id = request.get_ref().id);
        self.unary(request, |agent, call| async move { agent.get_task(call).await })
            .instrument(span)
            .await
    }

    async fn list_tasks(&self, request: Request<ListTasksRequest>) -> Answer<ListTasksResponse> {
        let context_id = known(&request.get_ref().context_id);
        let span = info_span!("list_tasks", binding = "grpc", context.id = context_id);
        self.unary(request, |agent, call| async move { agent.list_tasks(call).await })
            .instrument(span)
            .await
    }

    async fn cancel_task(&self, request: Request<CancelTaskRequest>) -> Answer<Task> {
        let span = info_span!("cancel_task", binding = "grpc", task.id = request.get_ref().id);
        self.unary(request, |agent, call| async move { agent.cancel_task(call).await })
            .instrument(span)
            .await
    }

    async fn subscribe_to_task(
        &self,
        request: Request<SubscribeToTaskRequest>,
    ) -> Result<Response<Events>, Status> {
        let span =
            info_span!("subscribe_to_task", binding = "grpc", task.id = request.get_ref().id);
        self.streaming(request, |agent, call| async move { agent.subscribe_to_task(call).await })
            .instrument(span)
            .await
    }

    async fn create_task_push_notification_config(
        &self,
        request: Request<TaskPushNotificationConfig>,
    ) -> Answer<TaskPushNotificationConfig> {
        let span = info_span!(
            "create_task_push_notification_config",
            binding = "grpc",
            task.id = request.get_ref().task_id
        );
        self.unary(request, |agent, call| async move {
            agent.create_task_push_notification_config(call).await
        })
        .instrument(span)
        .await
    }

    async fn get_task_push_notification_config(
        &self,
        request: Request<GetTaskPushNotificationConfigRequest>,
    ) -> Answer<TaskPushNotificationConfig> {
        let span = info_span!(
            "get_task_push_notification_config",
            binding = "grpc",
            task.id = request.get_ref().task_id
        );
        self.unary(request, |agent, call| async move {
            agent.get_task_push_notification_config(call).await
        })
        .instrument(span)
        .await
    }

    async fn list_task_push_notification_configs(
        &self,
        request: Request<ListTaskPushNotificationConfigsRequest>,
    ) -> Answer<ListTaskPushNotificationConfigsResponse> {
        let span = info_span!(
            "list_task_push_notification_configs",
            binding = "grpc",
            task.id = request.get_ref().task_id
        );
        self.unary(request, |agent, call| async move {
            agent.list_task_push_notification_configs(call).await
        })
        .instrument(span)
        .await
    }

    async fn delete_task_push_notification_config(
        &self,
        request: Request<DeleteTaskPushNotificationConfigRequest>,
    ) -> Answer<()> {
        let span = info_span!(
            "delete_task_push_notification_config",
            binding = "grpc",
            task.id = request.get_ref().task_id
        );
        self.unary(request, |agent, call| async move {
            agent.delete_task_push_notification_config(call).await
        })
        .instrument(span)
        .await
    }

    async fn get_extended_agent_card(
        &self,
        request: Request<GetExtendedAgentCardRequest>,
    ) -> Answer<AgentCard> {
        let span = info_span!("get_extended_agent_card", binding = "grpc");
        self.unary(request, |agent, call| async move { agent.get_extended_agent_card(call).await })
            .instrument(span)
            .await
    }
}
