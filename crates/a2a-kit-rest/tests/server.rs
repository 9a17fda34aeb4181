//! Responses of the server, byte by byte.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use a2a_core::{Error, Operation, ROUTES};
use a2a_kit_rest::{BindingOptions, Limits, VersionPolicy, router, router_with};
use axum::Router;
use serde_json::json;

use fake::{Connection, Endpoint, Fake, Got, same_as_file, serve};

const VERSION: &str = "a2a-version: 1.0";
const JSON: &str = "content-type: application/json";

async fn connect(router: Router) -> Connection {
    Connection::open(&serve(router).await).await
}

async fn ask(connection: &mut Connection, request: &str, body: &str) -> Got {
    connection.ask(request, &[VERSION, JSON], body).await
}

const SEND: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
const CONFIG: &str = r#"{"url":"https://example.com"}"#;

/// A valid body for the operation.
fn body(operation: Operation) -> &'static str {
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => SEND,
        Operation::CreateTaskPushNotificationConfig => CONFIG,
        _ => "",
    }
}

fn endpoint<'a>(request: &'a str, body: &'a str) -> Endpoint<'a> {
    Endpoint { router: |fake| router(fake), request, body }
}

// covers: R-293
#[tokio::test]
async fn routes_of_the_descriptor_are_served() {
    let fake = Fake::new();
    let mut connection = connect(router(fake.clone())).await;
    for route in ROUTES {
        let path = route.path.replace("{tenant}", "x").replace('{', "a-").replace('}', "");
        let request = format!("{} {path}", route.method);
        let got = ask(&mut connection, &request, body(route.operation)).await;
        assert_eq!(got.status, 200, "{request}: {got:?}");
        let seen = fake.last().unwrap();
        assert_eq!(seen.operation, route.operation, "{request}");
        let tenant = route.path.starts_with("/{tenant}").then_some("x");
        assert_eq!(seen.request.get("tenant").and_then(|t| t.as_str()), tenant, "{request}");
    }
    for path in ["/tasks/t:subscribe", "/x/tasks/t:subscribe"] {
        let got = ask(&mut connection, &format!("POST {path}"), "").await;
        assert_eq!((got.status, got.header("content-type")), (200, Some("text/event-stream")));
        assert_eq!(fake.last().unwrap().operation, Operation::SubscribeToTask);
    }
}

