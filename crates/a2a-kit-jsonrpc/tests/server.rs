//! Responses of the server, byte by byte.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use a2a_core::{Error, Operation, TaskState, Violation};
use a2a_kit_http::{Limits, VersionPolicy};
use a2a_kit_jsonrpc::{BindingOptions, router, router_with};
use axum::Router;

use fake::{Connection, Endpoint, Fake, Got, same_as_file, serve, status};

const VERSION: &str = "a2a-version: 1.0";
const JSON: &str = "content-type: application/json";

async fn connect(router: Router) -> Connection {
    Connection::open(&serve(router).await).await
}

async fn post(connection: &mut Connection, body: &str) -> Got {
    connection.ask("POST /", &[VERSION, JSON], body).await
}

fn call(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

const SEND: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

fn endpoint(body: &str) -> Endpoint<'_> {
    Endpoint { router: |fake| router(fake), request: "POST /", body }
}

// covers: R-155, R-169, R-170, R-171, R-172, R-174, R-279
#[tokio::test]
async fn error_kinds_have_code_status_and_details() {
    let body = call("7", "GetTask", r#"{"id":"t-1"}"#);
    same_as_file(fixture!("errors.txt"), &endpoint(&body).errors_of_all_kinds().await);
}

// covers: R-142, R-143, R-162, R-163, R-175, R-276, R-280, R-281, R-284
#[tokio::test]
async fn invalid_requests_are_rejected_and_the_connection_remains_usable() {
    let options =
        BindingOptions::default().with_limits(Limits::default().with_max_body_bytes(64 << 10));
    let mut connection = connect(router_with(Fake::new(), options)).await;
    let mut shown = String::new();
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let large = call("7", "GetTask", &format!(r#"{{"id":"{}"}}"#, "x".repeat(1 << 20)));
    let get_task = call("7", "GetTask", r#"{"id":"t"}"#);
    for (name, request, headers, body) in [
        ("not JSON", "POST /", vec![VERSION, JSON], "{\"jsonrpc\":"),
        ("empty", "POST /", vec![VERSION, JSON], ""),
        ("batch", "POST /", vec![VERSION, JSON], "[{}]"),
        ("no object", "POST /", vec![VERSION, JSON], "7"),
        ("no id", "POST /", vec![VERSION, JSON], r#"{"jsonrpc":"2.0","method":"GetTask"}"#),
        ("wrong jsonrpc", "POST /", vec![VERSION, JSON], r#"{"jsonrpc":"1.0","id":"a"}"#),
        ("unknown method", "POST /", vec![VERSION, JSON], &call("7", "tasks/get", "{}")),
        (
            "params missing",
            "POST /",
            vec![VERSION, JSON],
            r#"{"jsonrpc":"2.0","id":7,"method":"GetTask"}"#,
        ),
        ("params of a wrong type", "POST /", vec![VERSION, JSON], &call("7", "GetTask", "[1]")),
        (
            "members of wrong types",
            "POST /",
            vec![VERSION, JSON],
            &call("7", "SendMessage", r#"{"message":{"parts":[{"text":7}]}}"#),
        ),
        (
            "rules broken",
            "POST /",
            vec![VERSION, JSON],
            &call("7", "SendMessage", r#"{"message":{"role":"ROLE_ROBOT","parts":[{}]}}"#),
        ),
        (
            "unknown enum value",
            "POST /",
            vec![VERSION, JSON],
            &call("7", "ListTasks", r#"{"status":"WORKING"}"#),
        ),
        (
            "nested too deep",
            "POST /",
            vec![VERSION, JSON],
            &call("7", "SendMessage", &format!(r#"{{"metadata":{{"x":{deep}}}}}"#)),
        ),
        ("no version", "POST /", vec![JSON], &get_task),
        ("older version", "POST /", vec!["a2a-version: 0.3", JSON], &get_task),
        ("no JSON by its type", "POST /", vec![VERSION, "content-type: text/plain"], &get_task),
        ("too large", "POST /", vec![VERSION, JSON], &large),
        ("GET", "GET /", vec![VERSION], ""),
        ("DELETE", "DELETE /", vec![], "{}"),
    ] {
        let got = connection.ask(request, &headers, body).await;
        shown.push_str(&format!("== {name}\n{}\n", got.shown()));
        // The connection must remain usable.
        let next = post(&mut connection, &get_task).await;
        assert!(next.body.contains("\"result\":{\"id\":\"t\""), "after {name}: {next:?}");
    }
    same_as_file(fixture!("refusals.txt"), &shown);
}

// covers: R-281
#[tokio::test]
async fn response_has_the_id_of_the_request() {
    let mut connection = connect(router(Fake::new())).await;
    for id in ["1", "-1.50", "null", r#""a\u0062\n""#, "12345678901234567890123"] {
        let got = post(&mut connection, &call(id, "GetTask", r#"{"id":"t"}"#)).await;
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"id":"t","#);
        assert!(got.body.starts_with(&start), "{id}: {}", got.body);
        let got = post(&mut connection, &call(id, "SendStreamingMessage", SEND)).await;
        let start = format!("id: 1\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":");
        assert!(got.body.starts_with(&start), "{id}: {}", got.body);
    }
}

// covers: R-274, R-276, R-278, R-283
#[tokio::test]
async fn responses_of_operations() {
    let mut connection = connect(router(Fake::new())).await;
    let task = r#"{"id":"t","contextId":"c-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}"#;
    let config = r#"{"taskId":"t","url":"https://example.com"}"#;
    for (operation, params, result) in [
        (
            Operation::SendMessage,
            SEND,
            r#"{"message":{"messageId":"m-1","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}"#,
        ),
        (Operation::GetTask, r#"{"id":"t"}"#, task),
        (
            Operation::ListTasks,
            "{}",
            r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#,
        ),
        (Operation::CancelTask, r#"{"id":"t"}"#, task),
        (Operation::CreateTaskPushNotificationConfig, config, config),
        (
            Operation::GetTaskPushNotificationConfig,
            r#"{"taskId":"t","id":"p"}"#,
            r#"{"id":"p","taskId":"t","url":""}"#,
        ),
        (Operation::ListTaskPushNotificationConfigs, r#"{"taskId":"t"}"#, "{}"),
        (Operation::DeleteTaskPushNotificationConfig, r#"{"taskId":"t","id":"p"}"#, "{}"),
    ] {
        let got = post(&mut connection, &call("1", operation.name(), params)).await;
        let expected = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        assert_eq!((got.status, &*got.body), (200, &*expected), "{operation:?}");
        assert_eq!(got.header("content-type"), Some("application/json"), "{operation:?}");
    }
    let without_params = r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#;
    let got = post(&mut connection, without_params).await;
    assert!(got.body.starts_with(r#"{"jsonrpc":"2.0","id":1,"result":{"name":"Fake","#));
}

// covers: R-277, R-278
#[tokio::test]
async fn stream_has_one_frame_per_event() {
    for (method, params) in [("SendStreamingMessage", SEND), ("SubscribeToTask", r#"{"id":"t-1"}"#)]
    {
        let body = call("\"r\"", method, params);
        same_as_file(fixture!("stream.txt"), &endpoint(&body).stream_of_events().await);
    }
}

#[tokio::test]
async fn failed_stream_ends_with_an_error_event() {
    let body = call("1", "SendStreamingMessage", SEND);
    same_as_file(fixture!("stream_error.txt"), &endpoint(&body).failed_stream().await);

    let cut = Fake::new().streaming(|| vec![Ok(status(TaskState::Working))]);
    let got = endpoint(&body).answer(cut).await;
    assert!(got.body.contains("event: error\ndata: "), "{}", got.body);
    assert!(got.body.contains("\"reason\":\"UNAVAILABLE\""), "{}", got.body);
}

#[tokio::test]
async fn rejected_stream_is_a_plain_response() {
    let body = call("1", "SubscribeToTask", r#"{"id":"t"}"#);
    let got = endpoint(&body).answer(Fake::new().refusing(|| Error::task_not_found("t"))).await;
    assert_eq!((got.status, got.header("content-type")), (200, Some("application/json")));
    assert!(got.body.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"#));
}

// covers: R-134, R-150
#[tokio::test]
async fn service_parameters_reach_the_agent() {
    let body = call("1", "SubscribeToTask", r#"{"id":"t","tenant":"x"}"#);
    let seen = endpoint(&body).service_parameters_reach_the_agent().await;
    assert_eq!(seen.request, serde_json::json!({"tenant": "x", "id": "t"}));
}

// covers: R-140
#[tokio::test]
async fn version_is_read_from_the_query_or_optional() {
    let body = call("1", "GetTask", r#"{"id":"t"}"#);
    let mut strict = connect(router(Fake::new())).await;
    let got = strict.ask("POST /?A2A-Version=1.0", &[], &body).await;
    assert!(got.body.contains("\"result\""), "{got:?}");
    let options = BindingOptions::default().with_version_policy(VersionPolicy::Lenient);
    let mut lenient = connect(router_with(Fake::new(), options)).await;
    assert!(lenient.ask("POST /", &[], &body).await.body.contains("\"result\""));
}

#[tokio::test]
async fn router_works_under_a_prefix() {
    let nested =
        Router::new().nest("/a/b", router(Fake::new())).nest_service("/rpc", router(Fake::new()));
    let mut connection = connect(nested).await;
    for path in ["/a/b", "/rpc", "/rpc/"] {
        let body = call("1", "GetTask", r#"{"id":"t"}"#);
        let got = connection.ask(&format!("POST {path}"), &[VERSION], &body).await;
        assert!(got.body.contains("\"result\""), "{path}: {got:?}");
    }
}

// covers: R-158, R-163, R-166, R-167
#[tokio::test]
async fn errors_have_challenge_and_retry_after() {
    let body = call("1", "GetTask", r#"{"id":"t"}"#);
    endpoint(&body).errors_have_challenge_and_retry_after().await;

    let picky = Fake::new().refusing(|| {
        Error::from_violations(vec![Violation::new("message.parts[1].url", "is bad")])
    });
    let got = endpoint(&body).answer(picky).await;
    assert!(got.body.contains(
        r#"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.parts[1].url","description":"is bad"}]}"#
    ));
}
