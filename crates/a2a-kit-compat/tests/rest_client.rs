//! The HTTP+JSON client for older revisions, against this server and recorded responses of others.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use a2a_core::{
    Error, ErrorKind, Message, Operation, ProtocolVersion, TaskState,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SubscribeToTaskRequest, TaskPushNotificationConfig,
        send_message_response, stream_response::Payload,
    },
};
use a2a_kit_compat::{ServerOptions, client::RestClient, server, v1_draft::http_status};
use a2a_kit_http::client::{ClientSettings, HttpClient};
use a2a_kit_operations::{Agent, Call, CallContext, Event, EventId, EventStream};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use fake::{Canned, Fake, answer, artifact, opening, serve, sse, status, task};

const REVISIONS: [ProtocolVersion; 2] = [ProtocolVersion::V0_3, ProtocolVersion::V1Draft];

fn client(url: &str, revision: ProtocolVersion) -> RestClient {
    let http = HttpClient::new(ClientSettings::default()).unwrap();
    RestClient::new(url, revision, http).unwrap()
}

async fn before(fake: &Fake, revision: ProtocolVersion) -> RestClient {
    let address = serve(server::rest(fake.clone(), ServerOptions::default())).await;
    client(&format!("http://{address}/"), revision)
}

async fn canned(
    revision: ProtocolVersion,
    answers: impl IntoIterator<Item = String>,
) -> (RestClient, Canned) {
    let server = Canned::serve(answers).await;
    (client(&server.url, revision), server)
}

fn send() -> SendMessageRequest {
    let message = Message { message_id: "m".into(), ..Message::user("hi") };
    SendMessageRequest { message: Some(message), ..Default::default() }
}

fn get_task() -> Call<GetTaskRequest> {
    Call::new(GetTaskRequest { id: "t".into(), ..Default::default() })
}

fn subscribe() -> Call<SubscribeToTaskRequest> {
    Call::new(SubscribeToTaskRequest { id: "t".into(), ..Default::default() })
}

fn json_answer(status: u16, body: &str) -> String {
    answer(status, "application/json", body)
}

async fn collect(stream: EventStream) -> Vec<Event> {
    stream.map(Result::unwrap).collect().await
}

/// Checks that the request arrived unchanged.
fn arrived(fake: &Fake, operation: Operation, members: Value) {
    let seen = fake.last().unwrap();
    assert_eq!(seen.operation, operation);
    assert!(seen.context.extensions.contains("urn:a"), "{operation:?}");
    for (name, value) in members.as_object().unwrap() {
        assert_eq!(seen.request.get(name), Some(value), "{operation:?} {:?}", seen.request);
    }
}

fn call<T>(request: T) -> Call<T> {
    let mut context = CallContext::default();
    context.extensions = ["urn:a"].into_iter().collect();
    Call::from_parts(context, request)
}

#[tokio::test]
async fn operations_arrive_unchanged() {
    for revision in REVISIONS {
        let fake = Fake::new();
        let agent = before(&fake, revision).await;
        messages(&agent, &fake).await;
        tasks(&agent, &fake).await;
        webhooks(&agent, &fake).await;
    }
}

async fn messages(agent: &RestClient, fake: &Fake) {
    let webhook = TaskPushNotificationConfig { url: "https://a.b".into(), ..Default::default() };
    for immediately in [true, false] {
        let configuration = SendMessageConfiguration {
            accepted_output_modes: vec!["text/plain".into()],
            task_push_notification_config: Some(webhook.clone()),
            history_length: Some(2),
            return_immediately: immediately,
        };
        let request = SendMessageRequest { configuration: Some(configuration), ..send() };
        let expected = serde_json::to_value(&request).unwrap();
        let reply = agent.send_message(call(request.clone())).await.unwrap();
        let Some(send_message_response::Payload::Message(message)) = reply.response.payload else {
            panic!("a message was sent");
        };
        assert_eq!(message, fake::message("hello"));
        assert!(reply.activated.contains("urn:a"));
        arrived(fake, Operation::SendMessage, expected.clone());
        let events = agent.send_streaming_message(call(request)).await.unwrap();
        arrived(fake, Operation::SendStreamingMessage, expected);
        assert_eq!(collect(events.response).await[0].task().unwrap().id, "t-1");
    }
}

