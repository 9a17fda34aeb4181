//! The operations that a server calls without its router respond as they do through it.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{net::SocketAddr, time::Duration};

use a2a_kit::{AgentCard, Engine, Server, agent_fn, http::Limits};
use axum::{Router, routing::get};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

const SEND: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

fn card() -> AgentCard {
    AgentCard::new("Echo", "Repeats its input").with_streaming(true)
}

fn server(card: AgentCard) -> Server {
    Server::from(Engine::new(card, agent_fn(async |text: String| format!("You said: {text}"))))
        .with_limits(Limits::default().with_max_body_bytes(10_000).with_max_json_values(20))
}

async fn start(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    address
}

/// Sends one request, and returns its response with sorted header lines and without what differs
/// between responses: ids, times and lengths.
async fn exchange(address: SocketAddr, head: &str, pieces: &[&str]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    let (first, rest) = pieces.split_first().unwrap_or((&"", &[]));
    let text = format!("{head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{first}");
    stream.write_all(text.as_bytes()).await.unwrap();
    for piece in rest {
        // Each arrives on its own, most of the time.
        tokio::task::yield_now().await;
        stream.write_all(piece.as_bytes()).await.unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().collect();
    lines[1..].sort_unstable();
    let status = lines[0].to_owned();
    let mut text = format!("{}\n\n{body}", lines[1..].join("\n"));
    text = text.replace(|letter: char| letter.is_ascii_hexdigit(), "0");
    while text.contains("00") {
        text = text.replace("00", "0");
    }
    format!("{status}\n{text}")
}

fn rpc(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}"#)
}

