//! Implements the generated service by an agent.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, ProtocolVersion, Result, card,
    v1::{AgentCard as CurrentCard, GetExtendedAgentCardRequest as GetCurrentCard},
};
use a2a_grpc::wire::{self, Undecoded};
use a2a_http::{Drain, service_parameters};
use a2a_operations::{Agent, CallContext, Reply};
use http::request::Parts;
use tokio::time::Instant;
use tonic::{Request, Response, Status};

use super::{
    code,
    revision::{Family, decide},
    stream::{self, Events, with_text},
};
use crate::{
    AnyOutput, AnyRequest, AnyResponse, ServerOptions,
    proto::{
        self, AgentCard, CancelTaskRequest, CreateConfig, CreateTaskPushNotificationConfigRequest,
        CreateTaskPushNotificationRequest, DeleteTaskPushNotificationConfigRequest, Files as _,
        GetAgentCardRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
        GetTaskPushNotificationRequest, GetTaskRequest, ListTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigResponse, ListTaskPushNotificationRequest,
        ListTaskPushNotificationResponse, ListTasksRequest, ListTasksResponse, SendMessageRequest,
        SendMessageResponse, SetTaskPushNotificationConfigRequest, SubscribeToTaskRequest, Task,
        TaskPushNotificationConfig, TaskSubscriptionRequest, a2_a_service_server::A2AService,
        expects_text,
    },
    server::dispatch,
};

/// An agent as the generated service.
pub(super) struct AgentService {
    agent: Arc<dyn Agent>,
    card: CurrentCard,
    options: ServerOptions,
}

type RpcResult<M> = Result<Response<M>, Status>;

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
        write: impl FnOnce(AnyResponse) -> Option<M>,
    ) -> RpcResult<M>
    where
        Q: prost::Message + Default + 'static,
    {
        let (parts, message, revision) = match self.open(family, request).await {
            Ok(opened) => opened,
            Err(error) => return Err(code::encode(error)),
        };
        let result = async {
            let metadata = CallMetadata::read(&parts, revision)?;
            let as_text = expects_text(&parts.headers);
            let request = read(message).map(|request| with_files(request, as_text));
            let reply = self.dispatch(&metadata, request).await?;
            let AnyOutput::Unary(mut response) = reply.response else { return Err(mismatch()) };
            if as_text {
                response.write_text();
            }
            let mut response = Response::new(write(response).ok_or_else(mismatch)?);
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
        let (parts, message, revision) = match self.open(family, request).await {
            Ok(opened) => opened,
            Err(error) => return Err(code::encode(error)),
        };
        let result = async {
            let metadata = CallMetadata::read(&parts, revision)?;
            let as_text = expects_text(&parts.headers);
            let request = with_files(read(message), as_text);
            let reply = self.dispatch(&metadata, Ok(request)).await?;
            let AnyOutput::Stream(mut events) = reply.response else { return Err(mismatch()) };
            if as_text {
                events = with_text(events);
            }
            let CallMetadata { context, deadline, drain } = metadata;
            let resumed = context.last_event_id;
            let opened = stream::open(events, revision, resumed, deadline, drain).await?;
            let mut response = Response::new(opened.events);
            let headers = response.metadata_mut().as_mut();
            dispatch::write_activated(revision, &reply.activated, headers);
            if let Some(position) = opened.position {
                wire::write_position(position, headers);
            }
            Ok(response)
        };
        result.await.map_err(code::encode)
    }

    async fn create<Q>(
        &self,
        family: Family,
        request: Request<Undecoded<Q>>,
    ) -> RpcResult<TaskPushNotificationConfig>
    where
        Q: Into<CreateConfig> + prost::Message + Default + 'static,
    {
        let read = |request: Q| {
            let request: CreateConfig = request.into();
            request.into_v1().map(AnyRequest::CreateTaskPushNotificationConfig)
        };
        self.unary(family, request, read, config).await
    }
}

