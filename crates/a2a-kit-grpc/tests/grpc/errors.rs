//! Error kinds, and connections that remain usable after errors.

use std::time::Duration;

use a2a_core::{
    Error, ErrorKind, Message, Violation,
    v1::{GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest},
};
use a2a_kit_grpc::{
    Client, ClientSettings, GrpcOptions,
    operations::{Agent as _, Call},
};
use a2a_kit_http::{Limits, client::TransportError};
use prost::Message as _;
use tokio::io::AsyncWriteExt as _;
use tokio_stream::StreamExt as _;
use tonic::{Code, Status, transport::Endpoint};
use tonic_types::{StatusExt as _, pb};

use crate::{
    fake::{Fake, Served, assert_kind},
    raw,
};

fn get() -> GetTaskRequest {
    GetTaskRequest { id: "t1".into(), ..Default::default() }
}

/// Asserts properties of all errors: the code of the kind, and an `ErrorInfo` with its reason.
fn assert_refused(status: &Status, kind: ErrorKind) {
    assert_eq!(i32::from(status.code()), kind.codes().grpc, "{status:?}");
    let info = status.get_details_error_info().expect("every error has an ErrorInfo");
    assert_eq!(info.reason, kind.codes().reason, "{status:?}");
    assert_eq!(info.domain, "a2a-protocol.org");
}

//
#[tokio::test]
async fn error_kinds_round_trip() {
    let served = Served::new().await;
    let client = served.client();
    for kind in ErrorKind::ALL {
        // An unreadable HTTP body has the same code as an unsupported part; gRPC has no such body.
        if kind == ErrorKind::UnsupportedMediaType {
            continue;
        }
        served.agent.fail(Error::new(kind, "because").with_metadata("taskId", "t1"));
        let error = assert_kind(client.get_task(Call::new(get())).await, kind);
        assert_eq!(error.metadata()["taskId"], "t1", "{kind:?}");
        served.agent.fail(Error::new(kind, "because"));
        let request = SubscribeToTaskRequest { id: "t1".into(), ..Default::default() };
        assert_kind(client.subscribe_to_task(Call::new(request)).await, kind);
    }
}

#[tokio::test]
async fn violations_arrive_as_bad_request() {
    let served = Served::new().await;
    let violations = vec![
        Violation::new("message.parts", "is empty"),
        Violation::new("message.role", "is unset"),
    ];
    served.agent.fail(Error::from_violations(violations.clone()));
    let error = served.client().get_task(Call::new(get())).await.unwrap_err();
    assert_eq!(error.violations(), violations);
}

#[tokio::test]
async fn internal_error_has_only_an_id() {
    let served = Served::new().await;
    served.agent.fail(Error::internal("the password is 1234"));
    let error = assert_kind(served.client().get_task(Call::new(get())).await, ErrorKind::Internal);
    assert!(error.metadata().contains_key("errorId"));
    assert!(!format!("{error:?}").contains("1234"));
}

#[tokio::test]
async fn malformed_message_is_rejected_and_the_connection_remains_usable() {
    let served = Served::new().await;
    let channel = Endpoint::from_shared(format!("http://{}", served.address)).unwrap();
    let channel = channel.connect().await.unwrap();
    for bytes in [&b"\xff\xff\xff"[..], &b"\x12\x7fshort"[..], &b"\x12\x02\xc3\x28"[..]] {
        let status = raw::call(channel.clone(), "GetTask", bytes, &[]).await.unwrap_err();
        assert_refused(&status, ErrorKind::ParseError);
        assert_eq!(status.code(), Code::InvalidArgument);
    }
    assert!(served.agent.asked().is_empty());
    raw::call(channel, "GetTask", get().encode_to_vec(), &[]).await.unwrap();
}

