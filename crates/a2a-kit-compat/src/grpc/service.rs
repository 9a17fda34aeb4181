//! Implements the service by an agent.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, ExtensionSet, Operation, ProtocolVersion, Result, card,
    v1::{AgentCard as CurrentCard, GetExtendedAgentCardRequest as GetCurrentCard},
};
use a2a_kit_grpc::wire::{self, GuardedEvents, Method, Received, reject};
use a2a_kit_http::{Drain, service_parameters};
use a2a_kit_operations::{Agent, CallContext, Reply};
use axum::{Router, response::Response};
use futures_util::StreamExt as _;
use http::request::Parts;
use prost::Message;
use tokio::time::Instant;

use super::{
    code,
    revision::{Family, decide},
};
use crate::{
    AnyOutput, AnyRequest, AnyResponse, ServerOptions,
    operation::TaskParams,
    proto::{
        self, CancelTaskRequest, CreateConfig, CreateTaskPushNotificationConfigRequest,
        CreateTaskPushNotificationRequest, DeleteTaskPushNotificationConfigRequest, Files as _,
        GetAgentCardRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
        GetTaskPushNotificationRequest, GetTaskRequest, ListTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigResponse, ListTaskPushNotificationRequest,
        ListTaskPushNotificationResponse, ListTasksRequest, ListTasksResponse, SendMessageRequest,
        SendMessageResponse, SetTaskPushNotificationConfigRequest, SubscribeToTaskRequest, Task,
        TaskPushNotificationConfig, TaskSubscriptionRequest, event_from_v1, expects_text,
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
    let limits = options.binding.limits.clone();
    wire::routes(super::SERVICE, AgentService { agent, card, options }, &limits, METHODS)
}

/// An agent as the service.
struct AgentService {
    agent: Arc<dyn Agent>,
    card: CurrentCard,
    options: ServerOptions,
}

/// The metadata of a call.
struct CallMetadata {
    context: CallContext,
    deadline: Option<Instant>,
    drain: Drain,
}

impl AgentService {
    /// Reads a call and detects its revision.
    async fn open<Q>(
        &self,
        family: Family,
        mut received: Received,
    ) -> Result<(Parts, Q, ProtocolVersion)>
    where
        Q: Message + Default + 'static,
    {
        let message = received.decode(self.options.binding.limits.max_json_values).await?;
        let parts = received.parts;
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
        self: Arc<Self>,
        family: Family,
        received: Received,
        read: fn(Q) -> Result<AnyRequest>,
    ) -> Response
    where
        Q: Message + Default + 'static,
        M: FromResponse,
    {
        let responded = async {
            let (parts, message, revision) = self.open(family, received).await?;
            let metadata = CallMetadata::read(&parts, revision)?;
            let as_text = expects_text(&parts.headers);
            let request = read(message).map(|request| with_files(request, as_text));
            let reply = self.dispatch(&metadata, request).await?;
            let AnyOutput::Unary(mut response) = reply.response else { return Err(mismatch()) };
            if as_text {
                response.write_text();
            }
            let message = M::from_response(response).ok_or_else(mismatch)?;
            let mut response = wire::respond(&message, usize::MAX)?;
            dispatch::write_activated(revision, &reply.activated, response.headers_mut());
            Ok(response)
        };
        responded.await.unwrap_or_else(|error| reject(code::encode(error)))
    }

    async fn streaming<Q>(
        self: Arc<Self>,
        family: Family,
        received: Received,
        read: fn(Q) -> AnyRequest,
    ) -> Response
    where
        Q: Message + Default + 'static,
    {
        let responded = async {
            let (parts, message, revision) = self.open(family, received).await?;
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
            let mut response = respond_with_events(events, revision, as_text);
            let headers = response.headers_mut();
            dispatch::write_activated(revision, &reply.activated, headers);
            if let Some(position) = position {
                wire::write_position(position, headers);
            }
            Ok(response)
        };
        responded.await.unwrap_or_else(|error| reject(code::encode(error)))
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
trait FromResponse: Message + Sized {
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

/// Responds with the events of a stream in a revision. `as_text`: whether the client expects base64
/// text in the `bytes` fields of files.
fn respond_with_events(
    events: GuardedEvents,
    revision: ProtocolVersion,
    as_text: bool,
) -> Response {
    wire::respond_with_stream(events.accepting_unnumbered().map(move |item| match item {
        Ok(event) => {
            let last = is_last(revision, &event);
            let mut response = event.into_response();
            if as_text {
                response.write_text();
            }
            Ok(event_from_v1(response, last).encode_to_vec().into())
        }
        Err(error) => Err(code::encode(error)),
    }))
}

fn of_config(operation: Operation, name: &str) -> Result<AnyRequest> {
    let (id, config_id) = proto::ids_of_config(name)?;
    AnyRequest::of_task(operation, TaskParams { id, ..TaskParams::default() }, config_id)
}

fn create_config(request: impl Into<CreateConfig>) -> Result<AnyRequest> {
    let request: CreateConfig = request.into();
    request.into_v1().map(AnyRequest::CreateTaskPushNotificationConfig)
}

/// The methods of the service: for each, the revisions that have it, its messages, and how its
/// request is read.
macro_rules! methods {
    ($($name:literal = $kind:ident::<$($message:ty),*>($family:ident, $read:expr);)*) => {
        &[$(($name, |service, received| {
            let family = Family::$family;
            Box::pin(AgentService::$kind::<$($message),*>(service, family, received, $read))
        })),*]
    };
}

const METHODS: &[(&str, Method<AgentService>)] = methods! {
    "SendMessage" = unary::<SendMessageRequest, SendMessageResponse>(
        Shared, |request| Ok(AnyRequest::SendMessage(request.into()))
    );
    "SendStreamingMessage" = streaming::<SendMessageRequest>(
        Shared, |request| AnyRequest::SendStreamingMessage(request.into())
    );
    "GetTask" = unary::<GetTaskRequest, Task>(
        Shared, |request| Ok(AnyRequest::GetTask(request.into()))
    );
    "ListTasks" = unary::<ListTasksRequest, ListTasksResponse>(
        Draft, |request| Ok(AnyRequest::ListTasks(request.into()))
    );
    "CancelTask" = unary::<CancelTaskRequest, Task>(
        Shared, |request| Ok(AnyRequest::CancelTask(request.into()))
    );
    "TaskSubscription" = streaming::<TaskSubscriptionRequest>(
        V0_3, |request| AnyRequest::SubscribeToTask(request.into())
    );
    "SubscribeToTask" = streaming::<SubscribeToTaskRequest>(
        Draft, |request| AnyRequest::SubscribeToTask(request.into())
    );
    "CreateTaskPushNotification" =
        unary::<CreateTaskPushNotificationRequest, TaskPushNotificationConfig>(
            V0_2, create_config
        );
    "CreateTaskPushNotificationConfig" =
        unary::<CreateTaskPushNotificationConfigRequest, TaskPushNotificationConfig>(
            V0_3, create_config
        );
    "SetTaskPushNotificationConfig" =
        unary::<SetTaskPushNotificationConfigRequest, TaskPushNotificationConfig>(
            Draft, create_config
        );
    "GetTaskPushNotification" =
        unary::<GetTaskPushNotificationRequest, TaskPushNotificationConfig>(
            V0_2,
            |request| of_config(Operation::GetTaskPushNotificationConfig, &request.name)
        );
    "GetTaskPushNotificationConfig" =
        unary::<GetTaskPushNotificationConfigRequest, TaskPushNotificationConfig>(
            Shared,
            |request| of_config(Operation::GetTaskPushNotificationConfig, &request.name)
        );
    "ListTaskPushNotification" =
        unary::<ListTaskPushNotificationRequest, ListTaskPushNotificationResponse>(
            V0_2,
            |request| Ok(AnyRequest::ListTaskPushNotificationConfigs(request.into()))
        );
    "ListTaskPushNotificationConfig" =
        unary::<ListTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigResponse>(
            Shared,
            |request| Ok(AnyRequest::ListTaskPushNotificationConfigs(request.into()))
        );
    "DeleteTaskPushNotificationConfig" =
        unary::<DeleteTaskPushNotificationConfigRequest, ()>(
            Shared,
            |request| of_config(Operation::DeleteTaskPushNotificationConfig, &request.name)
        );
    "GetAgentCard" = card::<GetAgentCardRequest>(V0_3, true);
    "GetExtendedAgentCard" = card::<GetExtendedAgentCardRequest>(Draft, false);
};

impl AgentService {
    /// Returns the extended card. `GetAgentCard` returns the public one if there is none, or if the
    /// caller may not read it.
    async fn card<Q>(
        self: Arc<Self>,
        family: Family,
        received: Received,
        has_public: bool,
    ) -> Response
    where
        Q: Message + Default + 'static,
    {
        let responded = async {
            let (parts, _message, revision) = self.open::<Q>(family, received).await?;
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
            let mut response = wire::respond(&proto::card_from_v1(card, revision), usize::MAX)?;
            // Clients of `GetAgentCard` do not expect the header.
            if !has_public {
                dispatch::write_activated(revision, &activated, response.headers_mut());
            }
            Ok(response)
        };
        responded.await.unwrap_or_else(|error| reject(code::encode(error)))
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
