//! HTTP+JSON of 0.3 and the draft of 1.0 below `/v1`, byte by byte.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use a2a_core::{AgentCard, Error, ErrorKind, Operation, TaskState};
use a2a_kit_compat::{ServerOptions, server};
use a2a_kit_http::{BindingOptions, Limits, WebhookPolicy, Webhooks};
use a2a_kit_operations::{Agent, Caller, Engine, agent_fn};
use axum::{Extension, Router};
use serde_json::{Value, json};

use fake::{Connection, Fake, Got, artifact, opening, serve, status, task};

const JSON: &str = "content-type: application/json";
const V1_0: &str = "a2a-version: 1.0";
const V0_3: &str = "a2a-version: 0.3";

const PROTO: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"}]}}"#;
const KIND: &str = r#"{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}"#;
const DRAFT: &str = r#"{"message":{"messageId":"m","role":"user","parts":[{"text":"hi"}]}}"#;
const CURRENT: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

/// Both routers on one port, as in a server.
fn both(agent: impl Agent + Clone, revisions: &str) -> Router {
    let options = ServerOptions::default().with_revisions(revisions.parse().unwrap());
    server::rest(agent.clone(), options)
        .merge(a2a_kit_rest::router_with(agent, BindingOptions::default()))
}

async fn connect(router: Router) -> Connection {
    Connection::open(&serve(router).await).await
}

fn read(got: &Got) -> Value {
    serde_json::from_str(&got.body).unwrap()
}

fn engine() -> Engine {
    let loopback = "127.0.0.1/8".parse().unwrap();
    let policy = WebhookPolicy::default().with_allowed(loopback).with_http(true);
    let card = AgentCard::new("Echo", "Says what it hears").with_extended_card(true);
    Engine::builder(card.clone(), agent_fn(async |text: String| format!("You said: {text}")))
        .extended_card(card)
        .push_sender(Webhooks::new(policy).unwrap())
        .build()
}

// covers: R-144, R-291, R-303
#[tokio::test]
async fn response_has_the_format_of_its_request() {
    let fake = Fake::new();
    let mut connection = connect(both(fake.clone(), "all")).await;
    let proto =
        r#"{"message":{"messageId":"m-1","role":"ROLE_AGENT","content":[{"text":"hello"}]}}"#;
    let draft = r#"{"message":{"messageId":"m-1","role":"agent","parts":[{"text":"hello"}]}}"#;
    for (path, headers, body, expected) in [
        ("/v1/message:send", vec![JSON], PROTO, proto),
        ("/v1/message:send", vec![JSON, V0_3], PROTO, proto),
        (
            "/v1/message:send",
            vec![JSON],
            r#"{"request":{"message_id":"m","role":"ROLE_USER","content":[{"text":"hi"}]}}"#,
            proto,
        ),
        (
            "/v1/message:send",
            vec![JSON],
            KIND,
            r#"{"message":{"kind":"message","messageId":"m-1","role":"agent","parts":[{"kind":"text","text":"hello"}]}}"#,
        ),
        ("/v1/message:send", vec![JSON], DRAFT, draft),
        ("/v1/message:send", vec![JSON, V1_0], DRAFT, draft),
        (
            "/message:send",
            vec![JSON, V1_0],
            CURRENT,
            r#"{"message":{"messageId":"m-1","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}"#,
        ),
    ] {
        let got = connection.ask(&format!("POST {path}"), &headers, body).await;
        assert_eq!(got.status, 200, "{body}: {got:?}");
        assert_eq!(read(&got), serde_json::from_str::<Value>(expected).unwrap(), "{body}");
        if path.starts_with("/v1") {
            assert_eq!(got.header("content-type"), Some("application/json"), "{body}");
        }
        let seen = fake.last().unwrap();
        assert_eq!(seen.operation, Operation::SendMessage);
        assert_eq!(seen.request["message"]["parts"][0]["text"], "hi", "{body}");
    }
}

