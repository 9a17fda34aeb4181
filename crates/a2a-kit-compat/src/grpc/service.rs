//! Implements the generated service by an agent.

use std::{pin::Pin, sync::Arc};

use a2a_core::{
    Error, ErrorKind, ExtensionSet, Operation, ProtocolVersion, Result, card,
    v1::{AgentCard as CurrentCard, GetExtendedAgentCardRequest as GetCurrentCard},
};
use a2a_kit_grpc::wire::{self, GuardedEvents, Undecoded};
use a2a_kit_http::{Drain, service_parameters};
use a2a_kit_operations::{Agent, CallContext, Reply};
use axum::Router;
use futures_core::Stream;
use futures_util::StreamExt as _;
use http::request::Parts;
use tokio::time::Instant;
use tonic::{Request, Response, Status, service::Routes};

use super::{
    code,
    revision::{Family, decide},
};
use crate::{
    AnyOutput, AnyRequest, AnyResponse, ServerOptions,
    operation::TaskParams,
    proto::{
        self, AgentCard, CancelTaskRequest, CreateConfig, CreateTaskPushNotificationConfigRequest,
        CreateTaskPushNotificationRequest, DeleteTaskPushNotificationConfigRequest, Files as _,
        GetAgentCardRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
        GetTaskPushNotificationRequest, GetTaskRequest, ListTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigResponse, ListTaskPushNotificationRequest,
        ListTaskPushNotificationResponse, ListTasksRequest, ListTasksResponse, SendMessageRequest,
        SendMessageResponse, SetTaskPushNotificationConfigRequest, StreamResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskSubscriptionRequest,
        a2_a_service_server::{A2AService, A2AServiceServer},
        event_from_v1, expects_text,
    },
    server::{dispatch, stream::is_last},
};

/// Serves `agent` over gRPC in 0.2, 0.3 and the draft of 1.0, as `a2a.v1.A2AService`.
///
/// `GetAgentCard` returns `card` if the agent has no extended card.
///
/// The router has no fallback, so that it can be merged with others, such as that of 1.0. Use
/// [`a2a_kit_grpc::fallback`] for the merged router.
pub fn router(agent: impl Agent, card: CurrentCard, options: ServerOptions) -> Router {
    routes(Arc::new(agent), card, options)
}

fn routes(agent: Arc<dyn Agent>, card: CurrentCard, options: ServerOptions) -> Router {
    let limit = options.binding.limits.max_body_bytes;
    let service = A2AServiceServer::new(AgentService::new(agent, card, options));
    let guarded = wire::FrameGuard(service.max_decoding_message_size(limit));
    // Routers with fallbacks can't be merged.
    Routes::new(guarded).into_axum_router().reset_fallback()
}

/// An agent as the generated service.
pub(super) struct AgentService {
    agent: Arc<dyn Agent>,
    card: CurrentCard,
    options: ServerOptions,
}

type RpcResult<M> = Result<Response<M>, Status>;

/// The response stream of a streaming call.
type Events = Pin<Box<dyn Stream<Item = Result<StreamResponse, Status>> + Send>>;

/// The metadata of a call.
struct CallMetadata {
    context: CallContext,
    deadline: Option<Instant>,
    drain: Drain,
}

impl AgentService {
    pub(super) fn new(agent: Arc<dyn Agent>, card: CurrentCard, options: ServerOptions) -> Self {
        Self { agent, card, options }
    }

    /// Decodes a call and detects its revision.
    async fn open<Q>(
        &self,
        family: Family,
        mut request: Request<Undecoded<Q>>,
    ) -> Result<(Parts, Q, ProtocolVersion)>
    where
        Q: prost::Message + Default + 'static,
    {
        let max_values = self.options.binding.limits.max_json_values;
        let message = Undecoded::decode(&mut request, max_values).await?;
        let (metadata, extensions, _) = request.into_parts();
        let (mut parts, ()) = http::Request::new(()).into_parts();
        parts.headers = metadata.into_headers();
        parts.extensions = extensions;
        let version =
            parts.headers.get(service_parameters::VERSION).and_then(|value| value.to_str().ok());
        let revision = decide(family, version, &self.options.revisions)?;
        Ok((parts, message, revision))
    }

    async fn dispatch(
        &self,
        metadata: &CallMetadata,
        request: Result<AnyRequest>,
    ) -> Result<Reply<AnyOutput>> {
        let request = request?;
        let context = metadata.context.clone();
        let reply = dispatch::dispatch(&*self.agent, card::GRPC, &self.options, context, request);
        wire::within(metadata.deadline, reply).await
    }

