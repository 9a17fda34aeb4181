//! How many JSON values a request may have, on every binding and in every revision.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::net::SocketAddr;

use a2a_core::{Message, ProtocolVersion, v1::SendMessageRequest, well_known::Struct};
use a2a_kit::{AgentCard, Engine, ErrorKind, Server, agent_fn};
use a2a_kit_compat::grpc::GrpcClient;
use a2a_kit_http::{Limits, client::ClientSettings};
use a2a_kit_operations::{Agent as _, Call};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What the servers of these tests take.
const MOST: usize = 1_000;

async fn start() -> SocketAddr {
    let card = AgentCard::new("Echo", "Repeats its input");
    let engine = Engine::new(card, agent_fn(async |_: String| "heard".to_owned()));
    let limits = Limits::default().with_max_json_values(MOST);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::from(engine).with_limits(limits);
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    address
}

async fn post(address: SocketAddr, path: &str, version: &str, body: &Value) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = body.to_string();
    let text = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{version}\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Values of about a kibibyte each, or of two bytes: bodies that are parsed elsewhere, or here.
fn values(count: usize, is_large: bool) -> Value {
    let value = if is_large { json!("x".repeat(1_000)) } else { json!(0) };
    json!({ "x": vec![value; count] })
}

#[tokio::test]
async fn a_request_of_too_many_json_values_is_refused_in_every_revision() {
    let address = start().await;
    for is_large in [false, true] {
        for (count, is_served) in [(MOST - 50, true), (MOST, false)] {
            let metadata = values(count, is_large);
            let current = json!({
                "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]},
                "metadata": metadata,
            });
            let kinds = json!({
                "message": {"kind": "message", "messageId": "m", "role": "user",
                    "parts": [{"kind": "text", "text": "hi"}]},
                "metadata": metadata,
            });
            let types = json!({
                "id": format!("t-{count}-{is_large}"),
                "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
                "metadata": metadata,
            });
            let proto = json!({
                "message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]},
                "metadata": metadata,
            });
            let rpc = |method: &str, params: &Value| json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
            let v1 = "a2a-version: 1.0\r\n";
            for (path, version, body) in [
                ("/", v1, rpc("SendMessage", &current)),
                ("/", "", rpc("message/send", &kinds)),
                ("/", "", rpc("tasks/send", &types)),
                ("/message:send", v1, current.clone()),
                ("/v1/message:send", "", proto),
                ("/v1/message:send", "", kinds.clone()),
            ] {
                let answer = post(address, path, version, &body).await;
                let head: String = answer.chars().take(400).collect();
                assert_eq!(answer.contains("heard"), is_served, "{path} {version}: {head}");
                let why = format!("the request has more than {MOST} JSON values");
                assert_eq!(answer.contains(&why), !is_served, "{path} {version}: {head}");
                if path == "/" && !is_served {
                    assert!(answer.contains("\"id\":7"), "{head}");
                    assert!(answer.contains("-32602"), "{head}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_grpc_message_of_too_many_json_values_is_refused_in_every_revision() {
    let address = start().await.to_string();
    let current = a2a_kit_grpc::Client::connect(&address).unwrap();
    let older =
        GrpcClient::connect(&address, ProtocolVersion::V0_3, ClientSettings::default()).unwrap();
    for is_large in [false, true] {
        for (count, is_served) in [(MOST - 50, true), (MOST, false)] {
            let metadata = Struct::try_from(values(count, is_large)).unwrap();
            let request = SendMessageRequest {
                message: Some(Message::user("hi")),
                metadata: Some(metadata),
                ..SendMessageRequest::default()
            };
            for answer in [
                current.send_message(Call::new(request.clone())).await,
                older.send_message(Call::new(request)).await,
            ] {
                assert_eq!(answer.is_ok(), is_served, "{answer:?}");
                if let Err(error) = answer {
                    assert_eq!(error.kind(), ErrorKind::InvalidParams);
                    assert!(error.message().contains("JSON values"), "{error}");
                }
            }
        }
    }
}