async fn tasks(agent: &RestClient, fake: &Fake) {
    for id in ["t-1", "a/b c?d#e", "a:cancel", "list", "%2F+é"] {
        let request =
            GetTaskRequest { id: id.into(), history_length: Some(3), ..Default::default() };
        let reply = agent.get_task(call(request)).await.unwrap();
        assert_eq!(*reply.response, task(id));
        arrived(fake, Operation::GetTask, json!({"id": id, "historyLength": 3}));
        let request = CancelTaskRequest { id: id.into(), ..Default::default() };
        assert_eq!(agent.cancel_task(call(request)).await.unwrap().response.id, id);
        arrived(fake, Operation::CancelTask, json!({"id": id}));
        let request = SubscribeToTaskRequest { id: id.into(), ..Default::default() };
        let mut call = call(request);
        call.context.last_event_id = EventId::new(7);
        agent.subscribe_to_task(call).await.unwrap();
        let seen = fake.last().unwrap();
        assert_eq!(seen.context.last_event_id, EventId::new(7));
        assert_eq!(seen.request["id"], id);
    }
}

async fn webhooks(agent: &RestClient, fake: &Fake) {
    let config: TaskPushNotificationConfig = serde_json::from_value(json!({
        "id": "p:1", "taskId": "t:1", "url": "https://a.b", "token": "secret",
        "authentication": {"scheme": "Bearer", "credentials": "x"},
    }))
    .unwrap();
    let reply = agent.create_task_push_notification_config(call(config.clone())).await.unwrap();
    assert_eq!(reply.response, config);
    let expected = serde_json::to_value(&config).unwrap();
    arrived(fake, Operation::CreateTaskPushNotificationConfig, expected);

    let ids = json!({"taskId": "t:1", "id": "p:1"});
    let (task_id, id) = (config.task_id, config.id);
    let request = GetTaskPushNotificationConfigRequest {
        task_id: task_id.clone(),
        id: id.clone(),
        ..Default::default()
    };
    let reply = agent.get_task_push_notification_config(call(request)).await.unwrap();
    assert_eq!((reply.response.task_id, reply.response.id), (task_id.clone(), id.clone()));
    arrived(fake, Operation::GetTaskPushNotificationConfig, ids.clone());

    let request =
        ListTaskPushNotificationConfigsRequest { task_id: task_id.clone(), ..Default::default() };
    agent.list_task_push_notification_configs(call(request)).await.unwrap();
    arrived(fake, Operation::ListTaskPushNotificationConfigs, json!({"taskId": "t:1"}));

    let request = DeleteTaskPushNotificationConfigRequest { task_id, id, ..Default::default() };
    agent.delete_task_push_notification_config(call(request)).await.unwrap();
    arrived(fake, Operation::DeleteTaskPushNotificationConfig, ids);

    let request = call(GetExtendedAgentCardRequest::default());
    assert_eq!(agent.get_extended_agent_card(request).await.unwrap().response.name, "Fake");
    arrived(fake, Operation::GetExtendedAgentCard, json!({}));
}

