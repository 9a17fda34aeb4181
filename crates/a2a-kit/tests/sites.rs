//! Which sites' pages may call, and under which hosts, with authentication and without.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::net::SocketAddr;

use a2a_kit::{AgentCard, Engine, Server, agent_fn};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

const CARD: &str = "/.well-known/agent-card.json";
const SEND: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;

fn server() -> Server {
    let card = AgentCard::new("Echo", "Repeats its input");
    Server::from(Engine::new(card, agent_fn(async |text: String| format!("You said: {text}"))))
}

async fn start(server: Server) -> SocketAddr {
    start_at(server, "127.0.0.1:0").await
}

async fn start_at(server: Server, address: &str) -> SocketAddr {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    ([127, 0, 0, 1], address.port()).into()
}

/// Sends one request with these header lines, and returns the whole answer in lower case.
async fn exchange(address: SocketAddr, line: &str, headers: &[&str], body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let headers = headers.join("\r\n");
    let length = body.len();
    let text = format!(
        "{line} HTTP/1.1\r\n{headers}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.to_lowercase()
}

async fn preflight(address: SocketAddr, origin: &str) -> String {
    let origin = format!("origin: {origin}");
    let headers = [
        "host: localhost",
        &origin,
        "access-control-request-method: POST",
        "access-control-request-headers: authorization,a2a-version",
    ];
    exchange(address, "OPTIONS /", &headers, "").await
}

const JSON: &str = "content-type: application/json\r\na2a-version: 1.0";

#[tokio::test]
async fn pages_of_other_origins_may_not_call_an_agent_without_authentication() {
    let address = start(server()).await;
    let evil = "origin: https://evil.example";
    for (line, headers, body) in [
        ("OPTIONS /", &[evil, "access-control-request-method: POST"][..], ""),
        ("POST /", &[evil, JSON, "sec-fetch-site: cross-site"], SEND),
        ("POST /", &["sec-fetch-site: cross-site", JSON], SEND),
        ("POST /", &["origin: null", JSON], SEND),
        ("POST /tasks/x:cancel", &[evil, "content-type: application/x-www-form-urlencoded"], ""),
        ("GET /tasks", &[evil, "a2a-version: 1.0"], ""),
        ("GET /v1/card", &[evil], ""),
        ("GET /.well-known/agent.json", &[evil], ""),
        (&format!("GET {CARD}"), &[evil], ""),
    ] {
        let headers = [&["host: localhost"], headers].concat();
        let answer = exchange(address, line, &headers, body).await;
        assert!(answer.starts_with("http/1.1 403"), "{line} {headers:?}: {answer}");
        assert!(!answer.contains("access-control-allow-origin"), "{line}: {answer}");
    }
    let own = format!("origin: http://{address}");
    let host = format!("host: {address}");
    let answer = exchange(address, "POST /", &[&host, &own, JSON], SEND).await;
    assert!(answer.contains("you said: hi"), "{answer}");
}

#[tokio::test]
async fn an_agent_without_authentication_serves_its_own_hosts_only() {
    let address = start(server().with_public_url("https://agent.example/a")).await;
    for (host, is_served) in [
        ("rebind.evil.example", false),
        ("rebind.evil.example:8080", false),
        ("192.0.2.1", false),
        ("localhost", true),
        ("a.localhost:1", true),
        ("127.0.0.1", true),
        ("[::1]", true),
        ("agent.example", true),
    ] {
        let host = format!("host: {host}");
        for (line, body) in
            [("POST /", SEND), ("GET /tasks", ""), (&format!("GET {CARD}"), ""), ("GET /x", "")]
        {
            let answer = exchange(address, line, &[&host, JSON], body).await;
            assert_eq!(!answer.starts_with("http/1.1 403"), is_served, "{line} {host}: {answer}");
        }
        for probe in ["GET /healthz", "GET /readyz"] {
            let answer = exchange(address, probe, &[&host], "").await;
            assert!(answer.starts_with("http/1.1 200"), "{probe} {host}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_server_beyond_the_loopback_serves_addresses_and_the_hosts_that_are_allowed() {
    let address = start_at(server().with_allowed_hosts(["agent.internal"]), "0.0.0.0:0").await;
    for (host, is_served) in [
        ("192.0.2.1:8080", true),
        ("[2001:db8::1]", true),
        ("localhost", true),
        ("agent.internal:8080", true),
        ("rebind.evil.example", false),
    ] {
        let host = format!("host: {host}");
        let answer = exchange(address, "POST /", &[&host, JSON], SEND).await;
        assert_eq!(answer.starts_with("http/1.1 200"), is_served, "{host}: {answer}");
    }
    let address = start(server().with_allowed_hosts(["*"])).await;
    let answer = exchange(address, "POST /", &["host: any.example", JSON], SEND).await;
    assert!(answer.starts_with("http/1.1 200"), "{answer}");
}

#[tokio::test]
async fn pages_of_allowed_origins_may_call() {
    let address = start(server().with_allowed_origins(["https://app.example"])).await;
    let answer = preflight(address, "https://app.example").await;
    assert!(answer.contains("access-control-allow-origin: https://app.example"), "{answer}");
    let headers = ["host: localhost", "origin: https://app.example", JSON];
    for (line, body) in [("POST /", SEND), (&format!("GET {CARD}"), "")] {
        let answer = exchange(address, line, &headers, body).await;
        assert!(answer.starts_with("http/1.1 200"), "{answer}");
        assert!(answer.contains("access-control-allow-origin: https://app.example"), "{answer}");
    }
    assert!(preflight(address, "https://evil.example").await.starts_with("http/1.1 403"));

    let address = start(server().with_allowed_origins(["*"])).await;
    let answer = preflight(address, "https://evil.example").await;
    assert!(answer.contains("access-control-allow-origin: *"), "{answer}");
}

#[tokio::test]
async fn pages_of_every_origin_may_call_where_callers_authenticate_unless_they_are_named() {
    let address = start(server().trust_layers_for_auth()).await;
    let answer = preflight(address, "https://page.example").await;
    assert!(answer.contains("access-control-allow-origin: *"), "{answer}");
    assert!(answer.contains("access-control-allow-headers: authorization,a2a-version"), "{answer}");
    let answer = exchange(address, "POST /", &["host: any.example", JSON], SEND).await;
    assert!(answer.starts_with("http/1.1 200"), "{answer}");

    let named = server().trust_layers_for_auth().with_allowed_origins(["https://app.example"]);
    let address = start(named).await;
    let answer = preflight(address, "https://app.example").await;
    assert!(answer.contains("access-control-allow-origin: https://app.example"), "{answer}");
    for line in ["POST /", &format!("GET {CARD}")] {
        let headers = ["host: localhost", "origin: https://page.example", JSON];
        let answer = exchange(address, line, &headers, SEND).await;
        assert!(!answer.contains("access-control-allow-origin"), "{line}: {answer}");
    }
}
