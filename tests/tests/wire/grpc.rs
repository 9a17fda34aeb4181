//! gRPC (spec §10) with a plain client: messages, metadata and status of responses.

use a2a_core::v1::{self, SendMessageRequest, StreamResponse, Task};
use prost::Message;
use tonic::{Code, Request, Response, Status, Streaming, client::Grpc, transport::Channel};
use tonic_prost::ProstCodec;

use crate::{fixture::Served, socket::Connection};

/// `google.rpc.Status`, redefined here to be independent of the server's code.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(btree_map = "string, string", tag = "3")]
    metadata: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<FieldViolation>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldViolation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
}

/// An error without its message.
#[derive(Debug, PartialEq)]
struct Refusal {
    code: Code,
    reason: String,
    metadata: Vec<(String, String)>,
    fields: Vec<String>,
}

fn rejection(status: &Status) -> Refusal {
    let rpc = RpcStatus::decode(status.details()).expect("a google.rpc.Status");
    assert_eq!(rpc.code, status.code() as i32, "both places have the same code");
    assert_eq!(rpc.message, status.message(), "both places have the same text");
    assert!(!rpc.message.is_empty());
    let find = |name: &str| {
        let url = format!("type.googleapis.com/google.rpc.{name}");
        rpc.details.iter().find(|any| any.type_url == url).map(|any| any.value.as_slice())
    };
    let info = ErrorInfo::decode(find("ErrorInfo").expect("an ErrorInfo")).expect("one");
    assert_eq!(info.domain, "a2a-protocol.org");
    let bad = find("BadRequest").map(|bytes| BadRequest::decode(bytes).expect("one"));
    Refusal {
        code: status.code(),
        reason: info.reason,
        metadata: info.metadata.into_iter().collect(),
        fields: bad
            .map(|bad| bad.field_violations.into_iter().map(|violation| violation.field).collect())
            .unwrap_or_default(),
    }
}

async fn channel(served: &Served) -> Channel {
    let url = format!("http://{}", served.address);
    Channel::from_shared(url).expect("an address").connect().await.expect("a connection")
}

