//! What the client sends, and how it reads responses of deployed servers.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use std::time::Duration;

use a2a_core::{
    Error, ErrorKind, Message, Result, TaskState,
    v1::{
        DeleteTaskPushNotificationConfigRequest, GetTaskRequest, SendMessageRequest,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
};
use a2a_kit_operations::{Agent as _, Call, CallContext, Event, EventId, EventStream};
use a2a_kit_rest::{Client, router};
use futures_util::StreamExt as _;

use fake::{Canned, Fake, answer, every_operation_arrives_as_it_was_sent, json, serve, sse};

async fn client(answers: impl IntoIterator<Item = String>) -> (Client, Canned) {
    let server = Canned::serve(answers).await;
    (Client::new(&server.url).unwrap(), server)
}

fn get_task() -> Call<GetTaskRequest> {
    Call::new(GetTaskRequest { id: "t".into(), ..Default::default() })
}

fn subscribe() -> Call<SubscribeToTaskRequest> {
    Call::new(SubscribeToTaskRequest { id: "t".into(), ..Default::default() })
}

fn send() -> Call<SendMessageRequest> {
    let message = Message { message_id: "m".into(), ..Message::user("hi") };
    Call::new(SendMessageRequest { message: Some(message), ..Default::default() })
}

async fn collect(stream: EventStream) -> Vec<Result<Event>> {
    stream.collect().await
}

const WORKING: &str = r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
const NOT_FOUND: &str = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"no such task","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#;

// covers: R-138, R-139, R-150, R-294
#[tokio::test]
async fn operations_arrive_unchanged() {
    let fake = Fake::new();
    let address = serve(router(fake.clone())).await;
    let client = Client::new(&format!("http://{address}/")).unwrap();
    every_operation_arrives_as_it_was_sent(&client, &fake).await;
}

#[tokio::test]
async fn error_kinds_round_trip() {
    for kind in ErrorKind::ALL {
        let fake = Fake::new().refusing(move || {
            Error::new(kind, "the reason")
                .with_metadata("taskId", "t")
                .with_retry_after(Duration::from_secs(7))
                .with_challenge("Bearer realm=\"x\"")
        });
        let client = Client::new(&format!("http://{}", serve(router(fake)).await)).unwrap();
        for error in [
            client.get_task(get_task()).await.unwrap_err(),
            client.subscribe_to_task(subscribe()).await.unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.message()), (kind, "the reason"));
            assert_eq!(error.metadata()["taskId"], "t", "{kind:?}");
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)), "{kind:?}");
            assert_eq!(error.challenge(), Some("Bearer realm=\"x\""), "{kind:?}");
        }
    }
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
    for (answer, kind) in [
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
    ] {
        let (client, _server) = client([answer.clone()]).await;
        let error = client.get_task(get_task()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{answer}");
    }
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
    for answer in [
        json(404, NOT_FOUND),
        json(200, NOT_FOUND),
        sse(&format!("data: {NOT_FOUND}\n\n")),
        sse(&format!(": ping\n\nevent: error\ndata: {NOT_FOUND}\n\n")),
    ] {
        let (client, _server) = client([answer.clone()]).await;
        let error = client.subscribe_to_task(subscribe()).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::TaskNotFound, "no such task"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn events_have_ids() {
    let body =
        format!("id: 4\ndata: {WORKING}\n\n: ping\n\nid: b7\nevent: message\ndata: {DONE}\n\n");
    let (client, mut server) = client([sse(&body)]).await;
    let mut context = CallContext::default();
    context.last_event_id = EventId::new(3);
    let call = Call::from_parts(context, subscribe().request);
    let events = collect(client.subscribe_to_task(call).await.unwrap().response).await;
    let seen: Vec<_> =
        events.iter().map(|event| event.as_ref().unwrap()).map(|e| (e.id(), e.state())).collect();
    assert_eq!(
        seen,
        [(EventId::new(4), Some(TaskState::Working)), (None, Some(TaskState::Completed))]
    );
    let (head, _) = server.request().await;
    assert!(head.contains("\r\nlast-event-id: 3\r\n"), "{head}");
}

#[tokio::test]
async fn interrupted_stream_ends_with_an_error() {
    for (rest, kind) in [
        // Interrupted before the task settled: between events and within one.
        (String::new(), ErrorKind::Unavailable),
        ("data: {\"task\"".to_owned(), ErrorKind::Unavailable),
        (format!("event: error\ndata: {NOT_FOUND}\n\n"), ErrorKind::TaskNotFound),
        (format!("data: {NOT_FOUND}\n\n"), ErrorKind::TaskNotFound),
        ("event: error\ndata: out of coffee\n\n".to_owned(), ErrorKind::Internal),
        ("data: {\"error\":\"out of coffee\"}\n\n".to_owned(), ErrorKind::Internal),
        ("data: what\n\n".to_owned(), ErrorKind::InvalidAgentResponse),
        ("data: {}\n\n".to_owned(), ErrorKind::InvalidAgentResponse),
    ] {
        let (client, _server) = client([sse(&format!("data: {WORKING}\n\n{rest}"))]).await;
        let stream = client.subscribe_to_task(subscribe()).await.unwrap().response;
        let events = collect(stream).await;
        assert_eq!(events.len(), 2, "{rest}");
        assert!(events[0].is_ok(), "{rest}");
        assert_eq!(events[1].as_ref().unwrap_err().kind(), kind, "{rest}");
    }
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