// covers: R-300
#[tokio::test]
async fn responses_of_operations() {
    let mut connection = connect(router(Fake::new())).await;
    let task = r#"{"id":"t","contextId":"c-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}"#;
    for (request, body, expected) in [
        (
            "POST /message:send",
            SEND,
            r#"{"message":{"messageId":"m-1","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}"#,
        ),
        ("GET /tasks/t", "", task),
        ("GET /tasks", "", r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#),
        ("POST /tasks/t:cancel", "", task),
        ("POST /tasks/t:cancel", "{}", task),
        (
            "POST /tasks/t/pushNotificationConfigs",
            CONFIG,
            r#"{"taskId":"t","url":"https://example.com"}"#,
        ),
        ("GET /tasks/t/pushNotificationConfigs/p", "", r#"{"id":"p","taskId":"t","url":""}"#),
        ("GET /tasks/t/pushNotificationConfigs", "", "{}"),
        ("DELETE /tasks/t/pushNotificationConfigs/p", "", "{}"),
    ] {
        let got = ask(&mut connection, request, body).await;
        assert_eq!((got.status, &*got.body), (200, expected), "{request}");
        assert_eq!(got.header("content-type"), Some("application/a2a+json"), "{request}");
    }
}

// covers: R-155, R-169, R-170, R-171, R-172, R-173
#[tokio::test]
async fn error_kinds_have_status_and_details() {
    let shown = endpoint("GET /tasks/t-1", "").errors_of_all_kinds().await;
    same_as_file(fixture!("errors.txt"), &shown);
}

// covers: R-142, R-143, R-162, R-163, R-297
#[tokio::test]
async fn invalid_requests_are_rejected_and_the_connection_remains_usable() {
    let options =
        BindingOptions::default().with_limits(Limits::default().with_max_body_bytes(64 << 10));
    let mut connection = connect(router_with(Fake::new(), options)).await;
    let mut shown = String::new();
    let deep = format!(r#"{{"metadata":{{"x":{}1{}}}}}"#, "[".repeat(200), "]".repeat(200));
    let large = format!(r#"{{"metadata":{{"x":"{}"}}}}"#, "x".repeat(1 << 20));
    for (name, request, headers, body) in [
        ("unknown path", "GET /task/t", vec![VERSION], ""),
        ("the root", "GET /", vec![VERSION], ""),
        ("unknown path with a body", "POST /a/b/c/d/e/f", vec![VERSION, JSON], "{}"),
        ("wrong method", "PUT /tasks/t", vec![VERSION, JSON], "{}"),
        ("wrong method for a verb", "GET /tasks/t:cancel", vec![VERSION], ""),
        ("two methods for a path", "DELETE /tasks/t:subscribe", vec![VERSION], ""),
        ("unknown verb", "POST /tasks/t:pause", vec![VERSION], ""),
        ("not UTF-8", "GET /tasks/%FF", vec![VERSION], ""),
        ("not JSON", "POST /message:send", vec![VERSION, JSON], "{\"message\":"),
        ("empty", "POST /message:send", vec![VERSION, JSON], ""),
        ("an array", "POST /message:send", vec![VERSION, JSON], "[]"),
        (
            "members of wrong types",
            "POST /message:send",
            vec![VERSION, JSON],
            r#"{"message":{"parts":[{"text":7}]}}"#,
        ),
        (
            "rules broken",
            "POST /message:send",
            vec![VERSION, JSON],
            r#"{"message":{"role":"ROLE_ROBOT","parts":[{}]}}"#,
        ),
        ("nested too deep", "POST /message:send", vec![VERSION, JSON], &deep),
        ("no version", "GET /tasks/t", vec![], ""),
        ("older version", "GET /tasks/t", vec!["a2a-version: 0.3"], ""),
        (
            "no JSON by its type",
            "POST /message:send",
            vec![VERSION, "content-type: text/plain"],
            SEND,
        ),
        ("too large", "POST /tasks/t:cancel", vec![VERSION, JSON], &large),
        ("wrong form in the query", "GET /tasks?pageSize=ten", vec![VERSION], ""),
        ("unknown enum value in the query", "GET /tasks?status=WORKING", vec![VERSION], ""),
        ("twice in the query", "GET /tasks?pageSize=1&page_size=1", vec![VERSION], ""),
        ("nested in the query", "GET /tasks?a.b=1", vec![VERSION], ""),
        ("two tenants", "GET /x/tasks?tenant=y", vec![VERSION], ""),
        ("two ids", "POST /tasks/t:cancel", vec![VERSION, JSON], r#"{"id":"other"}"#),
        (
            "two task ids",
            "POST /tasks/t/pushNotificationConfigs",
            vec![VERSION, JSON],
            r#"{"taskId":"other"}"#,
        ),
    ] {
        let got = connection.ask(request, &headers, body).await;
        shown.push_str(&format!("== {name}\n{}\n", got.shown()));
        // The connection must remain usable.
        let next = ask(&mut connection, "GET /tasks/t", "").await;
        assert!(next.body.starts_with("{\"id\":\"t\""), "after {name}: {next:?}");
    }
    same_as_file(fixture!("refusals.txt"), &shown);
}

// covers: R-295, R-300
#[tokio::test]
async fn request_is_assembled_from_path_query_and_body() {
    let fake = Fake::new();
    let mut connection = connect(router(fake.clone())).await;
    for (request, body, expected) in [
        ("GET /tasks/a%2Fb%20c?historyLength=0", "", json!({"id": "a/b c", "historyLength": 0})),
        ("GET /tasks/t?history_length=3&foo=1", "", json!({"id": "t", "historyLength": 3})),
        ("GET /tasks/t?id=t&tenant=x", "", json!({"id": "t", "tenant": "x"})),
        ("GET /x/tasks?tenant=x", "", json!({"tenant": "x"})),
        (
            "GET /tasks?contextId=c&status=TASK_STATE_WORKING&pageSize=5&pageToken=p&includeArtifacts=true&lastUpdatedAfter=2026-01-02T03:04:05Z",
            "",
            json!({"contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": 5,
                "pageToken": "p", "includeArtifacts": true,
                "statusTimestampAfter": "2026-01-02T03:04:05.000Z"}),
        ),
        (
            "POST /tasks/t:cancel?tenant=x",
            r#"{"metadata":{"a":1}}"#,
            json!({"id": "t", "tenant": "x", "metadata": {"a": 1}}),
        ),
        (
            "POST /x/tasks/t:cancel?tenant=x",
            r#"{"tenant":"x","id":"t"}"#,
            json!({"id": "t", "tenant": "x"}),
        ),
        (
            "POST /tasks/t/pushNotificationConfigs",
            r#"{"task_id":"t","url":"u","id":"p"}"#,
            json!({"id": "p", "taskId": "t", "url": "u"}),
        ),
        (
            "GET /tasks/t/pushNotificationConfigs?pageSize=2&page_token=p",
            "",
            json!({"taskId": "t", "pageSize": 2, "pageToken": "p"}),
        ),
        ("GET /tasks/tasks", "", json!({"id": "tasks"})),
        ("GET /tasks/t%3Acancel", "", json!({"id": "t:cancel"})),
    ] {
        let got = ask(&mut connection, request, body).await;
        assert_eq!(got.status, 200, "{request}: {got:?}");
        assert_eq!(fake.last().unwrap().request, expected, "{request}");
    }
}

// covers: R-292
#[tokio::test]
async fn response_content_type_is_negotiated() {
    let mut connection = connect(router(Fake::new())).await;
    for (accept, expected) in [
        ("accept: application/a2a+json", "application/a2a+json"),
        ("accept: */*", "application/a2a+json"),
        ("accept: application/json", "application/json"),
        ("accept: text/event-stream", "application/json"),
    ] {
        for (path, status) in [("/tasks/t", 200), ("/nothing", 404), ("/tasks?pageSize=x", 400)] {
            let got = connection.ask(&format!("GET {path}"), &[VERSION, accept], "").await;
            assert_eq!(
                (got.status, got.header("content-type")),
                (status, Some(expected)),
                "{accept} {path}"
            );
        }
    }
}

// covers: R-301
#[tokio::test]
async fn stream_has_one_frame_per_event() {
    for (request, body) in [
        ("POST /message:stream", SEND),
        ("GET /tasks/t-1:subscribe", ""),
        ("POST /tasks/t-1:subscribe", ""),
    ] {
        same_as_file(fixture!("stream.txt"), &endpoint(request, body).stream_of_events().await);
    }
}

#[tokio::test]
async fn failed_stream_ends_with_an_error_event() {
    let body = endpoint("POST /message:stream", SEND).failed_stream().await;
    same_as_file(fixture!("stream_error.txt"), &body);
}

#[tokio::test]
async fn rejected_stream_is_a_plain_response() {
    let refusing = Fake::new().refusing(|| Error::task_not_found("t"));
    let got = endpoint("POST /tasks/t:subscribe", "").answer(refusing).await;
    assert_eq!((got.status, got.header("content-type")), (404, Some("application/a2a+json")));
    assert!(got.body.starts_with(r#"{"error":{"code":404,"status":"NOT_FOUND","#), "{got:?}");
}

// covers: R-134, R-150
#[tokio::test]
async fn service_parameters_reach_the_agent() {
    endpoint("POST /tasks/t:subscribe", "{}").service_parameters_reach_the_agent().await;
}

// covers: R-140
#[tokio::test]
async fn version_is_read_from_the_query_or_optional() {
    let mut strict = connect(router(Fake::new())).await;
    for request in ["GET /tasks/t?A2A-Version=1.0", "POST /tasks/t:cancel?a2a-version=1.0"] {
        assert_eq!(strict.ask(request, &[], "").await.status, 200, "{request}");
    }
    let options = BindingOptions::default().with_version_policy(VersionPolicy::Lenient);
    let mut lenient = connect(router_with(Fake::new(), options)).await;
    assert_eq!(lenient.ask("GET /tasks/t", &[], "").await.status, 200);
}

#[tokio::test]
async fn router_works_under_a_prefix() {
    let nested = Router::new().nest("/a/b", router(Fake::new()));
    let mut connection = connect(nested).await;
    for (request, status) in [
        ("GET /a/b/tasks/t", 200),
        ("GET /a/b/x/tasks", 200),
        ("POST /a/b/tasks/t:cancel", 200),
        ("GET /a/b/tasks/t:cancel", 405),
        ("GET /a/b/nothing", 404),
    ] {
        let got = ask(&mut connection, request, "").await;
        assert_eq!(got.status, status, "{request}");
        assert!(status == 200 || got.body.starts_with("{\"error\":"), "{request}: {got:?}");
    }
}

// covers: R-158, R-166, R-167
#[tokio::test]
async fn errors_have_challenge_and_retry_after() {
    endpoint("GET /tasks/t", "").errors_have_challenge_and_retry_after().await;
}
