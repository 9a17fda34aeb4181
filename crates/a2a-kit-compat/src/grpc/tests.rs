//! Tests of the service over a socket. The behaviour of operations is tested by the behaviour
//! suite.

use a2a_core::{
    Error, ErrorKind, Message, Operation, ProtocolVersion, Role, TaskState,
    v1::{
        self, AgentCard, GetExtendedAgentCardRequest as GetCurrentCard,
        ListTasksRequest as ListTasks,
    },
};
use a2a_kit_http::client::ClientSettings;
use a2a_kit_operations::{
    Agent as _, AgentExecutor, BoxError, Call, Engine, RequestContext, TaskUpdater,
};
use futures_util::StreamExt as _;
use prost_reflect::DescriptorPool;
use tokio::task::JoinHandle;
use tonic::{Code, IntoRequest as _, Request, Status, transport::Channel};

use super::{DESCRIPTOR, GrpcClient, SERVICE, code, router};
use crate::{
    ServerOptions,
    proto::{
        self, CancelTaskRequest, CreateTaskPushNotificationRequest, GetAgentCardRequest,
        GetTaskPushNotificationRequest, GetTaskRequest, ListTaskPushNotificationRequest,
        PushNotificationConfig, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskSubscriptionRequest,
        a2_a_service_client::A2AServiceClient, send_message_response, stream_response,
    },
};

type Stub = A2AServiceClient<Channel>;

/// Completes, requests input or runs without end, depending on the message.
struct Obedient;

impl AgentExecutor for Obedient {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        match context.text().as_str() {
            "ask" => updates.require_input("which?").await?,
            "authorize" => {
                updates.require_auth("who?").await?;
                std::future::pending::<()>().await;
            }
            "work" => context.cancelled().await,
            _ => updates.complete("done").await?,
        }
        Ok(())
    }
}

struct Served {
    url: String,
    stub: Stub,
    server: JoinHandle<()>,
}

