//! What the client sends, and how it reads responses of deployed servers.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use a2a_core::{ErrorKind, TaskState, v1::DeleteTaskPushNotificationConfigRequest};
use a2a_kit_jsonrpc::{Client, router};
use a2a_kit_operations::{Agent, Call};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::oneshot,
};

use fake::{Canned, DONE, Remote, answer, collect, get_task, json, send, sse, subscribe};

const NOT_FOUND: &str =
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no such task"}}"#;

const REMOTE: Remote = Remote {
    connect: |url| Box::new(Client::new(url).unwrap()),
    router: |fake| router(fake),
    result: |result| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#),
    not_found: NOT_FOUND,
};

async fn client(answers: impl IntoIterator<Item = String>) -> (Box<dyn Agent>, Canned) {
    REMOTE.client(answers).await
}

// covers: R-138, R-139, R-150
#[tokio::test]
async fn operations_arrive_unchanged() {
    REMOTE.operations_arrive_unchanged().await;
}

#[tokio::test]
async fn error_kinds_round_trip() {
    REMOTE.error_kinds_round_trip().await;
}

// covers: R-137, R-139, R-149, R-274, R-275, R-276, R-282
#[tokio::test]
async fn a_call_has_these_bytes() {
    let (client, mut server) =
        client([json(200, r#"{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a"}}}"#)])
            .await;
    client.send_message(send()).await.unwrap();
    let (head, body) = server.request().await;
    assert_eq!(
        body,
        r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#
    );
    assert!(head.starts_with("POST / HTTP/1.1\r\n"), "{head}");
    for line in ["a2a-version: 1.0", "content-type: application/json", "accept: application/json"] {
        assert!(head.lines().any(|found| found == line), "{line} is missing in {head}");
    }
}

#[tokio::test]
async fn interface_url_is_used_unchanged() {
    for path in ["/", "/rpc", "/rpc/", "/a//b?key=1%202"] {
        let mut server = Canned::serve([json(200, NOT_FOUND)]).await;
        let client = Client::new(&format!("{}{path}", server.url)).unwrap();
        client.get_task(get_task()).await.unwrap_err();
        let (head, _) = server.request().await;
        assert!(head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{head}");
    }
    for url in ["", "localhost:8080", "/rpc", "http://"] {
        assert_eq!(Client::new(url).unwrap_err().kind(), ErrorKind::InvalidParams, "{url:?}");
    }
}

#[tokio::test]
async fn errors_are_read_with_any_status_and_format() {
    let answers = [
        (json(200, NOT_FOUND), ErrorKind::TaskNotFound),
        (json(404, NOT_FOUND), ErrorKind::TaskNotFound),
        (
            json(500, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}"#),
            ErrorKind::Internal,
        ),
        (
            json(
                200,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x","data":"text"}}"#,
            ),
            ErrorKind::ParseError,
        ),
        (
            json(
                200,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_CANCELABLE","domain":"a2a-protocol.org"}]}}"#,
            ),
            ErrorKind::TaskNotCancelable,
        ),
        (json(200, r#"{"jsonrpc":"2.0","id":1,"error":"it broke"}"#), ErrorKind::Internal),
        (json(401, r#"{"detail":"who are you"}"#), ErrorKind::Unauthenticated),
        (answer(503, "text/html", "<h1>down</h1>"), ErrorKind::Unavailable),
        (answer(200, "text/html", "<h1>hello</h1>"), ErrorKind::InvalidAgentResponse),
        (
            json(200, r#"{"jsonrpc":"2.0","id":2,"result":{"id":"t"}}"#),
            ErrorKind::InvalidAgentResponse,
        ),
        (json(200, r#"{"jsonrpc":"2.0","id":1}"#), ErrorKind::InvalidAgentResponse),
        (json(200, r#"{"jsonrpc":"2.0","id":1,"result":7}"#), ErrorKind::InvalidAgentResponse),
        ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_owned(), ErrorKind::Unavailable),
    ];
    REMOTE.errors_have_kinds(&answers).await;
}

#[tokio::test]
async fn empty_response_is_rejected() {
    for result in ["{}", r#"{"task":null}"#, r#"{"unknown":{}}"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let (client, _server) = client([json(200, &body)]).await;
        let error = client.send_message(send()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{result}");
    }
}

#[tokio::test]
async fn delete_accepts_every_empty_response() {
    for answered in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
    ] {
        let (client, _server) = client([json(200, answered)]).await;
        let request = DeleteTaskPushNotificationConfigRequest::default();
        client.delete_task_push_notification_config(Call::new(request)).await.unwrap();
    }
}

#[tokio::test]
async fn unknown_response_members_are_ignored() {
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{"id":"t","kind":"task","status":{"state":"TASK_STATE_WORKING","x":1}},"extra":[]}"#;
    let (client, _server) = client([json(200, body)]).await;
    let task = client.get_task(get_task()).await.unwrap().response;
    assert_eq!((&*task.id, task.state()), ("t", TaskState::Working));
}

#[tokio::test]
async fn unknown_state_is_an_error_that_quotes_it() {
    let body =
        r#"{"jsonrpc":"2.0","id":1,"result":{"id":"t","status":{"state":"TASK_STATE_NEW"}}}"#;
    let (client, _server) = client([json(200, body)]).await;
    let error = client.get_task(get_task()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    assert!(error.message().contains(r#"unknown task state "TASK_STATE_NEW""#), "{error}");
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
async fn json_response_is_read_as_a_stream_of_one_event() {
    let (client, _server) = client([json(200, &(REMOTE.result)(DONE))]).await;
    let events = collect(client.subscribe_to_task(subscribe()).await.unwrap().response).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].as_ref().unwrap().state(), Some(TaskState::Completed));
}

#[tokio::test]
async fn interrupted_stream_ends_with_an_error() {
    let other_id = (REMOTE.result)(DONE).replace("\"id\":1", "\"id\":2");
    let others = [other_id, (REMOTE.result)("{}")];
    let others = others.map(|response| format!("data: {response}\n\n"));
    REMOTE.interrupted_stream_ends_with_an_error(&others).await;
}

#[tokio::test]
async fn activated_extensions_are_returned() {
    let answer = json(200, r#"{"jsonrpc":"2.0","id":1,"result":{"id":"t"}}"#)
        .replace("\r\nconnection", "\r\nA2A-Extensions: urn:a, urn:b\r\nconnection");
    let (client, _server) = client([answer]).await;
    let reply = client.get_task(get_task()).await.unwrap();
    assert_eq!(reply.activated.to_string(), "urn:a,urn:b");
}

#[tokio::test]
async fn stream_with_a_late_first_event_is_opened() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let (opened, is_open) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert_ne!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
        stream.write_all(sse("").as_bytes()).await.unwrap();
        is_open.await.unwrap();
        stream.write_all(format!("data: {}\n\n", (REMOTE.result)(DONE)).as_bytes()).await.unwrap();
    });
    let stream = client.subscribe_to_task(subscribe()).await.unwrap().response;
    opened.send(()).unwrap();
    let events = collect(stream).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].as_ref().unwrap().state(), Some(TaskState::Completed));
}
