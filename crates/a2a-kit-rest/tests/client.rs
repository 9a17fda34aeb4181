//! What the client sends, and how it reads responses of deployed servers.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use a2a_core::{
    ErrorKind,
    v1::{DeleteTaskPushNotificationConfigRequest, GetTaskRequest, TaskPushNotificationConfig},
};
use a2a_kit_operations::{Agent, Call};
use a2a_kit_rest::{Client, router};

use fake::{Canned, DONE, Remote, answer, collect, json, send, sse, subscribe};

const NOT_FOUND: &str = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"no such task","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#;

const REMOTE: Remote = Remote {
    connect: |url| Box::new(Client::new(url).unwrap()),
    router: |fake| router(fake),
    result: str::to_owned,
    not_found: NOT_FOUND,
};

async fn client(answers: impl IntoIterator<Item = String>) -> (Box<dyn Agent>, Canned) {
    REMOTE.client(answers).await
}

// covers: R-138, R-139, R-150, R-294
#[tokio::test]
async fn operations_arrive_unchanged() {
    REMOTE.operations_arrive_unchanged().await;
}

#[tokio::test]
async fn error_kinds_round_trip() {
    REMOTE.error_kinds_round_trip().await;
}

// covers: R-137, R-139, R-149, R-292
#[tokio::test]
async fn a_call_has_these_bytes() {
    let (client, mut server) = client([json(200, r#"{"message":{"messageId":"a"}}"#)]).await;
    client.send_message(send()).await.unwrap();
    let (head, body) = server.request().await;
    assert_eq!(body, r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#);
    assert!(head.starts_with("POST /message:send HTTP/1.1\r\n"), "{head}");
    for line in
        ["a2a-version: 1.0", "content-type: application/a2a+json", "accept: application/json"]
    {
        assert!(head.lines().any(|found| found.starts_with(line)), "{line} is missing in {head}");
    }
}

#[tokio::test]
async fn an_error_is_read_under_any_status_and_in_any_form() {
    let answers = [
        (json(404, NOT_FOUND), ErrorKind::TaskNotFound),
        (json(400, NOT_FOUND), ErrorKind::TaskNotFound),
        (answer(404, "application/a2a+json", NOT_FOUND), ErrorKind::TaskNotFound),
        (
            json(409, r#"{"error":{"code":409,"status":"FAILED_PRECONDITION","message":"x"}}"#),
            ErrorKind::TaskNotCancelable,
        ),
        (json(500, r#"{"error":"it broke"}"#), ErrorKind::Internal),
        (
            json(400, r#"{"type":"about:blank","title":"Bad Request","status":400}"#),
            ErrorKind::InvalidParams,
        ),
        (json(401, r#"{"detail":"who are you"}"#), ErrorKind::Unauthenticated),
        (json(404, r#"{"detail":"Not Found"}"#), ErrorKind::MethodNotFound),
        (answer(503, "text/html", "<h1>down</h1>"), ErrorKind::Unavailable),
        (answer(200, "text/html", "<h1>hello</h1>"), ErrorKind::InvalidAgentResponse),
        (json(200, ""), ErrorKind::InvalidAgentResponse),
        (json(200, "7"), ErrorKind::InvalidAgentResponse),
        ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_owned(), ErrorKind::Unavailable),
    ];
    REMOTE.errors_have_kinds(&answers).await;
}

#[tokio::test]
async fn empty_response_is_rejected() {
    for (body, kind) in [
        ("{}", ErrorKind::InvalidAgentResponse),
        (r#"{"task":null}"#, ErrorKind::InvalidAgentResponse),
        (NOT_FOUND, ErrorKind::TaskNotFound),
    ] {
        let (client, _server) = client([json(200, body)]).await;
        assert_eq!(client.send_message(send()).await.unwrap_err().kind(), kind, "{body}");
    }
}

#[tokio::test]
async fn delete_accepts_any_2xx_and_an_empty_body() {
    for answer in [
        json(200, "{}"),
        json(200, ""),
        json(200, "null"),
        json(202, "whatever"),
        "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_owned(),
    ] {
        let (client, mut server) = client([answer]).await;
        let request = DeleteTaskPushNotificationConfigRequest {
            task_id: "t".into(),
            id: "p".into(),
            ..Default::default()
        };
        client.delete_task_push_notification_config(Call::new(request)).await.unwrap();
        let (head, body) = server.request().await;
        assert!(head.starts_with("DELETE /tasks/t/pushNotificationConfigs/p HTTP/1.1"), "{head}");
        assert_eq!(body, "");
    }
    let (client, mut server) = client([json(201, r#"{"id":"p","taskId":"t","url":"u"}"#)]).await;
    let config =
        TaskPushNotificationConfig { task_id: "t".into(), url: "u".into(), ..Default::default() };
    let reply = client.create_task_push_notification_config(Call::new(config)).await.unwrap();
    assert_eq!(reply.response.id, "p");
    // One SDK reads the task id from the path, another from the body.
    let (head, body) = server.request().await;
    assert!(head.starts_with("POST /tasks/t/pushNotificationConfigs HTTP/1.1"), "{head}");
    assert_eq!(body, r#"{"taskId":"t","url":"u"}"#);
}

#[tokio::test]
async fn subscribe_uses_post_and_falls_back_to_get() {
    let stream = sse(&format!("data: {DONE}\n\n"));
    for refusal in [
        json(405, ""),
        json(501, "{}"),
        json(404, r#"{"detail":"Not Found"}"#),
        answer(404, "text/plain", "no"),
    ] {
        let (client, mut server) = client([refusal, stream.clone()]).await;
        let events = collect(client.subscribe_to_task(subscribe()).await.unwrap().response).await;
        assert_eq!(events.len(), 1);
        for method in ["POST", "GET"] {
            let (head, body) = server.request().await;
            assert!(head.starts_with(&format!("{method} /tasks/t:subscribe HTTP/1.1")), "{head}");
            assert!(head.contains("\r\naccept: text/event-stream, application/json\r\n"), "{head}");
            assert_eq!(body, "");
        }
    }
    // There is only one fallback.
    let (client, _server) = client([json(405, ""), json(405, "")]).await;
    let error = client.subscribe_to_task(subscribe()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MethodNotAllowed);
}

#[tokio::test]
async fn rejected_stream_is_an_error_of_the_operation() {
    REMOTE.rejected_stream_is_an_error_of_the_operation().await;
}

#[tokio::test]
async fn events_have_ids() {
    REMOTE.events_have_ids().await;
}

#[tokio::test]
async fn interrupted_stream_ends_with_an_error() {
    REMOTE.interrupted_stream_ends_with_an_error(&["data: {}\n\n".to_owned()]).await;
}

#[tokio::test]
async fn invalid_path_ids_are_rejected_without_a_request() {
    let (client, _server) = client([]).await;
    for id in ["", ".", ".."] {
        let request = GetTaskRequest { id: id.into(), ..Default::default() };
        let error = client.get_task(Call::new(request)).await.unwrap_err();
        assert_eq!(error.violations()[0].field, "id", "{id:?}");
    }
}