impl Served {
    async fn new(options: ServerOptions) -> Self {
        let card = AgentCard::new("Public", "is for all")
            .with_interface("GRPC", "http://g")
            .with_interface("JSONRPC", "http://j");
        let engine = Engine::builder(card.clone(), Obedient).build();
        let router = router(engine.clone(), card, options).merge(a2a_kit_grpc::router(engine));
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending());
        let server = tokio::spawn(server);
        let channel = Channel::from_shared(url.clone()).unwrap().connect_lazy();
        Self { url, stub: A2AServiceClient::new(channel), server }
    }

    fn client(&self, revision: ProtocolVersion) -> GrpcClient {
        GrpcClient::connect(&self.url, revision, ClientSettings::default()).unwrap()
    }

    async fn task(&mut self, text: &str) -> Task {
        let response = self.stub.send_message(message(text, text != "work")).await.unwrap();
        match response.into_inner().payload {
            Some(send_message_response::Payload::Task(task)) => task,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn message(text: &str, blocking: bool) -> SendMessageRequest {
    let message = proto::Message {
        message_id: "m".into(),
        role: Role::User.into(),
        ..Message::user(text).into()
    };
    SendMessageRequest {
        request: Some(message),
        configuration: Some(SendMessageConfiguration { blocking, ..Default::default() }),
        metadata: None,
    }
}

fn in_version<T>(version: &'static str, message: T) -> Request<T> {
    let mut request = message.into_request();
    request.metadata_mut().insert("a2a-version", version.parse().unwrap());
    request
}

fn decode(status: Status) -> Error {
    code::decode(status, Operation::GetTask, "peer")
}

fn state_of(status: Option<&proto::TaskStatus>) -> TaskState {
    status.map(|status| status.state.try_into().unwrap()).unwrap_or_default()
}

fn state(task: &Task) -> TaskState {
    state_of(task.status.as_ref())
}

/// The states of the events of a stream, with the value of `final` if there is one.
async fn states(stream: tonic::Streaming<proto::StreamResponse>) -> Vec<(TaskState, Option<bool>)> {
    let events: Vec<_> = stream.map(Result::unwrap).collect().await;
    let states = events.into_iter().map(|event| match event.payload {
        Some(stream_response::Payload::Task(task)) => (state(&task), None),
        Some(stream_response::Payload::StatusUpdate(update)) => {
            (state_of(update.status.as_ref()), Some(update.r#final))
        }
        other => panic!("{other:?}"),
    });
    states.collect()
}

#[tokio::test]
async fn sends_wait_if_blocking_or_not_configured() {
    let mut served = Served::new(ServerOptions::default()).await;
    let done = served.task("hi").await;
    assert_eq!(state(&done), TaskState::Completed);
    let unset = SendMessageRequest { configuration: None, ..message("hi", false) };
    let response = served.stub.send_message(unset).await.unwrap().into_inner();
    let Some(send_message_response::Payload::Task(task)) = response.payload else {
        panic!("{response:?}")
    };
    assert_eq!(state(&task), TaskState::Completed);
    let response = served.stub.send_message(message("work", false)).await.unwrap().into_inner();
    let Some(send_message_response::Payload::Task(task)) = response.payload else {
        panic!("{response:?}")
    };
    assert!(!state(&task).is_terminal());
}

#[tokio::test]
async fn stream_ends_at_the_last_event_of_its_revision() {
    let mut served = Served::new(ServerOptions::default()).await;
    for (text, last) in [
        ("hi", TaskState::Completed),
        ("ask", TaskState::InputRequired),
        // In 0.3, streams end when authorization is required.
        ("authorize", TaskState::AuthRequired),
    ] {
        let stream = served.stub.send_streaming_message(message(text, true)).await.unwrap();
        let states = states(stream.into_inner()).await;
        assert_eq!(states.last(), Some(&(last, Some(true))), "{text}: {states:?}");
        let earlier = &states[..states.len() - 1];
        assert!(earlier.iter().all(|(_, is_last)| *is_last != Some(true)), "{text}: {states:?}");
    }
    let request = in_version("1.0", message("authorize", true));
    let mut stream = served.stub.send_streaming_message(request).await.unwrap().into_inner();
    let waits = loop {
        match stream.message().await.unwrap().unwrap().payload {
            Some(stream_response::Payload::StatusUpdate(update))
                if update
                    .status
                    .as_ref()
                    .is_some_and(|status| status.state() == proto::TaskState::AuthRequired) =>
            {
                break update;
            }
            _ => {}
        }
    };
    assert!(!waits.r#final, "the draft keeps its stream open");
}

#[tokio::test]
async fn subscribing_to_an_ended_task_is_rejected_only_in_the_draft() {
    let mut served = Served::new(ServerOptions::default()).await;
    let task = served.task("hi").await;
    let name = proto::task_name(&task.id);
    let request = TaskSubscriptionRequest { name: name.clone() };
    let stream = served.stub.task_subscription(request).await.unwrap().into_inner();
    let completed = TaskState::Completed;
    assert_eq!(states(stream).await, [(completed, None), (completed, Some(true))]);
    let rejected = served.stub.subscribe_to_task(SubscribeToTaskRequest { name }).await;
    assert_eq!(rejected.unwrap_err().code(), Code::Unimplemented);
}

#[tokio::test]
async fn errors_have_code_and_details_in_every_revision() {
    let mut served = Served::new(ServerOptions::default()).await;
    let task = served.task("hi").await;
    let request = || CancelTaskRequest { name: proto::task_name(&task.id) };
    for version in ["0.3", "1.0"] {
        let status = served.stub.cancel_task(in_version(version, request())).await.unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition, "{version}");
        assert!(!status.details().is_empty(), "{version}");
        let error = decode(status);
        assert_eq!(error.kind(), ErrorKind::TaskNotCancelable, "{version}");
    }
    let status = served.stub.cancel_task(in_version("9.9", request())).await.unwrap_err();
    assert_eq!(decode(status).kind(), ErrorKind::VersionNotSupported);
    let bare = GetTaskRequest { name: "unknown".into(), history_length: None };
    let status = served.stub.get_task(bare).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    let empty = served.stub.send_message(SendMessageRequest::default()).await.unwrap_err();
    assert_eq!(empty.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn task_is_found_by_resource_name_or_id() {
    let mut served = Served::new(ServerOptions::default()).await;
    let task = served.task("hi").await;
    for name in [proto::task_name(&task.id), task.id.clone()] {
        let request = GetTaskRequest { name, history_length: None };
        let found = served.stub.get_task(request).await.unwrap().into_inner();
        assert_eq!(found.id, task.id);
    }
}

#[tokio::test]
async fn public_card_is_returned_without_an_extended_card() {
    let mut served = Served::new(ServerOptions::default()).await;
    let card = served.stub.get_agent_card(GetAgentCardRequest {}).await.unwrap().into_inner();
    assert_eq!(card.name, "Public");
    assert_eq!((&*card.url, &*card.preferred_transport), ("http://g", "GRPC"));
    assert_eq!(card.additional_interfaces[0].url, "http://j");
    assert_eq!(card.protocol_version, "0.3.0");
    let client = served.client(ProtocolVersion::V0_3);
    let call = Call::new(GetCurrentCard::default());
    let card = client.get_extended_agent_card(call).await.unwrap().response;
    let interfaces: Vec<_> = card
        .supported_interfaces
        .iter()
        .map(|interface| (&*interface.protocol_binding, &*interface.protocol_version))
        .collect();
    assert_eq!(interfaces, [("GRPC", "0.3"), ("JSONRPC", "0.3")]);
    let client = served.client(ProtocolVersion::V1Draft);
    let call = Call::new(GetCurrentCard::default());
    let error = client.get_extended_agent_card(call).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn webhook_methods_of_0_2_4_are_served() {
    let mut served = Served::new(ServerOptions::default()).await;
    let task = served.task("work").await;
    let webhook =
        PushNotificationConfig { url: "https://example.com".into(), ..Default::default() };
    let create = CreateTaskPushNotificationRequest {
        parent: proto::task_name(&task.id),
        config_id: "c".into(),
        config: Some(TaskPushNotificationConfig {
            name: String::new(),
            push_notification_config: Some(webhook),
        }),
    };
    // The agent does not support webhooks, under any name.
    let name = proto::config_name(&task.id, "c");
    let rejections = [
        served.stub.create_task_push_notification(create).await.map(drop),
        served
            .stub
            .get_task_push_notification(GetTaskPushNotificationRequest { name })
            .await
            .map(drop),
        served
            .stub
            .list_task_push_notification(ListTaskPushNotificationRequest {
                parent: proto::task_name(&task.id),
                ..Default::default()
            })
            .await
            .map(drop),
    ];
    for rejection in rejections {
        let error = decode(rejection.unwrap_err());
        assert_eq!(error.kind(), ErrorKind::PushNotificationNotSupported);
    }
}

#[tokio::test]
async fn list_tasks_is_only_served_in_the_draft() {
    let mut served = Served::new(ServerOptions::default()).await;
    let task = served.task("hi").await;
    let draft = served.client(ProtocolVersion::V1Draft);
    let page = draft.list_tasks(Call::new(ListTasks::default())).await.unwrap().response;
    assert_eq!(page.tasks[0].id, task.id);
    for revision in [ProtocolVersion::V0_2, ProtocolVersion::V0_3] {
        let client = served.client(revision);
        let error: Error = client.list_tasks(Call::new(ListTasks::default())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{revision}");
    }
}

#[tokio::test]
async fn page_of_tasks_is_within_the_default_limit_of_clients() {
    let mut served = Served::new(ServerOptions::default()).await;
    for _ in 0..60 {
        served.task(&"x".repeat(100_000)).await;
    }
    let settings = ClientSettings::default().with_max_response_bytes(4 << 20);
    let draft = GrpcClient::connect(&served.url, ProtocolVersion::V1Draft, settings).unwrap();
    let (mut count, mut page_token) = (0, String::new());
    loop {
        let (page_size, history_length) = (Some(100), Some(1));
        let request = ListTasks { page_size, history_length, page_token, ..Default::default() };
        let page = draft.list_tasks(Call::new(request)).await.unwrap().response;
        assert_eq!(page.tasks[0].history.len(), 1);
        count += page.tasks.len();
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(count, 60);
}

#[tokio::test]
async fn empty_webhook_authentication_is_treated_as_none() {
    let mut served = Served::new(ServerOptions::default()).await;
    let task = served.task("hi").await;
    for (schemes, rejected) in [
        (vec![], ErrorKind::PushNotificationNotSupported),
        (vec!["Bearer".to_owned()], ErrorKind::PushNotificationNotSupported),
        (vec![String::new()], ErrorKind::InvalidParams),
    ] {
        let webhook = PushNotificationConfig {
            url: "https://example.com".into(),
            authentication: Some(proto::AuthenticationInfo {
                credentials: if schemes == [""] { "c".into() } else { String::new() },
                schemes,
            }),
            ..Default::default()
        };
        let create = CreateTaskPushNotificationRequest {
            parent: proto::task_name(&task.id),
            config_id: "c".into(),
            config: Some(TaskPushNotificationConfig {
                name: String::new(),
                push_notification_config: Some(webhook.clone()),
            }),
        };
        // The agent does not support webhooks, which is checked after validation.
        let rejection = served.stub.create_task_push_notification(create).await.unwrap_err();
        assert_eq!(decode(rejection).kind(), rejected, "{webhook:?}");
    }
}

#[tokio::test]
async fn missing_message_field_is_named() {
    let mut served = Served::new(ServerOptions::default()).await;
    let whole = message("hi", true);
    for (change, field) in [
        ((|m| m.role = 0) as fn(&mut proto::Message), "message.role"),
        (|m| m.message_id.clear(), "message.messageId"),
        (|m| m.content.clear(), "message.parts"),
        (|m| m.content[0].part = None, "message.parts[0]"),
    ] {
        let mut send = whole.clone();
        change(send.request.as_mut().unwrap());
        let error = decode(served.stub.send_message(send).await.unwrap_err());
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{field}: {error:?}");
        assert_eq!(error.violations()[0].field, field);
    }
    let nothing = SendMessageRequest { request: None, ..whole };
    let error = decode(served.stub.send_message(nothing).await.unwrap_err());
    assert_eq!(error.violations()[0].field, "message");
    let nameless = GetTaskRequest::default();
    let error = decode(served.stub.get_task(nameless).await.unwrap_err());
    assert_eq!(error.violations()[0].field, "id");
}

//
#[tokio::test]
async fn methods_of_a_disabled_revision_are_rejected() {
    let served = "1.0,draft".parse().unwrap();
    let mut served = Served::new(ServerOptions::default().with_revisions(served)).await;
    let card = served.stub.get_agent_card(GetAgentCardRequest {}).await.unwrap_err();
    assert_eq!(card.code(), Code::Unimplemented);
    assert_eq!(state(&served.task("hi").await), TaskState::Completed);
}

//
#[tokio::test]
async fn every_method_of_every_revision_is_served() {
    let served = Served::new(ServerOptions::default()).await;
    let pool = DescriptorPool::decode(DESCRIPTOR).unwrap();
    let service = pool.get_service_by_name(SERVICE).unwrap();
    let channel = Channel::from_shared(served.url.clone()).unwrap().connect_lazy();
    for method in service.methods() {
        let path = format!("/{}/{}", service.full_name(), method.name());
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<(), ()>::default();
        let answer = client.unary(Request::new(()), path.parse().unwrap(), codec).await;
        // Most methods reject an empty message with an error of the protocol.
        if let Err(status) = answer {
            let error = decode(status);
            assert_ne!(error.kind(), ErrorKind::MethodNotFound, "{path}: {error:?}");
        }
    }
    assert_eq!(service.methods().len(), 17);
}

//
#[tokio::test]
async fn current_and_older_revisions_share_a_port() {
    let mut served = Served::new(ServerOptions::default()).await;
    let task = served.task("hi").await;
    let current = a2a_kit_grpc::Client::connect(&served.url).unwrap();
    let older = served.client(ProtocolVersion::V0_3);
    let request = v1::GetTaskRequest { id: task.id.clone(), ..Default::default() };
    let by_current = current.get_task(Call::new(request.clone())).await.unwrap().response;
    let by_older = older.get_task(Call::new(request)).await.unwrap().response;
    assert_eq!(by_current, by_older);
    assert_eq!(by_current.id, task.id);
}