#[tokio::test]
async fn list_tasks_is_only_supported_in_the_draft() {
    let fake = Fake::new();
    let list = ListTasksRequest {
        context_id: "c&1=é".into(),
        status: TaskState::InputRequired.into(),
        page_size: Some(7),
        page_token: "a+b/c==".into(),
        history_length: Some(1),
        include_artifacts: Some(true),
        ..Default::default()
    };
    let agent = before(&fake, ProtocolVersion::V1Draft).await;
    assert_eq!(agent.list_tasks(call(list.clone())).await.unwrap().response.page_size, 50);
    arrived(&fake, Operation::ListTasks, serde_json::to_value(&list).unwrap());

    let agent = before(&fake, ProtocolVersion::V0_3).await;
    let error = agent.list_tasks(call(list)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    assert!(fake.last().is_none(), "rejected without a request");
}

#[tokio::test]
async fn streams_arrive_unchanged() {
    for revision in REVISIONS {
        let events =
            || vec![Ok(opening(task("t-1"))), Ok(artifact("x")), Ok(status(TaskState::Completed))];
        let agent = before(&Fake::new().streaming(events), revision).await;
        let reply = agent.send_streaming_message(Call::new(send())).await.unwrap();
        let got = collect(reply.response).await;
        let sent: Vec<_> = events().into_iter().map(Result::unwrap).collect();
        assert_eq!(got.iter().map(|event| event.response().clone()).collect::<Vec<_>>(), sent);
        let ids: Vec<_> = got.iter().map(Event::id).collect();
        assert_eq!(ids, [1, 2, 3].map(EventId::new), "{revision}");
    }
}

#[tokio::test]
async fn error_kinds_round_trip() {
    for revision in REVISIONS {
        for kind in ErrorKind::ALL {
            let refuse = move || Error::new(kind, "the reason").with_metadata("taskId", "t");
            let agent = before(&Fake::new().refusing(refuse), revision).await;
            let error = agent.get_task(get_task()).await.unwrap_err();
            assert_eq!(error.kind(), read_as(revision, kind), "{revision} {kind:?}");
            assert_eq!(error.message(), "the reason", "{revision} {kind:?}");
            let error = agent.subscribe_to_task(subscribe()).await.unwrap_err();
            assert_eq!(error.kind(), read_as(revision, kind), "{revision} {kind:?}, of a stream");

            let events = move || vec![Ok(opening(task("t"))), Err(Error::new(kind, "the reason"))];
            let agent = before(&Fake::new().streaming(events), revision).await;
            let reply = agent.subscribe_to_task(subscribe()).await.unwrap();
            let last = reply.response.collect::<Vec<_>>().await.pop().unwrap();
            let error = last.unwrap_err();
            assert_eq!(error.message(), "the reason", "{revision} {kind:?}, after an event");
            if (-32009..=-32001).contains(&kind.codes().jsonrpc) {
                let expected = ErrorKind::from_jsonrpc(kind.codes().jsonrpc, 200);
                assert_eq!(error.kind(), expected, "{revision} {kind:?}, after an event");
            }
        }
    }
}

/// The kind after a round trip: the draft has names for errors of the protocol, and only a status
/// for others.
fn read_as(revision: ProtocolVersion, kind: ErrorKind) -> ErrorKind {
    match (revision, kind) {
        // Agents do not return it for an operation that exists.
        (_, ErrorKind::MethodNotAllowed) => ErrorKind::UnsupportedOperation,
        (ProtocolVersion::V1Draft, ErrorKind::UnsupportedMediaType) => {
            ErrorKind::ContentTypeNotSupported
        }
        (ProtocolVersion::V1Draft, kind) if !(-32009..=-32001).contains(&kind.codes().jsonrpc) => {
            ErrorKind::from_http(http_status(kind))
        }
        (_, kind) => kind,
    }
}

#[tokio::test]
async fn routes_are_below_v1_of_any_url() {
    for (base, revision, path, version) in [
        ("", ProtocolVersion::V0_3, "/v1/tasks/t", "a2a-version: 0.3"),
        ("/", ProtocolVersion::V0_2, "/v1/tasks/t", "a2a-version: 0.3"),
        ("/agent/", ProtocolVersion::V0_3, "/agent/v1/tasks/t", "a2a-version: 0.3"),
        ("/api/v1", ProtocolVersion::V0_3, "/api/v1/v1/tasks/t", "a2a-version: 0.3"),
        ("/a?key=1", ProtocolVersion::V1Draft, "/a/v1/tasks/t?key=1", "a2a-version: 1.0"),
    ] {
        let task = json_answer(200, r#"{"id":"t","contextId":"c","status":{}}"#);
        let mut server = Canned::serve([task]).await;
        let agent = client(&format!("{}{base}", server.url), revision);
        agent.get_task(get_task()).await.unwrap();
        let (head, _) = server.request().await;
        assert!(head.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{head}");
        assert!(head.contains(version), "{head}");
    }
    let http = || HttpClient::new(ClientSettings::default()).unwrap();
    for (url, revision, kind) in [
        ("/v1", ProtocolVersion::V0_3, ErrorKind::InvalidParams),
        ("", ProtocolVersion::V1Draft, ErrorKind::InvalidParams),
        ("http://a.b", ProtocolVersion::V0_1, ErrorKind::VersionNotSupported),
        ("http://a.b", ProtocolVersion::V1_0, ErrorKind::VersionNotSupported),
    ] {
        assert_eq!(RestClient::new(url, revision, http()).unwrap_err().kind(), kind, "{url}");
    }
}

// Bodies of the official SDKs of 0.3.
#[tokio::test]
async fn calls_of_0_3_match_the_sdks_byte_by_byte() {
    let given = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELLED"},"kind":"task"}}"#;
    let (agent, mut server) = canned(ProtocolVersion::V0_3, [json_answer(201, given)]).await;
    let reply = agent.send_message(Call::new(send())).await.unwrap();
    let Some(send_message_response::Payload::Task(task)) = reply.response.payload else {
        panic!("a task was sent");
    };
    assert_eq!(task.state(), TaskState::Canceled);
    let (head, body) = server.request().await;
    assert!(head.starts_with("POST /v1/message:send HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    let message = json!({"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]});
    assert_eq!(body["message"], message);
    assert_eq!(body["configuration"]["blocking"], true);
}

#[tokio::test]
async fn stream_of_0_3_may_start_with_an_update_and_use_either_method() {
    let update = |state: &str, is_final: bool| {
        let update = json!({"statusUpdate": {
            "taskId": "t", "contextId": "c", "status": {"state": state}, "final": is_final,
        }});
        format!("data: {update}\n\n")
    };
    let body = update("TASK_STATE_WORKING", false) + &update("TASK_STATE_COMPLETED", true);
    let rejected = answer(405, "application/json", r#"{"detail":"Method Not Allowed"}"#);
    let task = |state: &str| {
        let task = json!({"id": "t", "contextId": "c", "status": {"state": state}});
        json_answer(200, &task.to_string())
    };
    let answers = [task("TASK_STATE_WORKING"), rejected, sse(&body), task("TASK_STATE_COMPLETED")];
    let (agent, mut server) = canned(ProtocolVersion::V0_3, answers).await;
    let reply = agent.subscribe_to_task(subscribe()).await.unwrap();
    let events = collect(reply.response).await;
    // Earlier events are only in the task.
    let (head, _) = server.request().await;
    assert!(head.starts_with("GET /v1/tasks/t "), "{head}");
    assert!(matches!(events[0].payload(), Some(Payload::Task(_))), "{events:?}");
    assert!(matches!(events[1].payload(), Some(Payload::StatusUpdate(_))), "{events:?}");
    for method in ["GET", "POST"] {
        let (head, _) = server.request().await;
        assert!(head.starts_with(&format!("{method} /v1/tasks/t:subscribe ")), "{head}");
    }
}

#[tokio::test]
async fn webhook_is_registered_in_the_format_that_the_agent_accepts() {
    let config = TaskPushNotificationConfig {
        task_id: "t".into(),
        id: "c".into(),
        url: "https://a.b".into(),
        ..Default::default()
    };
    let rejected = json_answer(400, r#"{"code":-32602,"message":"pushNotificationConfig?"}"#);
    let given = json!({
        "name": "tasks/t/pushNotificationConfigs/c",
        "pushNotificationConfig": {"id": "c", "url": "https://a.b"},
    });
    let answers = [rejected.clone(), json_answer(201, &given.to_string())];
    let (agent, mut server) = canned(ProtocolVersion::V0_3, answers).await;
    let call = || Call::new(config.clone());
    let reply = agent.create_task_push_notification_config(call()).await.unwrap();
    assert_eq!(reply.response, config);
    for place in ["/config/pushNotificationConfig/url", "/pushNotificationConfig/url"] {
        let (head, body) = server.request().await;
        assert!(head.starts_with("POST /v1/tasks/t/pushNotificationConfigs "), "{head}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body.pointer(place), Some(&json!("https://a.b")), "{body}");
    }

    // If both are rejected, the first error is returned.
    let answers = [rejected, json_answer(500, "{}")];
    let (agent, _server) = canned(ProtocolVersion::V0_3, answers).await;
    let error = agent.create_task_push_notification_config(call()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn empty_response_to_a_deletion_is_accepted() {
    let gone = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_owned();
    let (agent, _server) = canned(ProtocolVersion::V0_3, [gone]).await;
    let request = DeleteTaskPushNotificationConfigRequest {
        task_id: "t".into(),
        id: "c".into(),
        ..Default::default()
    };
    agent.delete_task_push_notification_config(Call::new(request)).await.unwrap();
}

#[tokio::test]
async fn malformed_responses_are_rejected() {
    for revision in REVISIONS {
        for body in ["", "7", "[]", "{", r#"{"status":{}}"#, "<h1>hello</h1>"] {
            let (agent, _server) = canned(revision, [json_answer(200, body)]).await;
            let error = agent.send_message(Call::new(send())).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{revision} {body:?}");
        }
    }
}