/// Compares the responses of an agent with and without the router, with a header in each request.
async fn compare(server: impl Fn() -> Server, header: &str) {
    let direct = start(server()).await;
    // Any layer requires the router.
    let routed = start(server().with_layers(|router| router)).await;
    let json = "host: localhost\r\na2a-version: 1.0\r\ncontent-type: application/json";
    let grpc = "host: localhost\r\na2a-version: 1.0\r\ncontent-type: application/grpc";
    let (send, get_task) = (rpc("SendMessage", SEND), rpc("GetTask", r#"{"id":"none"}"#));
    let stream = rpc("SendStreamingMessage", SEND);
    let many = rpc("GetTask", &format!(r#"{{"id":"x","y":[{}0]}}"#, "0,".repeat(30)));
    let long = rpc("GetTask", &format!(r#"{{"id":"{}"}}"#, "x".repeat(20_000)));
    let older = rpc(
        "message/send",
        r#"{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}"#,
    );
    let marked = format!("\u{feff}{send}");
    for (line, headers, pieces) in [
        ("POST /", json, &[send.as_str()][..]),
        ("POST /?a=b", json, &[&send]),
        ("POST /", json, &[&send[..30], &send[30..]]),
        ("POST /", json, &[&marked]),
        ("POST /", json, &[&stream]),
        ("POST /", json, &[&get_task]),
        ("POST /", json, &[&many]),
        ("POST /", json, &[&long]),
        ("POST /", json, &[&long[..9_000], &long[9_000..]]),
        ("POST /", json, &["{"]),
        ("POST /", json, &[]),
        ("POST /", json, &[&older]),
        ("POST /", "host: localhost\r\ncontent-type: application/json", &[&older]),
        ("POST /", "host: localhost\r\na2a-version: 9.9", &[&send]),
        ("POST /", "host: localhost\r\ncontent-type: text/plain", &[&send]),
        ("POST /", "host: rebind.example", &[&send]),
        ("POST /", "host: localhost\r\norigin: https://a.example", &[&send]),
        ("POST /", "host: localhost\r\na2a-version: 1.0\r\na2a-version: 0.3", &[&send]),
        ("POST /", "host: a b", &[]),
        ("PUT /", json, &[&send]),
        ("GET /", json, &[]),
        ("POST /message:send", json, &[SEND]),
        ("POST /message:send?tenant=x", json, &[SEND]),
        (
            "POST /message:send",
            "host: localhost\r\na2a-version: 1.0\r\naccept: application/json",
            &[SEND],
        ),
        ("POST /message:send", json, &[&SEND[..9], &SEND[9..]]),
        ("POST /message:send", json, &[&long]),
        ("POST /message:send", json, &["{"]),
        ("POST /message:send", json, &[]),
        ("POST /message:send", "host: rebind.example", &[SEND]),
        ("POST /message:stream", json, &[SEND]),
        ("GET /message:send", json, &[]),
        ("GET /tasks", json, &[]),
        ("GET /tasks/none", json, &[]),
        ("GET /tasks/01234567-89ab-7def-8123-456789abcdef", json, &[]),
        ("GET /tasks/01234567-89ab-7def-8123-456789abcdef?historyLength=x", json, &[]),
        ("GET /tasks/01234567-89ab-7def-8123-456789abcdef", json, &["ignored"]),
        ("GET /tasks/%ff", json, &[]),
        ("HEAD /tasks/none", json, &[]),
        ("PUT /tasks/none", json, &[]),
        ("POST /tasks/none:cancel", json, &["{}"]),
        ("POST /tasks/none", json, &["{}"]),
        ("GET /tasks/none/other", json, &[]),
        ("POST /v1/message:send", json, &[SEND]),
        ("POST /lf.a2a.v1.A2AService/GetTask", grpc, &["\0\0\0\0\0"]),
        ("POST /lf.a2a.v1.A2AService/GetTask", grpc, &["\0\0", "\0\0\0"]),
        ("POST /lf.a2a.v1.A2AService/GetTask", grpc, &["\u{1}\0\0\0\0"]),
        ("POST /lf.a2a.v1.A2AService/GetTask", grpc, &["\0\0\0\0\u{2}\n"]),
        ("POST /lf.a2a.v1.A2AService/GetTask", grpc, &[]),
        ("POST /lf.a2a.v1.A2AService/GetTask", json, &["\0\0\0\0\0"]),
        ("POST /lf.a2a.v1.A2AService/SendMessage", grpc, &["\0\0\0\0\0"]),
        ("POST /lf.a2a.v1.A2AService/Nothing", grpc, &["\0\0\0\0\0"]),
    ] {
        let head = format!("{line} HTTP/1.1\r\n{headers}{header}");
        let (response, expected) =
            (exchange(direct, &head, pieces).await, exchange(routed, &head, pieces).await);
        assert_eq!(response, expected, "{head}\n{pieces:?}");
    }
}

#[tokio::test]
async fn operations_called_without_the_router_respond_as_through_it() {
    compare(|| server(card()), "").await;
}

#[cfg(feature = "auth")]
#[tokio::test]
async fn calls_with_a_known_token_respond_as_through_the_router() {
    use std::{
        sync::Arc,
        time::{SystemTime, UNIX_EPOCH},
    };

    use a2a_kit::{
        auth::{
            jose::{Algorithm, JwkSet, SigningKey},
            server::{Guard, JwtVerifier, Throttle},
        },
        v1::SecurityScheme,
    };

    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let expires = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 3_600;
    let claims = format!(r#"{{"iss":"https://issuer","aud":"agent","sub":"ann","exp":{expires}}}"#);
    let token = key.token(claims.as_bytes()).unwrap();
    let keys: JwkSet = [key.public().clone()].into_iter().collect();
    // Its cache is shared, so that each token is known from its second request on.
    let verifier = Arc::new(JwtVerifier::new("https://issuer", "agent", keys));
    let secured = || {
        let guard = Guard::new()
            .with_shared_verifier("jwt", verifier.clone())
            .with_throttle(Throttle::default().with_failures_allowed(u32::MAX));
        let scheme = SecurityScheme::bearer();
        server(card().with_security_scheme("jwt", scheme).requiring("jwt")).with_auth(guard)
    };
    for header in
        ["", "\r\nauthorization: Bearer a.b.c", &format!("\r\nauthorization: Bearer {token}")]
    {
        compare(secured, header).await;
        compare(|| secured().with_allowed_origins(["https://a.example"]), header).await;
    }
}

#[tokio::test]
async fn route_of_the_application_comes_before_that_of_a_task() {
    let routes = Router::new().route("/tasks/status", get("fine"));
    let address = start(server(card()).with_routes(routes)).await;
    let head = "GET /tasks/status HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0";
    let response = exchange(address, head, &[]).await;
    assert!(response.starts_with("HTTP/1.1 200 OK") && response.ends_with("in0"), "{response}");
}

#[tokio::test]
async fn connection_serves_requests_in_any_pieces_until_it_is_idle() {
    let limits = Limits::default().with_http1_idle_timeout(Duration::from_millis(300));
    let address = start(server(card()).with_limits(limits)).await;
    let head = "POST /message:send HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n";
    let whole = format!("{head}content-length: {}\r\n\r\n{SEND}", SEND.len());
    let chunked =
        format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{SEND}\r\n0\r\n\r\n", SEND.len());
    let expecting = whole.replace("content-length", "expect: 100-continue\r\ncontent-length");
    for request in [&whole, &chunked, &expecting] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let end = request.len() - 20;
        for piece in [&request.repeat(2), &request[..end], &request[end..], request] {
            stream.write_all(piece.as_bytes()).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut answers = String::new();
        let reading = stream.read_to_string(&mut answers);
        tokio::time::timeout(Duration::from_secs(60), reading).await.unwrap().unwrap();
        assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 4, "{request}: {answers}");
    }
}