impl CallMetadata {
    fn read(parts: &Parts, revision: ProtocolVersion) -> Result<Self> {
        let context = dispatch::context(parts, revision)?;
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

fn sent(response: AnyResponse) -> Option<SendMessageResponse> {
    match response {
        AnyResponse::Sent(response) => Some(response.into()),
        _ => None,
    }
}

fn task(response: AnyResponse) -> Option<Task> {
    match response {
        AnyResponse::Task(task) => Some(Arc::unwrap_or_clone(task).into()),
        _ => None,
    }
}

fn config(response: AnyResponse) -> Option<TaskPushNotificationConfig> {
    match response {
        AnyResponse::Config(config) => Some(config.into()),
        _ => None,
    }
}

fn configs<M: From<a2a_core::v1::ListTaskPushNotificationConfigsResponse>>(
    response: AnyResponse,
) -> Option<M> {
    match response {
        AnyResponse::Configs(page) => Some(page.into()),
        _ => None,
    }
}

fn named_config(name: &str) -> Result<AnyRequest> {
    let (task_id, id) = proto::ids_of_config(name)?;
    let request =
        a2a_core::v1::GetTaskPushNotificationConfigRequest { task_id, id, tenant: String::new() };
    Ok(AnyRequest::GetTaskPushNotificationConfig(request))
}

#[tonic::async_trait]
impl A2AService for AgentService {
    type SendStreamingMessageStream = Events;
    type TaskSubscriptionStream = Events;
    type SubscribeToTaskStream = Events;

    async fn send_message(
        &self,
        request: Request<Undecoded<SendMessageRequest>>,
    ) -> RpcResult<SendMessageResponse> {
        let read = |request: SendMessageRequest| Ok(AnyRequest::SendMessage(request.into()));
        self.unary(Family::Shared, request, read, sent).await
    }

    async fn send_streaming_message(
        &self,
        request: Request<Undecoded<SendMessageRequest>>,
    ) -> RpcResult<Events> {
        let read = |request: SendMessageRequest| AnyRequest::SendStreamingMessage(request.into());
        self.streaming(Family::Shared, request, read).await
    }

    async fn get_task(&self, request: Request<Undecoded<GetTaskRequest>>) -> RpcResult<Task> {
        let read = |request: GetTaskRequest| Ok(AnyRequest::GetTask(request.into()));
        self.unary(Family::Shared, request, read, task).await
    }

    async fn list_tasks(
        &self,
        request: Request<Undecoded<ListTasksRequest>>,
    ) -> RpcResult<ListTasksResponse> {
        let read = |request: ListTasksRequest| Ok(AnyRequest::ListTasks(request.into()));
        let write = |response| match response {
            AnyResponse::Tasks(page) => Some(page.into()),
            _ => None,
        };
        self.unary(Family::Draft, request, read, write).await
    }

    async fn cancel_task(&self, request: Request<Undecoded<CancelTaskRequest>>) -> RpcResult<Task> {
        let read = |request: CancelTaskRequest| Ok(AnyRequest::CancelTask(request.into()));
        self.unary(Family::Shared, request, read, task).await
    }

    async fn task_subscription(
        &self,
        request: Request<Undecoded<TaskSubscriptionRequest>>,
    ) -> RpcResult<Events> {
        let read = |request: TaskSubscriptionRequest| AnyRequest::SubscribeToTask(request.into());
        self.streaming(Family::V0_3, request, read).await
    }

    async fn subscribe_to_task(
        &self,
        request: Request<Undecoded<SubscribeToTaskRequest>>,
    ) -> RpcResult<Events> {
        let read = |request: SubscribeToTaskRequest| AnyRequest::SubscribeToTask(request.into());
        self.streaming(Family::Draft, request, read).await
    }

    async fn create_task_push_notification(
        &self,
        request: Request<Undecoded<CreateTaskPushNotificationRequest>>,
    ) -> RpcResult<TaskPushNotificationConfig> {
        self.create(Family::V0_2, request).await
    }

    async fn create_task_push_notification_config(
        &self,
        request: Request<Undecoded<CreateTaskPushNotificationConfigRequest>>,
    ) -> RpcResult<TaskPushNotificationConfig> {
        self.create(Family::V0_3, request).await
    }

    async fn set_task_push_notification_config(
        &self,
        request: Request<Undecoded<SetTaskPushNotificationConfigRequest>>,
    ) -> RpcResult<TaskPushNotificationConfig> {
        self.create(Family::Draft, request).await
    }

    async fn get_task_push_notification(
        &self,
        request: Request<Undecoded<GetTaskPushNotificationRequest>>,
    ) -> RpcResult<TaskPushNotificationConfig> {
        let read = |request: GetTaskPushNotificationRequest| named_config(&request.name);
        self.unary(Family::V0_2, request, read, config).await
    }

    async fn get_task_push_notification_config(
        &self,
        request: Request<Undecoded<GetTaskPushNotificationConfigRequest>>,
    ) -> RpcResult<TaskPushNotificationConfig> {
        let read = |request: GetTaskPushNotificationConfigRequest| named_config(&request.name);
        self.unary(Family::Shared, request, read, config).await
    }

    async fn list_task_push_notification(
        &self,
        request: Request<Undecoded<ListTaskPushNotificationRequest>>,
    ) -> RpcResult<ListTaskPushNotificationResponse> {
        let read = |request: ListTaskPushNotificationRequest| {
            Ok(AnyRequest::ListTaskPushNotificationConfigs(request.into()))
        };
        self.unary(Family::V0_2, request, read, configs).await
    }

    async fn list_task_push_notification_config(
        &self,
        request: Request<Undecoded<ListTaskPushNotificationConfigRequest>>,
    ) -> RpcResult<ListTaskPushNotificationConfigResponse> {
        let read = |request: ListTaskPushNotificationConfigRequest| {
            Ok(AnyRequest::ListTaskPushNotificationConfigs(request.into()))
        };
        self.unary(Family::Shared, request, read, configs).await
    }

    async fn delete_task_push_notification_config(
        &self,
        request: Request<Undecoded<DeleteTaskPushNotificationConfigRequest>>,
    ) -> RpcResult<()> {
        let read = |request: DeleteTaskPushNotificationConfigRequest| {
            let (task_id, id) = proto::ids_of_config(&request.name)?;
            let request = a2a_core::v1::DeleteTaskPushNotificationConfigRequest {
                task_id,
                id,
                tenant: String::new(),
            };
            Ok(AnyRequest::DeleteTaskPushNotificationConfig(request))
        };
        let write = |response| matches!(response, AnyResponse::Deleted).then_some(());
        self.unary(Family::Shared, request, read, write).await
    }

    async fn get_agent_card(
        &self,
        request: Request<Undecoded<GetAgentCardRequest>>,
    ) -> RpcResult<AgentCard> {
        let (parts, _, revision) = match self.open(Family::V0_3, request).await {
            Ok(opened) => opened,
            Err(error) => return Err(code::encode(error)),
        };
        let card = async {
            let metadata = CallMetadata::read(&parts, revision)?;
            let request = AnyRequest::GetExtendedAgentCard(GetCurrentCard::default());
            match self.dispatch(&metadata, Ok(request)).await {
                Ok(Reply { response: AnyOutput::Unary(AnyResponse::Card(card)), .. }) => {
                    Ok(self.with_interfaces(card))
                }
                Ok(_) => Err(mismatch()),
                Err(error) if falls_back_to_public_card(error.kind()) => Ok(self.card.clone()),
                Err(error) => Err(error),
            }
        };
        match card.await {
            Ok(card) => Ok(Response::new(proto::card_from_v1(card, revision))),
            Err(error) => Err(code::encode(error)),
        }
    }

    async fn get_extended_agent_card(
        &self,
        request: Request<Undecoded<GetExtendedAgentCardRequest>>,
    ) -> RpcResult<AgentCard> {
        let read = |_request| Ok(AnyRequest::GetExtendedAgentCard(GetCurrentCard::default()));
        let write = |response| match response {
            AnyResponse::Card(card) => {
                Some(proto::card_from_v1(self.with_interfaces(card), ProtocolVersion::V1Draft))
            }
            _ => None,
        };
        self.unary(Family::Draft, request, read, write).await
    }
}

impl AgentService {
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
