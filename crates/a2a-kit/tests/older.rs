//! What holds of a served agent holds for clients of older revisions, too.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::net::SocketAddr;

use a2a_kit::{
    AgentCard, Client, Engine, ErrorKind, Server, agent_fn, client::Transport,
    types::ProtocolVersion,
};
use axum::{extract::Request, middleware::Next, response::Response};
use http::{StatusCode, header::AUTHORIZATION};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

fn server() -> Server {
    let card = AgentCard::new("Echo", "Repeats its input").with_extended_card(true);
    let extended = AgentCard::new("Echo", "Says more to those it knows");
    let agent = agent_fn(async |text: String| format!("You said: {text}"));
    Server::from(Engine::builder(card, agent).extended_card(extended).build())
}

/// A server that lets in nobody without the token `t`.
fn guarded() -> Server {
    async fn guard(request: Request, next: Next) -> Response {
        let known = request.headers().get(AUTHORIZATION).is_some_and(|value| value == "Bearer t");
        if known {
            return next.run(request).await;
        }
        let mut response = Response::default();
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response
    }
    server().with_layers(|router| router.layer(axum::middleware::from_fn(guard)))
}

async fn start(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    address
}

/// Sends one request over HTTP/1.1, and returns the status and the body of the answer.
async fn exchange(address: SocketAddr, head: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let text = format!(
        "{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
}

//
#[tokio::test]
async fn every_request_of_0_1_is_authenticated() {
    let address = start(guarded()).await;
    let message = json!({"role": "user", "parts": [{"type": "text", "text": "hi"}]});
    let webhook = json!({"url": "https://a.example"});
    for (method, params) in [
        ("tasks/send", json!({"id": "t", "message": message})),
        ("tasks/sendSubscribe", json!({"id": "u", "message": message})),
        ("tasks/get", json!({"id": "t"})),
        ("tasks/cancel", json!({"id": "t"})),
        ("tasks/resubscribe", json!({"id": "t"})),
        ("tasks/pushNotification/set", json!({"id": "t", "pushNotificationConfig": webhook})),
        ("tasks/pushNotification/get", json!({"id": "t"})),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        for (header, expected) in [
            ("", "401"),
            ("\r\nauthorization: Bearer guessed", "401"),
            ("\r\nauthorization: Bearer t", "200"),
        ] {
            let head = format!("POST / HTTP/1.1{header}");
            let (status, answer) = exchange(address, &head, &body.to_string()).await;
            assert_eq!(status, expected, "{method}{header}: {answer}");
        }
    }
}

//
#[tokio::test]
async fn the_extended_card_of_0_2_is_read_with_credentials() {
    let address = start(guarded()).await.to_string();
    let client = || Client::builder().version(ProtocolVersion::V0_2);
    let known = client().bearer("t").connect(&address).await.unwrap();
    let card = known.extended_card().await.unwrap();
    assert_eq!(card.description, "Says more to those it knows");
    let unknown = client().connect(&address).await.unwrap();
    let refused = unknown.extended_card().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unauthenticated);
}

//
#[tokio::test]
async fn each_url_of_a_card_of_0_3_answers_in_every_transport_that_it_is_listed_with() {
    let address = start(server()).await;
    let (_, body) = exchange(address, "GET /.well-known/agent-card.json HTTP/1.1", "").await;
    let card: Value = serde_json::from_str(&body).unwrap();
    let pair = |url: &str, transport: &str| (url.to_owned(), transport.to_owned());
    let member = |object: &Value, name: &str| object[name].as_str().unwrap().to_owned();
    let listed: Vec<_> = card["additionalInterfaces"].as_array().unwrap().iter().collect();
    let listed = listed.iter().map(|one| pair(&member(one, "url"), &member(one, "transport")));
    let listed: Vec<_> = listed.collect();
    let main = pair(&member(&card, "url"), &member(&card, "preferredTransport"));
    assert!(listed.contains(&main), "{main:?} is not in {listed:?}");
    assert_eq!(listed.len(), Transport::ALL.len());
    for (url, transport) in listed {
        let mut card = AgentCard::new("Echo", "Repeats its input").with_interface(&transport, url);
        "0.3".clone_into(&mut card.supported_interfaces[0].protocol_version);
        let client = Client::builder().build(card).unwrap();
        assert_eq!(client.send_text("hi").await.unwrap(), "You said: hi", "{transport}");
    }
}
