//! The methods of the service, each one operation of the agent.

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
    AnyAnswer, AnyRequest, AnyResponse, FrontOptions,
    front::common,
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
};

/// Puts an agent behind the generated trait.
pub(super) struct AgentService {
    agent: Arc<dyn Agent>,
    card: CurrentCard,
    options: FrontOptions,
}

type Answer<M> = Result<Response<M>, Status>;

/// What came beside a message.
struct Beside {
    context: CallContext,
    deadline: Option<Instant>,
    drain: Drain,
}

impl AgentService {
    pub(super) fn new(agent: Arc<dyn Agent>, card: CurrentCard, options: FrontOptions) -> Self {
        Self { agent, card, options }
    }

    /// Tells the revision of a call, and takes apart what it consists of.
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

    async fn perform(
        &self,
        beside: &Beside,
        request: Result<AnyRequest>,
    ) -> Result<Reply<AnyAnswer>> {
        let request = request?;
        let context = beside.context.clone();
        let performed = common::perform(&*self.agent, card::GRPC, &self.options, context, request);
        wire::within(beside.deadline, performed).await
    }

    async fn unary<Q, M>(
        &self,
        family: Family,
        request: Request<Undecoded<Q>>,
        read: impl FnOnce(Q) -> Result<AnyRequest>,
        write: impl FnOnce(AnyResponse) -> Option<M>,
    ) -> Answer<M>
    where
        Q: prost::Message + Default + 'static,
    {
        let (parts, message, revision) = match self.open(family, request).await {
            Ok(opened) => opened,
            Err(error) => return Err(code::encode(error)),
        };
        let answer = async {
            let beside = Beside::read(&parts, revision)?;
            let as_text = expects_text(&parts.headers);
            let request = read(message).map(|request| with_files(request, as_text));
            let reply = self.perform(&beside, request).await?;
            let AnyAnswer::One(mut answer) = reply.response else { return Err(mismatch()) };
            if as_text {
                answer.write_text();
            }
            let mut response = Response::new(write(answer).ok_or_else(mismatch)?);
            let headers = response.metadata_mut().as_mut();
            common::write_activated(revision, &reply.activated, headers);
            Ok(response)
        };
        answer.await.map_err(code::encode)
    }

    async fn streaming<Q>(
        &self,
        family: Family,
        request: Request<Undecoded<Q>>,
        read: impl FnOnce(Q) -> AnyRequest,
    ) -> Answer<Events>
    where
        Q: prost::Message + Default + 'static,
    {
        let (parts, message, revision) = match self.open(family, request).await {
            Ok(opened) => opened,
            Err(error) => return Err(code::encode(error)),
        };
        let answer = async {
            let beside = Beside::read(&parts, revision)?;
            let as_text = expects_text(&parts.headers);
            let request = with_files(read(message), as_text);
            let reply = self.perform(&beside, Ok(request)).await?;
            let AnyAnswer::Events(mut events) = reply.response else { return Err(mismatch()) };
            if as_text {
                events = with_text(events);
            }
            let Beside { context, deadline, drain } = beside;
            let resumed = context.last_event_id;
            let opened = stream::open(events, revision, resumed, deadline, drain).await?;
            let mut response = Response::new(opened.events);
            let headers = response.metadata_mut().as_mut();
            common::write_activated(revision, &reply.activated, headers);
            if let Some(position) = opened.position {
                wire::write_position(position, headers);
            }
            Ok(response)
        };
        answer.await.map_err(code::encode)
    }

    async fn create<Q>(
        &self,
        family: Family,
        request: Request<Undecoded<Q>>,
    ) -> Answer<TaskPushNotificationConfig>
    where
        Q: Into<CreateConfig> + prost::Message + Default + 'static,
    {
        let read = |request: Q| {
            let request: CreateConfig = request.into();
            request.up().map(AnyRequest::CreateTaskPushNotificationConfig)
        };
        self.unary(family, request, read, config).await
    }
}

impl Beside {
    fn read(parts: &Parts, revision: ProtocolVersion) -> Result<Self> {
        let context = common::context(parts, revision)?;
        let deadline = wire::deadline(&parts.headers)?;
        Ok(Self { context, deadline, drain: Drain::of(&parts.extensions) })
    }
}