#[tokio::test]
async fn only_the_draft_is_non_blocking_by_default() {
    let fake = Fake::new();
    let mut connection = connect(both(fake.clone(), "all")).await;
    for (body, immediately) in [
        (PROTO.to_owned(), false),
        (KIND.to_owned(), false),
        (DRAFT.to_owned(), true),
        (with_configuration(PROTO, r#"{"blocking":false}"#), true),
        (with_configuration(KIND, r#"{"blocking":false}"#), true),
        (with_configuration(DRAFT, r#"{"blocking":true}"#), false),
    ] {
        let got = connection.ask("POST /v1/message:send", &[JSON], &body).await;
        assert_eq!(got.status, 200, "{got:?}");
        let request = fake.last().unwrap().request;
        let immediate = &request["configuration"]["returnImmediately"];
        assert_eq!(immediate.as_bool().unwrap_or(false), immediately, "{body}");
    }
}

fn with_configuration(body: &str, configuration: &str) -> String {
    format!("{},\"configuration\":{configuration}}}", body.strip_suffix('}').unwrap())
}

// covers: R-462
#[tokio::test]
async fn routes_map_to_operations() {
    use Operation::{
        CancelTask, CreateTaskPushNotificationConfig, DeleteTaskPushNotificationConfig,
        GetExtendedAgentCard, GetTask, GetTaskPushNotificationConfig,
        ListTaskPushNotificationConfigs, ListTasks, SubscribeToTask,
    };
    let fake = Fake::new();
    let mut connection = connect(both(fake.clone(), "all")).await;
    let of_task = json!({"id": "t"});
    let of_config = json!({"taskId": "t", "id": "c"});
    for version in ["", V1_0] {
        let headers = if version.is_empty() { vec![JSON] } else { vec![JSON, version] };
        for (request, body, operation, members) in [
            (
                "GET /v1/tasks/t?historyLength=3",
                "",
                GetTask,
                json!({"id": "t", "historyLength": 3}),
            ),
            (
                "GET /v1/tasks/t?history_length=3",
                "",
                GetTask,
                json!({"id": "t", "historyLength": 3}),
            ),
            ("GET /v1/tasks/a%2Fb%3Acancel", "", GetTask, json!({"id": "a/b:cancel"})),
            ("POST /v1/tasks/t:cancel", "", CancelTask, of_task.clone()),
            ("POST /v1/tasks/t:cancel", r#"{"name":"tasks/t"}"#, CancelTask, of_task.clone()),
            (
                "POST /v1/tasks/t:cancel",
                r#"{"metadata":{"why":"not"}}"#,
                CancelTask,
                json!({"id": "t", "metadata": {"why": "not"}}),
            ),
            ("GET /v1/tasks/t:subscribe", "", SubscribeToTask, of_task.clone()),
            ("POST /v1/tasks/t:subscribe", "", SubscribeToTask, of_task.clone()),
            (
                "GET /v1/tasks?pageSize=7&contextId=c",
                "",
                ListTasks,
                json!({"pageSize": 7, "contextId": "c"}),
            ),
            (
                "GET /v1/tasks/t/pushNotificationConfigs/c",
                "",
                GetTaskPushNotificationConfig,
                of_config.clone(),
            ),
            (
                "GET /v1/tasks/t/pushNotificationConfigs",
                "",
                ListTaskPushNotificationConfigs,
                json!({"taskId": "t"}),
            ),
            (
                "DELETE /v1/tasks/t/pushNotificationConfigs/c",
                "",
                DeleteTaskPushNotificationConfig,
                of_config.clone(),
            ),
            ("GET /v1/card", "", GetExtendedAgentCard, json!({})),
            ("GET /v1/extendedAgentCard", "", GetExtendedAgentCard, json!({})),
            (
                "POST /v1/tasks/list",
                r#"{"status":"working","lastUpdatedAfter":1767323045678}"#,
                ListTasks,
                json!({
                    "status": "TASK_STATE_WORKING",
                    "statusTimestampAfter": "2026-01-02T03:04:05.678Z",
                }),
            ),
        ] {
            let got = connection.ask(request, &headers, body).await;
            assert_eq!(got.status, 200, "{request} {version}: {got:?}");
            let seen = fake.last().unwrap();
            assert_eq!(seen.operation, operation, "{request} {version}");
            for (name, value) in members.as_object().unwrap() {
                assert_eq!(seen.request.get(name), Some(value), "{request} {version}");
            }
        }
        for path in ["/v1/tasks/t/pushNotificationConfigs", "/v1/task/t/pushNotificationConfigs"] {
            for body in [
                r#"{"config":{"pushNotificationConfig":{"id":"c","url":"https://a.b"}}}"#,
                r#"{"config":{"id":"c","url":"https://a.b"}}"#,
                r#"{"id":"c","url":"https://a.b"}"#,
                r#"{"parent":"tasks/t","configId":"c","config":{"name":"tasks/t/pushNotificationConfigs/c","pushNotificationConfig":{"id":"c","url":"https://a.b"}}}"#,
                r#"{"name":"tasks/t/pushNotificationConfigs/c","pushNotificationConfig":{"id":"c","url":"https://a.b"}}"#,
            ] {
                let got = connection.ask(&format!("POST {path}"), &headers, body).await;
                assert_eq!(got.status, 200, "{version} {body}: {got:?}");
                let seen = fake.last().unwrap();
                assert_eq!(seen.operation, CreateTaskPushNotificationConfig);
                let members = ["taskId", "id", "url"].map(|name| seen.request[name].clone());
                assert_eq!(members, ["t", "c", "https://a.b"], "{version} {body}");
                let config = json!({
                    "name": "tasks/t/pushNotificationConfigs/c",
                    "pushNotificationConfig": {"id": "c", "url": "https://a.b"},
                });
                assert_eq!(read(&got), config, "{version} {body}");
            }
        }
    }
}

#[tokio::test]
async fn responses_without_a_message_have_the_format_of_their_revision() {
    let mut connection = connect(both(Fake::new(), "all")).await;
    let config = r#"{"name":"tasks/t/pushNotificationConfigs/c","pushNotificationConfig":{"id":"c","url":""}}"#;
    for (request, version, expected) in [
        (
            "GET /v1/tasks/t",
            V0_3,
            r#"{"id":"t","contextId":"c-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}"#,
        ),
        (
            "GET /v1/tasks/t",
            V1_0,
            r#"{"id":"t","contextId":"c-1","status":{"state":"working","timestamp":"2026-01-02T03:04:05.678Z"}}"#,
        ),
        ("GET /v1/tasks", V0_3, "[]"),
        ("GET /v1/tasks", V1_0, r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#),
        ("GET /v1/tasks/t/pushNotificationConfigs", V1_0, r#"{"configs":[],"nextPageToken":""}"#),
        ("GET /v1/tasks/t/pushNotificationConfigs/c", V1_0, config),
        ("DELETE /v1/tasks/t/pushNotificationConfigs/c", V0_3, "{}"),
        ("DELETE /v1/tasks/t/pushNotificationConfigs/c", V1_0, "{}"),
    ] {
        let got = connection.ask(request, &[version], "").await;
        assert_eq!(got.status, 200, "{request} {version}: {got:?}");
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(read(&got), expected, "{request} {version}");
    }
}

#[tokio::test]
async fn stream_events_have_no_envelope_and_end_with_the_final_one() {
    let events =
        || vec![Ok(opening(task("t-1"))), Ok(artifact("x")), Ok(status(TaskState::Completed))];
    let mut connection = connect(both(Fake::new().streaming(events), "all")).await;
    let proto = concat!(
        "id: 1\n",
        r#"data: {"task":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}}"#,
        "\n\nid: 2\n",
        r#"data: {"artifactUpdate":{"taskId":"t-1","contextId":"c-1","artifact":{"artifactId":"a-1","parts":[{"text":"x"}]},"append":true}}"#,
        "\n\nid: 3\n",
        r#"data: {"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"},"final":true}}"#,
        "\n\n",
    );
    let kind = concat!(
        "id: 1\n",
        r#"data: {"task":{"contextId":"c-1","id":"t-1","kind":"task","status":{"state":"working","timestamp":"2026-01-02T03:04:05.678Z"}}}"#,
        "\n\nid: 2\n",
        r#"data: {"artifactUpdate":{"append":true,"artifact":{"artifactId":"a-1","parts":[{"kind":"text","text":"x"}]},"contextId":"c-1","kind":"artifact-update","taskId":"t-1"}}"#,
        "\n\nid: 3\n",
        r#"data: {"statusUpdate":{"contextId":"c-1","final":true,"kind":"status-update","status":{"state":"completed"},"taskId":"t-1"}}"#,
        "\n\n",
    );
    let draft = concat!(
        "id: 1\n",
        r#"data: {"task":{"contextId":"c-1","id":"t-1","status":{"state":"working","timestamp":"2026-01-02T03:04:05.678Z"}}}"#,
        "\n\nid: 2\n",
        r#"data: {"artifactUpdate":{"append":true,"artifact":{"artifactId":"a-1","parts":[{"text":"x"}]},"contextId":"c-1","lastChunk":false,"taskId":"t-1"}}"#,
        "\n\nid: 3\n",
        r#"data: {"statusUpdate":{"contextId":"c-1","final":true,"status":{"state":"completed"},"taskId":"t-1"}}"#,
        "\n\n",
    );
    for (request, version, body, expected) in [
        ("POST /v1/message:stream", V0_3, PROTO, proto),
        ("POST /v1/message:stream", V0_3, KIND, kind),
        ("POST /v1/message:stream", V0_3, DRAFT, draft),
        ("GET /v1/tasks/t-1:subscribe", V1_0, "", draft),
    ] {
        let got = connection.ask(request, &[JSON, version], body).await;
        assert_eq!(got.status, 200, "{request} {body}: {got:?}");
        assert_eq!(got.header("content-type"), Some("text/event-stream"), "{request}");
        assert_eq!(data(&got.body), data(expected), "{request} {body}\n{}", got.body);
    }
}

/// The events of a stream, with their ids.
fn data(body: &str) -> Vec<(String, Value)> {
    let events = body.split("\n\n").filter(|event| !event.is_empty());
    let event = |event: &str| {
        let (id, data) = event.split_once("data: ").unwrap();
        (id.trim().to_owned(), serde_json::from_str(data).unwrap())
    };
    events.map(event).collect()
}

// covers: R-302, R-176
#[tokio::test]
async fn errors_have_status_and_body_of_their_revision() {
    for (kind, status, draft) in [
        (ErrorKind::TaskNotFound, 404, 404),
        (ErrorKind::TaskNotCancelable, 400, 409),
        (ErrorKind::PushNotificationNotSupported, 400, 400),
        (ErrorKind::UnsupportedOperation, 400, 400),
        (ErrorKind::ContentTypeNotSupported, 400, 415),
        (ErrorKind::InvalidAgentResponse, 500, 502),
        (ErrorKind::ExtendedAgentCardNotConfigured, 400, 400),
        (ErrorKind::Internal, 500, 500),
        (ErrorKind::InvalidParams, 400, 400),
        (ErrorKind::Unauthenticated, 401, 401),
        (ErrorKind::ResourceExhausted, 429, 429),
        (ErrorKind::Unavailable, 503, 503),
    ] {
        let fake =
            Fake::new().refusing(move || Error::new(kind, "no").with_metadata("taskId", "t"));
        let mut connection = connect(both(fake, "all")).await;
        let got = connection.ask("GET /v1/tasks/t", &[V0_3], "").await;
        assert_eq!(got.status, status, "{kind:?}");
        assert_eq!(got.header("content-type"), Some("application/json"), "{kind:?}");
        let body = read(&got);
        assert_eq!(body["code"], kind.codes().jsonrpc, "{kind:?}");
        assert!(body["message"].is_string(), "{kind:?}: {body}");
        if kind == ErrorKind::TaskNotCancelable {
            assert_eq!(
                body["type"], "TaskNotCancelableError",
                "for clients that only look at the type"
            );
        }
        let got = connection.ask("GET /v1/tasks/t", &[V1_0], "").await;
        assert_eq!(got.status, draft, "{kind:?}");
        assert_eq!(got.header("content-type"), Some("application/problem+json"), "{kind:?}");
        let body = read(&got);
        assert_eq!(body["status"], draft, "{kind:?}");
        assert!(body["title"].is_string() && body["detail"].is_string(), "{kind:?}: {body}");
        if kind == ErrorKind::TaskNotCancelable {
            let uri = "https://a2a-protocol.org/errors/task-not-cancelable";
            assert_eq!((&body["type"], &body["taskId"]), (&json!(uri), &json!("t")));
        }
        let challenged = got.header("www-authenticate").is_some();
        assert_eq!(challenged, kind == ErrorKind::Unauthenticated, "{kind:?}");
    }
}

#[tokio::test]
async fn malformed_request_is_rejected_in_its_detected_format() {
    let mut connection = connect(both(Fake::new(), "all")).await;
    let text = "content-type: text/plain";
    for (headers, body, status, code) in [
        (vec![JSON], "{", 400, json!(-32700)),
        (vec![JSON], "{}", 400, json!(-32602)),
        (vec![JSON], "", 400, json!(-32602)),
        (vec![JSON], r#"{"message":{"role":"ROLE_USER","content":7}}"#, 400, json!(-32602)),
        (vec![JSON], r#"{"message":{"kind":"message","parts":[]}}"#, 400, json!(-32602)),
        (vec![text], PROTO, 415, json!(-32005)),
        (vec![JSON, V1_0], "{", 400, Value::Null),
        (vec![JSON], r#"{"message":{"parts":[]}}"#, 400, Value::Null),
        (vec![JSON], r#"{"message":{"role":"user","parts":[{"text":1}]}}"#, 400, Value::Null),
    ] {
        let got = connection.ask("POST /v1/message:send", &headers, body).await;
        assert_eq!(got.status, status, "{body}: {got:?}");
        let answer = read(&got);
        assert_eq!(answer["code"], code, "{body}: {got:?}");
        let is_problem = got.header("content-type") == Some("application/problem+json");
        assert_eq!(is_problem, code.is_null(), "{body}: {got:?}");
    }
}

// covers: R-470
#[tokio::test]
async fn limits_and_callers_apply_to_every_format() {
    let fake = Fake::new();
    let limits = Limits::default().with_max_body_bytes(1 << 10);
    let options =
        ServerOptions::default().with_binding(BindingOptions::default().with_limits(limits));
    let router = server::rest(fake.clone(), options).layer(Extension(Caller::authenticated("ann")));
    let mut connection = connect(router).await;
    for body in [PROTO, KIND, DRAFT] {
        let got = connection.ask("POST /v1/message:send", &[JSON], body).await;
        assert_eq!(got.status, 200, "{body}: {got:?}");
        assert_eq!(fake.last().unwrap().context.caller, Caller::authenticated("ann"), "{body}");
        let large = format!("{body}{}", " ".repeat(2 << 10));
        let got = connection.ask("POST /v1/message:send", &[JSON], &large).await;
        assert_eq!(got.status, 413, "{body}: {got:?}");
        let wordless = body.replace("\"hi\"", "7");
        let got = connection.ask("POST /v1/message:send", &[JSON], &wordless).await;
        assert_eq!(got.status, 400, "{body}: {got:?}");
        assert!(fake.last().is_none(), "{body}");
    }
}

// covers: R-456
#[tokio::test]
async fn task_is_returned_in_the_revision_in_which_it_was_created() {
    let mut connection = connect(both(engine(), "all")).await;
    let draft = with_configuration(DRAFT, r#"{"blocking":true}"#);
    for (body, state, content) in [
        (PROTO, "TASK_STATE_COMPLETED", json!({"text": "You said: hi"})),
        (KIND, "TASK_STATE_COMPLETED", json!({"text": "You said: hi"})),
        (&draft, "completed", json!({"text": "You said: hi"})),
    ] {
        let got = connection.ask("POST /v1/message:send", &[JSON], body).await;
        assert_eq!(got.status, 200, "{body}: {got:?}");
        let id = read(&got)["task"]["id"].as_str().unwrap().to_owned();
        let got = connection.ask(&format!("GET /v1/tasks/{id}"), &[], "").await;
        let task = read(&got);
        assert_eq!(task["status"]["state"], state, "{body}: {got:?}");
        assert_eq!(task["artifacts"][0]["parts"][0], content, "{body}: {got:?}");

        // The same task in 1.0.
        let got = connection.ask(&format!("GET /tasks/{id}"), &[V1_0], "").await;
        assert_eq!(read(&got)["status"]["state"], "TASK_STATE_COMPLETED", "{body}");

        // The task has ended and accepts no further messages.
        let more =
            body.replace(r#""messageId":"m""#, &format!(r#""messageId":"n","taskId":"{id}""#));
        let got = connection.ask("POST /v1/message:send", &[JSON], &more).await;
        assert_eq!(got.status, 400, "{got:?}");
        let rejected = read(&got);
        match state {
            "completed" => {
                let uri = "https://a2a-protocol.org/errors/unsupported-operation";
                assert_eq!(rejected["type"], uri, "{got:?}");
            }
            _ => assert_eq!(rejected["code"], -32004, "{got:?}"),
        }

        // Late subscribers get the ended task in 0.3, and an error in the draft.
        let got = connection.ask(&format!("GET /v1/tasks/{id}:subscribe"), &[], "").await;
        if state == "completed" {
            assert_eq!(got.status, 400, "{got:?}");
            assert_eq!(got.header("content-type"), Some("application/problem+json"));
        } else {
            let events = data(&got.body);
            let [(_, task), (_, update)] = &events[..] else { panic!("{}", got.body) };
            assert_eq!(task["task"]["id"], id);
            assert_eq!(update["statusUpdate"]["final"], true, "{update}");
        }
        let got = connection.ask(&format!("POST /v1/tasks/{id}:cancel"), &[], "").await;
        assert_eq!(got.status, if state == "completed" { 409 } else { 400 }, "{got:?}");
    }
    let got = connection.ask("GET /v1/tasks/nobody", &[], "").await;
    assert_eq!((got.status, &read(&got)["code"]), (404, &json!(-32001)));
}

#[tokio::test]
async fn webhooks_are_stored_and_listed() {
    let mut connection = connect(both(engine(), "all")).await;
    let got = connection.ask("POST /v1/message:send", &[JSON], PROTO).await;
    let id = read(&got)["task"]["id"].as_str().unwrap().to_owned();
    let configs = format!("/v1/tasks/{id}/pushNotificationConfigs");
    let body = r#"{"config":{"id":"c","url":"http://127.0.0.1:9/hook","token":"secret"}}"#;
    let got = connection.ask(&format!("POST {configs}"), &[JSON], body).await;
    assert_eq!(got.status, 200, "{got:?}");
    let mut config = read(&got);
    assert_eq!(config["name"], format!("tasks/{id}/pushNotificationConfigs/c"));
    // Credentials are not returned.
    config["pushNotificationConfig"].as_object_mut().unwrap().remove("token");
    let got = connection.ask(&format!("GET {configs}/c"), &[], "").await;
    assert_eq!(read(&got), config);
    let got = connection.ask(&format!("GET {configs}"), &[], "").await;
    assert_eq!(read(&got)["configs"], json!([config]));
    let got = connection.ask(&format!("DELETE {configs}/c"), &[], "").await;
    assert_eq!(got.status, 200, "{got:?}");
    let got = connection.ask(&format!("GET {configs}"), &[], "").await;
    assert_eq!(read(&got).get("configs").unwrap_or(&json!([])), &json!([]));
}

#[tokio::test]
async fn empty_webhook_authentication_is_treated_as_none() {
    let mut connection = connect(both(engine(), "all")).await;
    let got = connection.ask("POST /v1/message:send", &[JSON], PROTO).await;
    let id = read(&got)["task"]["id"].as_str().unwrap().to_owned();
    let configs = format!("/v1/tasks/{id}/pushNotificationConfigs");
    for authentication in
        [json!({}), json!({"schemes": []}), json!({"schemes": [], "credentials": ""})]
    {
        let webhook =
            json!({"id": "c", "url": "http://127.0.0.1:9/hook", "authentication": authentication});
        for body in [
            json!({"config": webhook}),
            webhook.clone(),
            json!({"configId": "c", "config": {"pushNotificationConfig": webhook}}),
        ] {
            let got = connection.ask(&format!("POST {configs}"), &[JSON], &body.to_string()).await;
            assert_eq!(got.status, 200, "{body}: {got:?}");
            let kept = &read(&got)["pushNotificationConfig"];
            assert_eq!(kept.get("authentication"), None, "{body}: {got:?}");
        }
        let configuration = json!({"pushNotification": webhook, "blocking": true}).to_string();
        let body = with_configuration(PROTO, &configuration);
        let got = connection.ask("POST /v1/message:send", &[JSON], &body).await;
        assert_eq!(got.status, 200, "{body}: {got:?}");
        let configuration = json!({"pushNotificationConfig": webhook}).to_string();
        let body = with_configuration(KIND, &configuration);
        let got = connection.ask("POST /v1/message:send", &[JSON], &body).await;
        assert_eq!(got.status, 200, "{body}: {got:?}");
    }
}

#[tokio::test]
async fn missing_message_member_is_named_in_both_formats_of_0_3() {
    let mut connection = connect(both(Fake::new(), "all")).await;
    for (shape, members) in [
        (PROTO, [("messageId", "messageId"), ("role", "role"), ("content", "parts")]),
        (KIND, [("messageId", "messageId"), ("role", "role"), ("parts", "parts")]),
    ] {
        for (member, named) in members {
            let mut body: Value = serde_json::from_str(shape).unwrap();
            body["message"].as_object_mut().unwrap().remove(member);
            // Without format markers, the version determines the revision.
            let headers = [JSON, V0_3];
            for path in ["/v1/message:send", "/v1/message:stream"] {
                let got =
                    connection.ask(&format!("POST {path}"), &headers, &body.to_string()).await;
                assert_eq!(got.status, 400, "{body}: {got:?}");
                let answer = read(&got);
                assert_eq!(answer["code"], -32602, "{body}: {got:?}");
                let message = answer["message"].as_str().unwrap();
                assert!(message.contains(&format!("message.{named}")), "{body}: {message}");
            }
        }
    }
}

#[tokio::test]
async fn card_is_readable_in_both_formats_of_0_3() {
    let mut connection = connect(both(engine(), "all")).await;
    for path in ["/v1/card", "/v1/extendedAgentCard"] {
        let got = connection.ask(&format!("GET {path}"), &[], "").await;
        assert_eq!(got.status, 200, "{got:?}");
        let card = read(&got);
        assert_eq!(card["name"], "Echo");
        assert_eq!(card["supportsAuthenticatedExtendedCard"], true, "{path}: {card}");
    }
}

// covers: R-012, R-469
#[tokio::test]
async fn disabled_revisions_are_rejected_as_in_1_0() {
    for (revisions, request, body, status) in [
        ("1.0,draft", "POST /v1/message:send", PROTO, 400),
        ("1.0,draft", "POST /v1/message:send", KIND, 400),
        ("1.0,0.3", "POST /v1/message:send", DRAFT, 400),
        ("1.0", "POST /v1/message:send", DRAFT, 400),
        ("1.0,draft", "GET /v1/card", "", 404),
        ("1.0,0.1", "GET /v1/card", "", 404),
        ("1.0,draft", "GET /v1/tasks/t", "", 400),
    ] {
        let mut connection = connect(both(Fake::new(), revisions)).await;
        let got = connection.ask(request, &[JSON], body).await;
        assert_eq!(got.status, status, "{revisions} {request}: {got:?}");
        let body = read(&got);
        let reason = &body["error"]["details"][0]["reason"];
        let expected = if status == 400 { "VERSION_NOT_SUPPORTED" } else { "METHOD_NOT_FOUND" };
        assert_eq!(reason, expected, "{revisions} {request}: {got:?}");
    }
    // `v1` is then a tenant of 1.0.
    let fake = Fake::new();
    let mut connection = connect(both(fake.clone(), "1.0,0.3")).await;
    let got = connection.ask("GET /v1/tasks/t", &[V1_0], "").await;
    assert_eq!(got.status, 200, "{got:?}");
    assert_eq!(fake.last().unwrap().request["tenant"], "v1");
}

#[tokio::test]
async fn unknown_routes_are_rejected_as_in_1_0() {
    let mut connection = connect(both(Fake::new(), "all")).await;
    for (request, status) in [
        ("GET /v1/message:send", 405),
        ("PUT /v1/tasks/t", 405),
        ("GET /v1/nothing", 404),
        ("POST /v1/card", 404),
    ] {
        let got = connection.ask(request, &[V1_0], "").await;
        assert_eq!(got.status, status, "{request}: {got:?}");
        assert_eq!(read(&got)["error"]["code"], status, "{request}: {got:?}");
    }
}

#[tokio::test]
async fn extensions_header_depends_on_the_revision() {
    let fake = Fake::new();
    let mut connection = connect(both(fake.clone(), "all")).await;
    for (body, sent, answered) in [
        (PROTO, "x-a2a-extensions: urn:a", "x-a2a-extensions"),
        (DRAFT, "a2a-extensions: urn:a", "a2a-extensions"),
    ] {
        let got = connection.ask("POST /v1/message:send", &[JSON, sent], body).await;
        assert_eq!(got.header(answered), Some("urn:a"), "{got:?}");
        assert!(fake.last().unwrap().context.extensions.contains("urn:a"));
    }
}