    async fn unary<Q, M>(
        &self,
        family: Family,
        request: Request<Undecoded<Q>>,
        read: impl FnOnce(Q) -> Result<AnyRequest>,
    ) -> RpcResult<M>
    where
        Q: prost::Message + Default + 'static,
        M: FromResponse,
    {
        let result = async {
            let (parts, message, revision) = self.open(family, request).await?;
            let metadata = CallMetadata::read(&parts, revision)?;
            let as_text = expects_text(&parts.headers);
            let request = read(message).map(|request| with_files(request, as_text));
            let reply = self.dispatch(&metadata, request).await?;
            let AnyOutput::Unary(mut response) = reply.response else { return Err(mismatch()) };
            if as_text {
                response.write_text();
            }
            let mut response = Response::new(M::from_response(response).ok_or_else(mismatch)?);
            let headers = response.metadata_mut().as_mut();
            dispatch::write_activated(revision, &reply.activated, headers);
            Ok(response)
        };
        result.await.map_err(code::encode)
    }

    async fn streaming<Q>(
        &self,
        family: Family,
        request: Request<Undecoded<Q>>,
        read: impl FnOnce(Q) -> AnyRequest,
    ) -> RpcResult<Events>
    where
        Q: prost::Message + Default + 'static,
    {
        let result = async {
            let (parts, message, revision) = self.open(family, request).await?;
            let metadata = CallMetadata::read(&parts, revision)?;
            let as_text = expects_text(&parts.headers);
            let request = with_files(read(message), as_text);
            let is_subscription = request.operation() == Operation::SubscribeToTask;
            let reply = self.dispatch(&metadata, Ok(request)).await?;
            let AnyOutput::Stream(events) = reply.response else { return Err(mismatch()) };
            let CallMetadata { context, deadline, drain } = metadata;
            let resumed = context.last_event_id.filter(|_| is_subscription);
            let events = GuardedEvents::open(events, resumed, deadline, drain).await?;
            let position = events.position();
            let mut response = Response::new(write_events(events, revision, as_text));
            let headers = response.metadata_mut().as_mut();
            dispatch::write_activated(revision, &reply.activated, headers);
            if let Some(position) = position {
                wire::write_position(position, headers);
            }
            Ok(response)
        };
        result.await.map_err(code::encode)
    }
}

impl CallMetadata {
    fn read(parts: &Parts, revision: ProtocolVersion) -> Result<Self> {
        let mut context = dispatch::context(parts, revision)?;
        // Less in the current revision: files may become base64 text, which is a third longer.
        context.max_response_bytes = Some(wire::MAX_PAGE_BYTES / 4 * 3 - (64 << 10));
        let deadline = wire::deadline(&parts.headers)?;
        Ok(Self { context, deadline, drain: Drain::of(&parts.extensions) })
    }
}

/// Decodes the files of a request if the client encodes them as base64 text.
fn with_files(mut request: AnyRequest, as_text: bool) -> AnyRequest {
    if as_text {
        request.read_text();
    }
    request
}

fn mismatch() -> Error {
    Error::internal("the response is of another operation")
}

/// A message that a response is written as; `None` for the response of another operation.
trait FromResponse: Sized {
    fn from_response(response: AnyResponse) -> Option<Self>;
}

macro_rules! from_response {
    ($($variant:ident: $($message:ident),*;)*) => {$($(
        impl FromResponse for $message {
            fn from_response(response: AnyResponse) -> Option<Self> {
                match response {
                    AnyResponse::$variant(response) => Some(response.into()),
                    _ => None,
                }
            }
        }
    )*)*};
}
from_response! {
    Sent: SendMessageResponse;
    Task: Task;
    Tasks: ListTasksResponse;
    Config: TaskPushNotificationConfig;
    Configs: ListTaskPushNotificationResponse, ListTaskPushNotificationConfigResponse;
}

impl FromResponse for () {
    fn from_response(response: AnyResponse) -> Option<Self> {
        matches!(response, AnyResponse::Deleted).then_some(())
    }
}

/// Writes the events of a stream in a revision. `as_text`: whether the client expects base64 text in
/// the `bytes` fields of files.
fn write_events(events: GuardedEvents, revision: ProtocolVersion, as_text: bool) -> Events {
    let events = events.accepting_unnumbered().map(move |item| match item {
        Ok(event) => {
            let last = is_last(revision, &event);
            let mut response = event.into_response();
            if as_text {
                response.write_text();
            }
            Ok(event_from_v1(response, last))
        }
        Err(error) => Err(code::encode(error)),
    });
    Box::pin(events)
}

fn of_config(operation: Operation, name: &str) -> Result<AnyRequest> {
    let (id, config_id) = proto::ids_of_config(name)?;
    AnyRequest::of_task(operation, TaskParams { id, ..TaskParams::default() }, config_id)
}

fn create_config(request: impl Into<CreateConfig>) -> Result<AnyRequest> {
    let request: CreateConfig = request.into();
    request.into_v1().map(AnyRequest::CreateTaskPushNotificationConfig)
}