fn request<T>(message: T, metadata: &[(&'static str, &str)]) -> Request<T> {
    let mut request = Request::new(message);
    for (name, value) in metadata {
        request.metadata_mut().append(*name, value.parse().expect("a value"));
    }
    request
}

fn path(method: &str) -> http::uri::PathAndQuery {
    format!("/lf.a2a.v1.A2AService/{method}").parse().expect("a path")
}

const V1: (&str, &str) = ("a2a-version", "1.0");

async fn unary<T, U>(
    channel: &Channel,
    method: &str,
    message: T,
    metadata: &[(&'static str, &str)],
) -> Result<Response<U>, Status>
where
    T: Message + 'static,
    U: Message + Default + 'static,
{
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.expect("ready");
    grpc.unary(request(message, metadata), path(method), ProstCodec::default()).await
}

async fn streaming<T: Message + 'static>(
    channel: &Channel,
    method: &str,
    message: T,
    metadata: &[(&'static str, &str)],
) -> Result<Response<Streaming<StreamResponse>>, Status> {
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.expect("ready");
    grpc.server_streaming(request(message, metadata), path(method), ProstCodec::default()).await
}

fn send(text: &str) -> SendMessageRequest {
    SendMessageRequest { message: Some(v1::Message::user(text)), ..SendMessageRequest::default() }
}

async fn sent(channel: &Channel, text: &str) -> Task {
    let answer: Response<v1::SendMessageResponse> =
        unary(channel, "SendMessage", send(text), &[V1]).await.expect("an answer");
    match answer.into_inner().payload {
        Some(v1::send_message_response::Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

/// Calls, and expects an error.
async fn rejected<T: Message + 'static>(channel: &Channel, method: &str, message: T) -> Refusal {
    let answer: Result<Response<()>, Status> = unary(channel, method, message, &[V1]).await;
    rejection(&answer.expect_err("an error"))
}

fn a2a(code: Code, reason: &str, metadata: &[(&str, &str)]) -> Refusal {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let metadata = metadata.iter().map(pair).collect();
    Refusal { code, reason: reason.to_owned(), metadata, fields: Vec::new() }
}

//
#[tokio::test]
async fn every_operation_responds() {
    let served = Served::start(&[""; 0]).await;
    let channel = channel(&served).await;
    let task = sent(&channel, "input").await;
    let get = v1::GetTaskRequest { id: task.id.clone(), ..Default::default() };
    let got: Response<Task> = unary(&channel, "GetTask", get, &[V1]).await.expect("a task");
    assert_eq!(got.into_inner(), task);

    let list = v1::ListTasksRequest { history_length: Some(9), ..Default::default() };
    let page: Response<v1::ListTasksResponse> =
        unary(&channel, "ListTasks", list, &[V1]).await.expect("a page");
    let page = page.into_inner();
    assert_eq!((page.tasks, page.page_size, page.total_size), (vec![task.clone()], 50, 1));

    let config = v1::TaskPushNotificationConfig {
        task_id: task.id.clone(),
        url: "http://127.0.0.1:9/".into(),
        ..Default::default()
    };
    let config: Response<v1::TaskPushNotificationConfig> =
        unary(&channel, "CreateTaskPushNotificationConfig", config, &[V1]).await.expect("kept");
    let config = config.into_inner();
    assert!(!config.id.is_empty());
    let get = v1::GetTaskPushNotificationConfigRequest {
        task_id: task.id.clone(),
        id: config.id.clone(),
        ..Default::default()
    };
    let kept: Response<v1::TaskPushNotificationConfig> =
        unary(&channel, "GetTaskPushNotificationConfig", get, &[V1]).await.expect("kept");
    assert_eq!(kept.into_inner(), config);
    let list = v1::ListTaskPushNotificationConfigsRequest {
        task_id: task.id.clone(),
        ..Default::default()
    };
    let configs: Response<v1::ListTaskPushNotificationConfigsResponse> =
        unary(&channel, "ListTaskPushNotificationConfigs", list, &[V1]).await.expect("a list");
    assert_eq!(configs.into_inner().configs, std::slice::from_ref(&config));
    let delete = v1::DeleteTaskPushNotificationConfigRequest {
        task_id: task.id.clone(),
        id: config.id,
        ..Default::default()
    };
    for _ in 0..2 {
        let gone: Result<Response<()>, Status> =
            unary(&channel, "DeleteTaskPushNotificationConfig", delete.clone(), &[V1]).await;
        gone.expect("gone");
    }

    let subscribe = v1::SubscribeToTaskRequest { id: task.id.clone(), ..Default::default() };
    let mut stream = streaming(&channel, "SubscribeToTask", subscribe, &[V1])
        .await
        .expect("a stream")
        .into_inner();
    let first = stream.message().await.expect("an event").expect("not the end");
    assert_eq!(first.payload, Some(v1::stream_response::Payload::Task(task.clone())));
    let cancel = v1::CancelTaskRequest { id: task.id, ..Default::default() };
    let canceled: Response<Task> =
        unary(&channel, "CancelTask", cancel, &[V1]).await.expect("a task");
    let state = canceled.into_inner().status.expect("a status").state();
    assert_eq!(state, v1::TaskState::Canceled);
    while stream.message().await.expect("a good end").is_some() {}

    let card: Response<v1::AgentCard> =
        unary(&channel, "GetExtendedAgentCard", v1::GetExtendedAgentCardRequest::default(), &[V1])
            .await
            .expect("a card");
    assert_eq!(card.into_inner().supported_interfaces.len(), 3);
}

//
#[tokio::test]
async fn stream_has_the_first_position_in_metadata() {
    let served = Served::start(&[""; 0]).await;
    let channel = channel(&served).await;
    let response = streaming(&channel, "SendStreamingMessage", send("stream 2"), &[V1])
        .await
        .expect("a stream");
    assert_eq!(response.metadata().get("event-position").expect("a position"), "1");
    let mut stream = response.into_inner();
    let mut kinds = Vec::new();
    let mut id = String::new();
    while let Some(event) = stream.message().await.expect("a good end") {
        kinds.push(match event.payload.expect("a payload") {
            v1::stream_response::Payload::Task(task) => {
                id = task.id;
                "task"
            }
            v1::stream_response::Payload::Message(_) => "message",
            v1::stream_response::Payload::StatusUpdate(_) => "status",
            v1::stream_response::Payload::ArtifactUpdate(_) => "artifact",
        });
    }
    assert_eq!(kinds, ["task", "status", "artifact", "artifact", "status"]);

    let subscribe = v1::SubscribeToTaskRequest { id, ..Default::default() };
    let resumed = streaming(&channel, "SubscribeToTask", subscribe, &[V1, ("last-event-id", "3")])
        .await
        .expect("the rest");
    assert_eq!(resumed.metadata().get("event-position").expect("a position"), "4");
    let mut stream = resumed.into_inner();
    let mut count = 0;
    while stream.message().await.expect("a good end").is_some() {
        count += 1;
    }
    assert_eq!(count, 2);
}

//
#[tokio::test]
async fn every_operation_reports_an_unknown_task() {
    let served = Served::start(&[""; 0]).await;
    let channel = channel(&served).await;
    let id = || "nope".to_owned();
    let message = v1::Message::user("a").with_task_id("nope");
    let to_unknown = SendMessageRequest { message: Some(message), ..Default::default() };
    let refusals = [
        rejected(&channel, "GetTask", v1::GetTaskRequest { id: id(), ..Default::default() }).await,
        rejected(&channel, "CancelTask", v1::CancelTaskRequest { id: id(), ..Default::default() })
            .await,
        rejected(
            &channel,
            "SubscribeToTask",
            v1::SubscribeToTaskRequest { id: id(), ..Default::default() },
        )
        .await,
        rejected(&channel, "SendMessage", to_unknown.clone()).await,
        rejected(&channel, "SendStreamingMessage", to_unknown).await,
        rejected(
            &channel,
            "CreateTaskPushNotificationConfig",
            v1::TaskPushNotificationConfig {
                task_id: id(),
                url: "http://127.0.0.1:9/".into(),
                ..Default::default()
            },
        )
        .await,
        rejected(
            &channel,
            "GetTaskPushNotificationConfig",
            v1::GetTaskPushNotificationConfigRequest {
                task_id: id(),
                id: "c".into(),
                ..Default::default()
            },
        )
        .await,
        rejected(
            &channel,
            "ListTaskPushNotificationConfigs",
            v1::ListTaskPushNotificationConfigsRequest { task_id: id(), ..Default::default() },
        )
        .await,
        rejected(
            &channel,
            "DeleteTaskPushNotificationConfig",
            v1::DeleteTaskPushNotificationConfigRequest {
                task_id: id(),
                id: "c".into(),
                ..Default::default()
            },
        )
        .await,
    ];
    for rejection in refusals {
        assert_eq!(rejection, a2a(Code::NotFound, "TASK_NOT_FOUND", &[("taskId", "nope")]));
    }
}

//
#[tokio::test]
async fn ended_task_rejects_messages_cancel_and_subscriptions() {
    let served = Served::start(&[""; 0]).await;
    let channel = channel(&served).await;
    let Task { id, .. } = sent(&channel, "hello").await;
    let metadata = [("taskId", id.as_str())];
    let unsupported = || a2a(Code::FailedPrecondition, "UNSUPPORTED_OPERATION", &metadata);
    let message = v1::Message::user("more").with_task_id(&id);
    let more = SendMessageRequest { message: Some(message), ..Default::default() };
    assert_eq!(rejected(&channel, "SendMessage", more).await, unsupported());
    let subscribe = v1::SubscribeToTaskRequest { id: id.clone(), ..Default::default() };
    assert_eq!(rejected(&channel, "SubscribeToTask", subscribe).await, unsupported());
    let cancel = v1::CancelTaskRequest { id: id.clone(), ..Default::default() };
    assert_eq!(
        rejected(&channel, "CancelTask", cancel).await,
        a2a(Code::FailedPrecondition, "TASK_NOT_CANCELABLE", &metadata)
    );
}

//
#[tokio::test]
async fn unsupported_capabilities_are_rejected_with_a_reason() {
    use Code::{FailedPrecondition, InvalidArgument};
    let modes = "text/plain,application/json,image/*,application/octet-stream";
    let video = v1::Part::url("https://example.com/a").with_media_type("video/mp4");
    let video = SendMessageRequest {
        message: Some(v1::Message::user("a").with_part(video)),
        ..Default::default()
    };
    for (setting, method, message, expected) in [
        (
            "",
            "SendMessage",
            video,
            a2a(
                InvalidArgument,
                "CONTENT_TYPE_NOT_SUPPORTED",
                &[("mediaType", "video/mp4"), ("supportedMediaTypes", modes)],
            ),
        ),
        (
            "no-streaming",
            "SendStreamingMessage",
            send("a"),
            a2a(FailedPrecondition, "UNSUPPORTED_OPERATION", &[]),
        ),
        (
            "requires-extension",
            "SendMessage",
            send("a"),
            a2a(
                FailedPrecondition,
                "EXTENSION_SUPPORT_REQUIRED",
                &[("extensions", "urn:example:required")],
            ),
        ),
    ] {
        let served = Served::start(&[setting]).await;
        let rejection = rejected(&channel(&served).await, method, message).await;
        assert_eq!(rejection, expected, "{setting} {method}");
    }

    let served = Served::start(&["no-streaming"]).await;
    let subscribe = v1::SubscribeToTaskRequest { id: "t".into(), ..Default::default() };
    assert_eq!(
        rejected(&channel(&served).await, "SubscribeToTask", subscribe).await,
        a2a(FailedPrecondition, "UNSUPPORTED_OPERATION", &[])
    );

    for (setting, reason) in [
        ("no-extended-card", "UNSUPPORTED_OPERATION"),
        ("promises-extended-card", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    ] {
        let served = Served::start(&[setting]).await;
        let request = v1::GetExtendedAgentCardRequest::default();
        let rejection = rejected(&channel(&served).await, "GetExtendedAgentCard", request).await;
        assert_eq!(rejection, a2a(FailedPrecondition, reason, &[]), "{setting}");
    }

    let served = Served::start(&["no-push"]).await;
    let channel = channel(&served).await;
    let expected = || a2a(FailedPrecondition, "PUSH_NOTIFICATION_NOT_SUPPORTED", &[]);
    let config = v1::TaskPushNotificationConfig {
        task_id: "t".into(),
        url: "http://127.0.0.1:9/".into(),
        ..Default::default()
    };
    let create = rejected(&channel, "CreateTaskPushNotificationConfig", config).await;
    assert_eq!(create, expected());
    let get = v1::GetTaskPushNotificationConfigRequest {
        task_id: "t".into(),
        id: "c".into(),
        ..Default::default()
    };
    assert_eq!(rejected(&channel, "GetTaskPushNotificationConfig", get).await, expected());
    let list =
        v1::ListTaskPushNotificationConfigsRequest { task_id: "t".into(), ..Default::default() };
    assert_eq!(rejected(&channel, "ListTaskPushNotificationConfigs", list).await, expected());
    let delete = v1::DeleteTaskPushNotificationConfigRequest {
        task_id: "t".into(),
        id: "c".into(),
        ..Default::default()
    };
    assert_eq!(rejected(&channel, "DeleteTaskPushNotificationConfig", delete).await, expected());
}

//
#[tokio::test]
async fn violations_are_a_bad_request_with_json_paths() {
    let served = Served::start(&[""; 0]).await;
    let channel = channel(&served).await;
    let invalid = |fields: &[&str]| Refusal {
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        ..a2a(Code::InvalidArgument, "INVALID_PARAMS", &[])
    };
    let empty = SendMessageRequest { message: Some(v1::Message::default()), ..Default::default() };
    let part = SendMessageRequest {
        message: Some(v1::Message::user("a").with_part(v1::Part::default())),
        ..Default::default()
    };
    let pages = |size| v1::ListTasksRequest { page_size: Some(size), ..Default::default() };
    let history =
        v1::GetTaskRequest { id: "t".into(), history_length: Some(-1), ..Default::default() };
    assert_eq!(
        rejected(&channel, "SendMessage", SendMessageRequest::default()).await,
        invalid(&["message"])
    );
    assert_eq!(
        rejected(&channel, "SendMessage", empty).await,
        invalid(&["message.messageId", "message.role", "message.parts"])
    );
    assert_eq!(rejected(&channel, "SendMessage", part).await, invalid(&["message.parts[1]"]));
    assert_eq!(
        rejected(&channel, "GetTask", v1::GetTaskRequest::default()).await,
        invalid(&["id"])
    );
    assert_eq!(rejected(&channel, "GetTask", history).await, invalid(&["historyLength"]));
    assert_eq!(rejected(&channel, "ListTasks", pages(0)).await, invalid(&["pageSize"]));
    assert_eq!(rejected(&channel, "ListTasks", pages(101)).await, invalid(&["pageSize"]));
}

//
#[tokio::test]
async fn version_is_metadata_and_a_missing_one_is_0_3() {
    let served = Served::start(&[""; 0]).await;
    let strict = channel(&served).await;
    let served = Served::start(&["lenient"]).await;
    let lenient = channel(&served).await;
    let list = v1::ListTasksRequest::default;
    for (channel, version) in [
        (&strict, None),
        (&strict, Some("")),
        (&strict, Some("0.3")),
        (&strict, Some("9.9")),
        (&lenient, Some("0.3")),
    ] {
        let metadata: Vec<_> =
            version.map(|version| ("a2a-version", version)).into_iter().collect();
        let answer: Result<Response<()>, Status> =
            unary(channel, "ListTasks", list(), &metadata).await;
        let status = answer.expect_err("an error");
        let metadata = [("supportedVersions", "1.0")];
        let expected = a2a(Code::FailedPrecondition, "VERSION_NOT_SUPPORTED", &metadata);
        assert_eq!(rejection(&status), expected, "{version:?}");
        if version.is_none() {
            assert!(status.message().contains("send `A2A-Version: 1.0`"), "{status:?}");
        }
    }
    for (channel, version) in [(&strict, Some("1.0")), (&strict, Some("1.0.7")), (&lenient, None)] {
        let metadata: Vec<_> =
            version.map(|version| ("a2a-version", version)).into_iter().collect();
        let answer: Result<Response<v1::ListTasksResponse>, Status> =
            unary(channel, "ListTasks", list(), &metadata).await;
        assert!(answer.is_ok(), "{version:?}");
    }
}

//
#[tokio::test]
async fn activated_extensions_are_in_the_initial_metadata() {
    let served = Served::start(&[""; 0]).await;
    let channel = channel(&served).await;
    for lines in
        [&["urn:example:none, urn:example:optional"][..], &["urn:a", "urn:example:optional"]]
    {
        let mut metadata = vec![V1];
        metadata.extend(lines.iter().map(|line| ("a2a-extensions", *line)));
        let answer: Response<v1::SendMessageResponse> =
            unary(&channel, "SendMessage", send("message hi"), &metadata).await.expect("an answer");
        let activated = answer.metadata().get("a2a-extensions").expect("an entry");
        assert_eq!(activated, "urn:example:optional", "{lines:?}");
    }
    let answer: Response<v1::SendMessageResponse> =
        unary(&channel, "SendMessage", send("message hi"), &[V1]).await.expect("an answer");
    assert!(answer.metadata().get("a2a-extensions").is_none());
}

//
#[tokio::test]
async fn unknown_method_is_unimplemented() {
    let served = Served::start(&[""; 0]).await;
    let channel = channel(&served).await;
    for path in ["/lf.a2a.v1.A2AService/Sing", "/lf.a2a.v2.A2AService/GetTask", "/no.Service/At"] {
        let mut grpc = Grpc::new(channel.clone());
        grpc.ready().await.expect("ready");
        let codec = ProstCodec::<v1::GetTaskRequest, Task>::default();
        let message = request(v1::GetTaskRequest::default(), &[V1]);
        let answer = grpc.unary(message, path.parse().expect("a path"), codec).await;
        assert_eq!(answer.expect_err("an error").code(), Code::Unimplemented, "{path}");
    }
}

//
#[tokio::test]
async fn task_is_the_same_on_every_binding() {
    let served = Served::start(&[""; 0]).await;
    let channel = channel(&served).await;
    let task = sent(&channel, "hello").await;
    let mut connection = Connection::open(served.address).await;
    connection.send(&format!("GET /tasks/{} HTTP/1.1\nA2A-Version: 1.0", task.id), b"").await;
    let (_, body) = connection.receive(false).await;
    assert_eq!(serde_json::from_slice::<Task>(&body).expect("a task"), task);
    let body = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task.id}
    });
    let head = "POST / HTTP/1.1\nA2A-Version: 1.0";
    connection.send(head, body.to_string().as_bytes()).await;
    let (_, body) = connection.receive(false).await;
    let mut answer: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(serde_json::from_value::<Task>(answer["result"].take()).expect("a task"), task);
}