#[tokio::test]
async fn too_large_message_is_rejected_and_the_connection_remains_usable() {
    let limits = Limits::default().with_max_body_bytes(1_000);
    let served = Served::with(GrpcOptions::default().with_limits(limits)).await;
    let client = served.client();
    let message = Some(Message::user("x".repeat(100_000)));
    let request = SendMessageRequest { message, ..Default::default() };
    let answer = client.send_message(Call::new(request.clone())).await;
    assert_kind(answer, ErrorKind::PayloadTooLarge);
    client.get_task(Call::new(get())).await.unwrap();

    let channel = Endpoint::from_shared(format!("http://{}", served.address)).unwrap();
    let channel = channel.connect().await.unwrap();
    let status = raw::call(channel, "SendMessage", request.encode_to_vec(), &[]).await.unwrap_err();
    assert_refused(&status, ErrorKind::PayloadTooLarge);
    assert_eq!(status.code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn message_over_the_body_budget_is_retryable() {
    const ROOM: usize = 10_000;
    // Holds the bytes of a request body until it is complete.
    let (come, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let hold = async move |body: axum::body::Body| {
        let mut pieces = body.into_data_stream();
        while let Some(Ok(piece)) = pieces.next().await {
            come.send(piece.len()).unwrap();
        }
    };
    let agent = Fake::default();
    let router = a2a_kit_grpc::router(agent).route("/hold", axum::routing::post(hold));
    let limits = Limits::default().with_max_body_bytes(ROOM).with_max_pending_body_bytes(ROOM);
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = a2a_kit_http::HttpServer::new(router).with_limits(limits);
    let server = tokio::spawn(server.serve(listener, std::future::pending()));
    let mut held = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!("POST /hold HTTP/1.1\r\nhost: a\r\ncontent-length: {ROOM}\r\n\r\n");
    held.write_all(head.as_bytes()).await.unwrap();
    held.write_all(&[b'x'; ROOM - 1]).await.unwrap();
    let mut left = ROOM - 1;
    while left > 0 {
        left -= heard.recv().await.unwrap();
    }

    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let channel = channel.connect().await.unwrap();
    let message = Some(Message::user("x".repeat(1_000)));
    let request = SendMessageRequest { message, ..Default::default() };
    let status =
        raw::call(channel.clone(), "SendMessage", request.encode_to_vec(), &[]).await.unwrap_err();
    assert_refused(&status, ErrorKind::Unavailable);
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.metadata().get("retry-after").unwrap(), "1");
    // The held body is complete and will be released.
    held.write_all(b"x").await.unwrap();
    let again = async {
        while raw::call(channel.clone(), "SendMessage", request.encode_to_vec(), &[]).await.is_err()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), again).await.expect("budget is released");
    server.abort();
}

#[tokio::test]
async fn response_over_the_client_limit_is_an_error() {
    let served = Served::new().await;
    let settings = ClientSettings::default().with_max_response_bytes(8);
    let client = Client::connect_with(&served.address.to_string(), settings).unwrap();
    let error = client.get_task(Call::new(get())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    assert_eq!(error.message(), format!("response of {} exceeds 8 bytes", served.address));
}

#[tokio::test]
async fn response_over_the_server_limit_is_an_error_with_reason() {
    let agent = Fake::default();
    let router =
        a2a_kit_grpc::router_with(agent, GrpcOptions::default().with_max_response_bytes(8));
    for method in ["GetTask", "SubscribeToTask"] {
        let answer = raw::call(router.clone(), method, get().encode_to_vec(), &[]).await;
        assert_refused(&answer.unwrap_err(), ErrorKind::PayloadTooLarge);
    }
}

#[tokio::test]
async fn serving_an_invalid_address_fails() {
    let card = a2a_core::AgentCard::new("Echo", "Repeats its input");
    let engine = a2a_kit_operations::agent_fn(async |text: String| text);
    let engine = a2a_kit_operations::Engine::new(card, engine);
    let answer = a2a_kit_grpc::serve(engine, "nowhere.invalid:0").await;
    assert!(matches!(answer, Err(a2a_kit_grpc::BindError { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_large_message_passes() {
    let served = Served::new().await;
    let message = Some(Message::user("x".repeat(7 << 20)));
    let request = SendMessageRequest { message, ..Default::default() };
    served.client().send_message(Call::new(request)).await.unwrap();
}

#[tokio::test]
async fn an_unknown_method_or_service_is_unimplemented() {
    let served = Served::new().await;
    let channel = Endpoint::from_shared(format!("http://{}", served.address)).unwrap();
    let channel = channel.connect().await.unwrap();
    for method in ["Nothing", "/a2a.v9.A2AService/GetTask"] {
        let status = raw::call(channel.clone(), method, vec![], &[]).await.unwrap_err();
        assert_refused(&status, ErrorKind::MethodNotFound);
        assert_eq!(status.code(), Code::Unimplemented, "{method}");
    }
}

#[tokio::test]
async fn deadline_ends_a_call_on_the_server() {
    // Without a client channel, which would enforce the deadline itself.
    for method in ["GetTask", "SubscribeToTask"] {
        let agent = Fake::default();
        agent.fall_silent();
        let router = a2a_kit_grpc::router(agent.clone());
        let timeout = [("grpc-timeout", "10m")];
        let status = raw::call(router, method, get().encode_to_vec(), &timeout).await.unwrap_err();
        assert_refused(&status, ErrorKind::DeadlineExceeded);
        assert_eq!(agent.asked().len(), 1, "{method}");
    }
}

#[tokio::test]
async fn malformed_deadline_is_rejected() {
    let router = a2a_kit_grpc::router(Fake::default());
    let timeout = [("grpc-timeout", "soon")];
    let answer = raw::call(router, "GetTask", get().encode_to_vec(), &timeout).await;
    assert_refused(&answer.unwrap_err(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn client_timeout_is_sent_as_deadline() {
    let served = Served::new().await;
    served.agent.fall_silent();
    let settings = ClientSettings::default().with_request_timeout(Duration::from_millis(20));
    let client = Client::connect_with(&served.address.to_string(), settings).unwrap();
    assert_kind(client.get_task(Call::new(get())).await, ErrorKind::DeadlineExceeded);
}

#[tokio::test]
async fn refused_connection_is_unavailable_and_not_sent() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let client = Client::connect(&address).unwrap();
    let error = assert_kind(client.get_task(Call::new(get())).await, ErrorKind::Unavailable);
    let transport = TransportError::of(&error).expect("a transport error");
    assert!(transport.is_connect() && !transport.maybe_sent());
    assert!(error.message().contains(&address), "{error}");
}

#[tokio::test]
async fn connection_lost_during_a_call_is_unavailable_and_maybe_sent() {
    let served = Served::new().await;
    served.agent.fall_silent();
    let client = served.client();
    let call = tokio::spawn(async move { client.get_task(Call::new(get())).await });
    while served.agent.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    served.server.abort();
    let error = assert_kind(call.await.unwrap(), ErrorKind::Unavailable);
    assert!(TransportError::of(&error).is_some_and(TransportError::maybe_sent), "{error:?}");
}

#[tokio::test]
async fn client_reconnects_to_a_restarted_server() {
    let served = Served::new().await;
    let client = served.client();
    client.get_task(Call::new(get())).await.unwrap();
    served.server.abort();
    while client.get_task(Call::new(get())).await.is_ok() {}

    let listener = loop {
        match tokio::net::TcpListener::bind(served.address).await {
            Ok(listener) => break listener,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let server = a2a_kit_http::HttpServer::new(a2a_kit_grpc::router(Fake::default()));
    let server = tokio::spawn(server.serve(listener, std::future::pending()));
    while client.get_task(Call::new(get())).await.is_err() {}
    server.abort();
}

#[tokio::test]
async fn response_that_is_not_grpc_is_decoded_as_http() {
    for (status, kind) in [
        (401, ErrorKind::Unauthenticated),
        (503, ErrorKind::Unavailable),
        (404, ErrorKind::MethodNotFound),
        (200, ErrorKind::InvalidAgentResponse),
    ] {
        let answer = move || async move {
            let status = http::StatusCode::from_u16(status).unwrap();
            (status, [("www-authenticate", "Bearer"), ("retry-after", "3")], "<html>")
        };
        let router = axum::Router::new().fallback(answer);
        let served = Served::mounted(Fake::default(), router).await;
        let error = assert_kind(served.client().get_task(Call::new(get())).await, kind);
        assert_eq!(error.challenge(), Some("Bearer"), "{status}");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3)), "{status}");
    }
}

#[tokio::test]
async fn malformed_response_is_an_error() {
    for (details, body, kind) in [
        ("not base64 !", &b""[..], ErrorKind::TaskNotFound),
        ("AAAA", &b""[..], ErrorKind::TaskNotFound),
        ("", &b"\0\0\0\0\x03\xff\xff\xff"[..], ErrorKind::InvalidAgentResponse),
    ] {
        let answer = move || async move {
            let mut response = http::Response::new(axum::body::Body::from(body));
            let headers = response.headers_mut();
            headers.insert("content-type", "application/grpc".parse().unwrap());
            if !details.is_empty() {
                headers.insert("grpc-status", "5".parse().unwrap());
                headers.insert("grpc-status-details-bin", details.parse().unwrap());
            }
            response
        };
        let router = axum::Router::new().fallback(answer);
        let served = Served::mounted(Fake::default(), router).await;
        assert_kind(served.client().get_task(Call::new(get())).await, kind);
    }
}

//
#[tokio::test]
async fn details_have_a_google_rpc_status() {
    let agent = Fake::default();
    agent.fail(Error::task_not_found("t1"));
    let router = a2a_kit_grpc::router(agent);
    let status = raw::call(router, "GetTask", get().encode_to_vec(), &[]).await.unwrap_err();
    let wire = pb::Status::decode(status.details()).unwrap();
    assert_eq!((wire.code, wire.message.as_str()), (5, "task not found: t1"));
    assert_eq!(wire.details.len(), 1);
    assert_eq!(wire.details[0].type_url, "type.googleapis.com/google.rpc.ErrorInfo");
    let info = pb::ErrorInfo::decode(wire.details[0].value.as_slice()).unwrap();
    assert_eq!(info.reason, "TASK_NOT_FOUND");
    assert_eq!(info.metadata["taskId"], "t1");
}