/// Implements the service: for each method, its messages, the revisions that have it, and how its
/// request is read.
macro_rules! service {
    ($($kind:ident $method:ident($request:ident) -> $response:ty: $family:ident, $read:expr;)*) => {
        #[tonic::async_trait]
        impl A2AService for AgentService {
            type SendStreamingMessageStream = Events;
            type TaskSubscriptionStream = Events;
            type SubscribeToTaskStream = Events;

            $(
                async fn $method(
                    &self,
                    request: Request<Undecoded<$request>>,
                ) -> RpcResult<$response> {
                    self.$kind(Family::$family, request, $read).await
                }
            )*

            async fn get_agent_card(
                &self,
                request: Request<Undecoded<GetAgentCardRequest>>,
            ) -> RpcResult<AgentCard> {
                self.card(Family::V0_3, request, true).await
            }

            async fn get_extended_agent_card(
                &self,
                request: Request<Undecoded<GetExtendedAgentCardRequest>>,
            ) -> RpcResult<AgentCard> {
                self.card(Family::Draft, request, false).await
            }
        }
    };
}
service! {
    unary send_message(SendMessageRequest) -> SendMessageResponse:
        Shared, |request| Ok(AnyRequest::SendMessage(request.into()));
    streaming send_streaming_message(SendMessageRequest) -> Events:
        Shared, |request| AnyRequest::SendStreamingMessage(request.into());
    unary get_task(GetTaskRequest) -> Task:
        Shared, |request| Ok(AnyRequest::GetTask(request.into()));
    unary list_tasks(ListTasksRequest) -> ListTasksResponse:
        Draft, |request| Ok(AnyRequest::ListTasks(request.into()));
    unary cancel_task(CancelTaskRequest) -> Task:
        Shared, |request| Ok(AnyRequest::CancelTask(request.into()));
    streaming task_subscription(TaskSubscriptionRequest) -> Events:
        V0_3, |request| AnyRequest::SubscribeToTask(request.into());
    streaming subscribe_to_task(SubscribeToTaskRequest) -> Events:
        Draft, |request| AnyRequest::SubscribeToTask(request.into());
    unary create_task_push_notification(CreateTaskPushNotificationRequest)
        -> TaskPushNotificationConfig: V0_2, create_config;
    unary create_task_push_notification_config(CreateTaskPushNotificationConfigRequest)
        -> TaskPushNotificationConfig: V0_3, create_config;
    unary set_task_push_notification_config(SetTaskPushNotificationConfigRequest)
        -> TaskPushNotificationConfig: Draft, create_config;
    unary get_task_push_notification(GetTaskPushNotificationRequest)
        -> TaskPushNotificationConfig: V0_2,
        |request| of_config(Operation::GetTaskPushNotificationConfig, &request.name);
    unary get_task_push_notification_config(GetTaskPushNotificationConfigRequest)
        -> TaskPushNotificationConfig: Shared,
        |request| of_config(Operation::GetTaskPushNotificationConfig, &request.name);
    unary list_task_push_notification(ListTaskPushNotificationRequest)
        -> ListTaskPushNotificationResponse:
        V0_2, |request| Ok(AnyRequest::ListTaskPushNotificationConfigs(request.into()));
    unary list_task_push_notification_config(ListTaskPushNotificationConfigRequest)
        -> ListTaskPushNotificationConfigResponse:
        Shared, |request| Ok(AnyRequest::ListTaskPushNotificationConfigs(request.into()));
    unary delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest) -> ():
        Shared, |request| of_config(Operation::DeleteTaskPushNotificationConfig, &request.name);
}

impl AgentService {
    /// Returns the extended card. `GetAgentCard` returns the public one if there is none, or if the
    /// caller may not read it.
    async fn card<Q>(
        &self,
        family: Family,
        request: Request<Undecoded<Q>>,
        has_public: bool,
    ) -> RpcResult<AgentCard>
    where
        Q: prost::Message + Default + 'static,
    {
        let result = async {
            let (parts, _, revision) = self.open(family, request).await?;
            let metadata = CallMetadata::read(&parts, revision)?;
            let request = AnyRequest::GetExtendedAgentCard(GetCurrentCard::default());
            let (card, activated) = match self.dispatch(&metadata, Ok(request)).await {
                Ok(Reply { response: AnyOutput::Unary(AnyResponse::Card(card)), activated }) => {
                    (self.with_interfaces(card), activated)
                }
                Ok(_) => return Err(mismatch()),
                Err(error) if has_public && falls_back_to_public_card(error.kind()) => {
                    (self.card.clone(), ExtensionSet::default())
                }
                Err(error) => return Err(error),
            };
            let mut response = Response::new(proto::card_from_v1(card, revision));
            // Clients of `GetAgentCard` do not expect the header.
            if !has_public {
                let headers = response.metadata_mut().as_mut();
                dispatch::write_activated(revision, &activated, headers);
            }
            Ok(response)
        };
        result.await.map_err(code::encode)
    }

    /// Adds the interfaces of the public card to an extended card without any.
    fn with_interfaces(&self, mut card: CurrentCard) -> CurrentCard {
        if card.supported_interfaces.is_empty() {
            card.supported_interfaces.clone_from(&self.card.supported_interfaces);
        }
        card
    }
}

/// Whether `GetAgentCard` falls back to the public card after an error.
fn falls_back_to_public_card(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ExtendedAgentCardNotConfigured
            | ErrorKind::UnsupportedOperation
            | ErrorKind::Unauthenticated
            | ErrorKind::PermissionDenied
    )
}