/// Reads the files of a request, which may be text where the client expects that in an answer.
fn with_files(mut request: AnyRequest, as_text: bool) -> AnyRequest {
    if as_text {
        request.read_text();
    }
    request
}

fn mismatch() -> Error {
    Error::internal("the answer is that of another operation")
}

fn sent(answer: AnyResponse) -> Option<SendMessageResponse> {
    match answer {
        AnyResponse::Sent(response) => Some(response.into()),
        _ => None,
    }
}

fn task(answer: AnyResponse) -> Option<Task> {
    match answer {
        AnyResponse::Task(task) => Some(Arc::unwrap_or_clone(task).into()),
        _ => None,
    }
}

fn config(answer: AnyResponse) -> Option<TaskPushNotificationConfig> {
    match answer {
        AnyResponse::Config(config) => Some(config.into()),
        _ => None,
    }
}

fn configs<M: From<a2a_core::v1::ListTaskPushNotificationConfigsResponse>>(
    answer: AnyResponse,
) -> Option<M> {
    match answer {
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
    ) -> Answer<SendMessageResponse> {
        let read = |request: SendMessageRequest| Ok(AnyRequest::SendMessage(request.into()));
        self.unary(Family::Shared, request, read, sent).await
    }

    async fn send_streaming_message(
        &self,
        request: Request<Undecoded<SendMessageRequest>>,
    ) -> Answer<Events> {
        let read = |request: SendMessageRequest| AnyRequest::SendStreamingMessage(request.into());
        self.streaming(Family::Shared, request, read).await
    }

    async fn get_task(&self, request: Request<Undecoded<GetTaskRequest>>) -> Answer<Task> {
        let read = |request: GetTaskRequest| Ok(AnyRequest::GetTask(request.into()));
        self.unary(Family::Shared, request, read, task).await
    }

    async fn list_tasks(
        &self,
        request: Request<Undecoded<ListTasksRequest>>,
    ) -> Answer<ListTasksResponse> {
        let read = |request: ListTasksRequest| Ok(AnyRequest::ListTasks(request.into()));
        let write = |answer| match answer {
            AnyResponse::Tasks(page) => Some(page.into()),
            _ => None,
        };
        self.unary(Family::Draft, request, read, write).await
    }

    async fn cancel_task(&self, request: Request<Undecoded<CancelTaskRequest>>) -> Answer<Task> {
        let read = |request: CancelTaskRequest| Ok(AnyRequest::CancelTask(request.into()));
        self.unary(Family::Shared, request, read, task).await
    }

    async fn task_subscription(
        &self,
        request: Request<Undecoded<TaskSubscriptionRequest>>,
    ) -> Answer<Events> {
        let read = |request: TaskSubscriptionRequest| AnyRequest::SubscribeToTask(request.into());
        self.streaming(Family::V0_3, request, read).await
    }

    async fn subscribe_to_task(
        &self,
        request: Request<Undecoded<SubscribeToTaskRequest>>,
    ) -> Answer<Events> {
        let read = |request: SubscribeToTaskRequest| AnyRequest::SubscribeToTask(request.into());
        self.streaming(Family::Draft, request, read).await
    }

    async fn create_task_push_notification(
        &self,
        request: Request<Undecoded<CreateTaskPushNotificationRequest>>,
    ) -> Answer<TaskPushNotificationConfig> {
        self.create(Family::V0_2, request).await
    }

    async fn create_task_push_notification_config(
        &self,
        request: Request<Undecoded<CreateTaskPushNotificationConfigRequest>>,
    ) -> Answer<TaskPushNotificationConfig> {
        self.create(Family::V0_3, request).await
    }

    async fn set_task_push_notification_config(
        &self,
        request: Request<Undecoded<SetTaskPushNotificationConfigRequest>>,
    ) -> Answer<TaskPushNotificationConfig> {
        self.create(Family::Draft, request).await
    }

    async fn get_task_push_notification(
        &self,
        request: Request<Undecoded<GetTaskPushNotificationRequest>>,
    ) -> Answer<TaskPushNotificationConfig> {
        let read = |request: GetTaskPushNotificationRequest| named_config(&request.name);
        self.unary(Family::V0_2, request, read, config).await
    }

    async fn get_task_push_notification_config(
        &self,
        request: Request<Undecoded<GetTaskPushNotificationConfigRequest>>,
    ) -> Answer<TaskPushNotificationConfig> {
        let read = |request: GetTaskPushNotificationConfigRequest| named_config(&request.name);
        self.unary(Family::Shared, request, read, config).await
    }

    async fn list_task_push_notification(
        &self,
        request: Request<Undecoded<ListTaskPushNotificationRequest>>,
    ) -> Answer<ListTaskPushNotificationResponse> {
        let read = |request: ListTaskPushNotificationRequest| {
            Ok(AnyRequest::ListTaskPushNotificationConfigs(request.into()))
        };
        self.unary(Family::V0_2, request, read, configs).await
    }

    async fn list_task_push_notification_config(
        &self,
        request: Request<Undecoded<ListTaskPushNotificationConfigRequest>>,
    ) -> Answer<ListTaskPushNotificationConfigResponse> {
        let read = |request: ListTaskPushNotificationConfigRequest| {
            Ok(AnyRequest::ListTaskPushNotificationConfigs(request.into()))
        };
        self.unary(Family::Shared, request, read, configs).await
    }

    async fn delete_task_push_notification_config(
        &self,
        request: Request<Undecoded<DeleteTaskPushNotificationConfigRequest>>,
    ) -> Answer<()> {
        let read = |request: DeleteTaskPushNotificationConfigRequest| {
            let (task_id, id) = proto::ids_of_config(&request.name)?;
            let request = a2a_core::v1::DeleteTaskPushNotificationConfigRequest {
                task_id,
                id,
                tenant: String::new(),
            };
            Ok(AnyRequest::DeleteTaskPushNotificationConfig(request))
        };
        let write = |answer| matches!(answer, AnyResponse::Deleted).then_some(());
        self.unary(Family::Shared, request, read, write).await
    }

    async fn get_agent_card(
        &self,
        request: Request<Undecoded<GetAgentCardRequest>>,
    ) -> Answer<AgentCard> {
        let (parts, _, revision) = match self.open(Family::V0_3, request).await {
            Ok(opened) => opened,
            Err(error) => return Err(code::encode(error)),
        };
        let card = async {
            let beside = Beside::read(&parts, revision)?;
            let request = AnyRequest::GetExtendedAgentCard(GetCurrentCard::default());
            match self.perform(&beside, Ok(request)).await {
                Ok(Reply { response: AnyAnswer::One(AnyResponse::Card(card)), .. }) => {
                    Ok(self.with_interfaces(card))
                }
                Ok(_) => Err(mismatch()),
                Err(error) if has_public_card_instead(error.kind()) => Ok(self.card.clone()),
                Err(error) => Err(error),
            }
        };
        match card.await {
            Ok(card) => Ok(Response::new(proto::card_down(card, revision))),
            Err(error) => Err(code::encode(error)),
        }
    }

    async fn get_extended_agent_card(
        &self,
        request: Request<Undecoded<GetExtendedAgentCardRequest>>,
    ) -> Answer<AgentCard> {
        let read = |_request| Ok(AnyRequest::GetExtendedAgentCard(GetCurrentCard::default()));
        let write = |answer| match answer {
            AnyResponse::Card(card) => {
                Some(proto::card_down(self.with_interfaces(card), ProtocolVersion::V1Draft))
            }
            _ => None,
        };
        self.unary(Family::Draft, request, read, write).await
    }
}

impl AgentService {
    /// Gives an extended card that names no interface those of the public one.
    fn with_interfaces(&self, mut card: CurrentCard) -> CurrentCard {
        if card.supported_interfaces.is_empty() {
            card.supported_interfaces.clone_from(&self.card.supported_interfaces);
        }
        card
    }
}

/// Whether a caller that gets no extended card gets the public one: the method is for both.
fn has_public_card_instead(refusal: ErrorKind) -> bool {
    matches!(
        refusal,
        ErrorKind::ExtendedAgentCardNotConfigured
            | ErrorKind::UnsupportedOperation
            | ErrorKind::Unauthenticated
            | ErrorKind::PermissionDenied
    )
}
