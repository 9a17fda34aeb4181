//! The server on real sockets.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed setup fails the test"
)]

use std::{future::pending, net::SocketAddr, time::Duration};

use a2a_core::Result;
use a2a_kit_http::{Drain, HttpServer, Limits, body, sse};
use a2a_kit_operations::{Event, EventStream};
use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request},
    response::Response,
    routing::{get, post},
};
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
};

/// Timeout of a test.
const LONG: Duration = Duration::from_secs(20);

struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl Running {
    async fn start(router: Router, limits: Limits) -> Self {
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = HttpServer::new(router).with_limits(limits);
        let server = tokio::spawn(async move {
            server.serve(listener, async move { drop(stopped.await) }).await;
        });
        Self { address, stop, server }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

/// Reads until `end` and returns everything up to it.
async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 1024];
    while !text.contains(end) {
        let read = tokio::time::timeout(LONG, stream.read(&mut buffer)).await;
        let count = read.unwrap_or_else(|_| panic!("no {end:?} in {text:?}")).unwrap();
        assert_ne!(count, 0, "closed before {end:?}: {text:?}");
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    text
}

/// Reads to the end, which may be a reset.
async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("stays open");
    bytes
}

fn hello() -> Router {
    Router::new().route("/", get(async || "hello"))
}

/// Clients that find the queue full retry after 1 s, 3 s and so on: 500 of them take minutes.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn burst_of_connections_waits_to_be_accepted() {
    let max = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let count = 500.min(max.trim().parse::<usize>().unwrap());
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let burst = async {
        let mut connections = Vec::new();
        while connections.len() < count {
            connections.push(TcpStream::connect(address).await.unwrap());
        }
    };
    tokio::time::timeout(LONG, burst).await.expect("no client has to retry");
}

#[tokio::test]
async fn bind_error_names_the_address() {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    let error = a2a_kit_http::bind(&taken).await.unwrap_err();
    assert_eq!(error.to_string(), format!("failed to listen on {taken}"));
    assert!(a2a_kit_http::bind("nowhere.invalid:0").await.is_err());
}

#[tokio::test]
async fn connection_without_a_request_is_closed() {
    let limits = Limits::default()
        .with_first_request_timeout(Duration::from_millis(100))
        .with_header_read_timeout(Duration::from_millis(200));
    let running = Running::start(hello(), limits).await;
    for (start, case) in [
        ("", "silent"),
        ("GET ", "incomplete request line"),
        ("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", "incomplete head"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "preface only"),
    ] {
        let mut stream = running.connect().await;
        stream.write_all(start.as_bytes()).await.unwrap();
        let response = read_to_end(&mut stream).await;
        assert!(!response.starts_with(b"HTTP/1.1 200"), "{case}");
    }
}

#[tokio::test]
async fn http1_and_http2_are_served_on_one_port() {
    let router = Router::new().route(
        "/",
        get(async |ConnectInfo(peer): ConnectInfo<SocketAddr>, request: Request| {
            format!("{:?} from {}", request.version(), peer.ip())
        }),
    );
    let running = Running::start(router, Limits::default()).await;
    for (http2, expected) in [(false, "HTTP/1.1 from 127.0.0.1"), (true, "HTTP/2.0 from 127.0.0.1")]
    {
        let settings =
            a2a_kit_http::client::ClientSettings::default().with_http2_prior_knowledge(http2);
        let client = a2a_kit_http::client::HttpClient::new(settings).unwrap();
        let request = http::Request::get(format!("http://{}/", running.address));
        let response = client.send(request.body("".into()).unwrap()).await.unwrap();
        assert_eq!(response.body(), expected);
    }
}

#[tokio::test]
async fn connection_stays_usable_after_an_oversized_body() {
    let limits = Limits::default().with_max_body_bytes(1000);
    let inner = limits.clone();
    let router = Router::new().route(
        "/",
        post(async move |body: Body| match body::read(body, &inner).await {
            Ok(body) => (StatusCode::OK, body.len().to_string()),
            Err(error) => {
                let status = StatusCode::from_u16(error.kind().codes().http).unwrap();
                (status, error.message().to_owned())
            }
        }),
    );
    let running = Running::start(router, limits).await;
    let mut stream = running.connect().await;
    for (length, expected) in
        [(5, "200 OK"), (200_000, "413 Payload Too Large"), (1000, "200 OK"), (1001, "413")]
    {
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; length]).await.unwrap();
        let response = read_until(&mut stream, "\r\n\r\n").await;
        assert!(response.starts_with(&format!("HTTP/1.1 {expected}")), "{length}: {response}");
    }
    // The same without a declared length.
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..100 {
        stream.write_all(format!("64\r\n{}\r\n", "x".repeat(100)).as_bytes()).await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let response = read_until(&mut stream, "\r\n\r\n").await;
    assert!(response.contains("HTTP/1.1 413"), "{response}");
}

#[tokio::test]
async fn oversized_head_returns_431() {
    let running = Running::start(hello(), Limits::default().with_max_header_bytes(8 << 10)).await;
    let mut stream = running.connect().await;
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(10_000));
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(read_until(&mut stream, "\r\n").await.starts_with("HTTP/1.1 431"));
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let running = Running::start(hello(), Limits::default().with_max_connections(1)).await;
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut first = running.connect().await;
    first.write_all(request).await.unwrap();
    read_until(&mut first, "hello").await;
    let mut second = running.connect().await;
    second.write_all(request).await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(50), second.readable()).await;
    assert!(early.is_err(), "the second connection was served while the first was open");
    drop(first);
    read_until(&mut second, "hello").await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn health_probes_are_served_when_the_connection_limit_is_reached() {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = hello().route("/healthz", get(async || "ok"));
    let server = HttpServer::new(router)
        .with_limits(Limits::default().with_max_connections(1))
        .with_probes(&["/healthz"]);
    let server = tokio::spawn(server.serve(listener, pending()));
    let mut first = TcpStream::connect(address).await.unwrap();
    first.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    read_until(&mut first, "hello").await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        // Connections that only wait can't take all of the reserve.
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    let from = |last: u8| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
        socket.connect(address)
    };
    let mut probe = from(2).await.unwrap();
    probe.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    read_until(&mut probe, "ok").await;
    let mut other = from(3).await.unwrap();
    other.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let refused = String::from_utf8(read_to_end(&mut other).await).unwrap();
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("retry-after: 1"), "{refused}");
    drop(first);
    // Served as soon as the server has seen the end of the first one.
    loop {
        let mut next = from(4).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        next.write_all(request).await.unwrap();
        let response = String::from_utf8(read_to_end(&mut next).await).unwrap();
        if response.contains("hello") {
            break;
        }
        assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    }
    server.abort();
}

#[tokio::test]
async fn client_that_shuts_its_sending_side_gets_its_answer() {
    let (go, gone) = oneshot::channel::<()>();
    let gone = std::sync::Arc::new(std::sync::Mutex::new(Some(gone)));
    let slow = async move || {
        let gone = gone.lock().unwrap().take().unwrap();
        gone.await.unwrap();
        "finished"
    };
    let running = Running::start(Router::new().route("/", get(slow)), Limits::default()).await;
    let mut stream = running.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    stream.shutdown().await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(200), stream.readable()).await;
    assert!(early.is_err(), "the connection was closed");
    go.send(()).unwrap();
    read_until(&mut stream, "finished").await;
    assert!(read_to_end(&mut stream).await.is_empty());
}

#[tokio::test]
async fn half_closed_stream_is_probed_at_once_and_goes_on() {
    let limits = Limits::default().with_keep_alive_interval(Duration::from_secs(600));
    let running = Running::start(endless(limits.clone()), limits).await;
    let mut stream = running.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    read_until(&mut stream, "\r\n\r\n").await;
    stream.shutdown().await.unwrap();
    read_until(&mut stream, ": ping\n\n").await;
    running.stop.send(()).unwrap();
    read_until(&mut stream, "event: error\ndata: Unavailable\n\n").await;
}

fn endless(limits: Limits) -> Router {
    let response = async move |request: Request| -> Response {
        let drain = Drain::of(request.extensions());
        let events = EventStream::new(stream::pending());
        sse::response(events, &limits, &drain, |item: &Result<Event>, line| {
            if let Err(error) = item {
                line.text().extend_from_slice(format!("{:?}", error.kind()).as_bytes());
            }
        })
    };
    Router::new().route("/", get(response))
}

#[tokio::test]
async fn stream_head_is_sent_at_once_and_idle_streams_are_kept_alive() {
    // The request timeouts do not apply to the stream.
    let limits = Limits::default()
        .with_keep_alive_interval(Duration::from_millis(50))
        .with_first_request_timeout(Duration::from_millis(80))
        .with_header_read_timeout(Duration::from_millis(80));
    let running = Running::start(endless(limits.clone()), limits).await;
    let mut stream = running.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let head = read_until(&mut stream, "\r\n\r\n").await;
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    for _ in 0..5 {
        read_until(&mut stream, ": ping\n\n").await;
    }
}

#[tokio::test]
async fn shutdown_ends_streams_with_an_error() {
    let limits = Limits::default();
    let running = Running::start(endless(limits.clone()), limits).await;
    let mut stream = running.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    read_until(&mut stream, "\r\n\r\n").await;
    running.stop.send(()).unwrap();
    read_until(&mut stream, "event: error\ndata: Unavailable\n\n").await;
    tokio::time::timeout(LONG, running.server).await.expect("the server stops").unwrap();
    assert!(TcpStream::connect(running.address).await.is_err(), "the listener is closed");
}

#[tokio::test]
async fn shutdown_waits_for_requests_until_the_grace_period_ends() {
    let (go, gone) = oneshot::channel::<()>();
    let gone = std::sync::Mutex::new(Some(gone));
    let slow = async move || {
        let gone = gone.lock().unwrap().take().unwrap();
        gone.await.unwrap();
        "finished"
    };
    let stuck = async || {
        pending::<()>().await;
        "never"
    };
    let slow = std::sync::Arc::new(slow);
    let router =
        Router::new().route("/slow", get(async move || slow().await)).route("/stuck", get(stuck));
    let limits = Limits::default().with_drain_timeout(Duration::from_millis(500));
    let running = Running::start(router, limits).await;
    let mut slow = running.connect().await;
    slow.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut stuck = running.connect().await;
    stuck.write_all(b"GET /stuck HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    // The response on a third connection shows that the first two were accepted.
    let mut third = running.connect().await;
    third.write_all(b"GET /none HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    read_until(&mut third, "404").await;

    running.stop.send(()).unwrap();
    read_to_end(&mut third).await;
    go.send(()).unwrap();
    read_until(&mut slow, "finished").await;
    assert!(read_to_end(&mut stuck).await.is_empty());
    tokio::time::timeout(LONG, running.server).await.expect("the server stops").unwrap();
}

#[tokio::test]
async fn disconnect_drops_the_stream() {
    let (held, dropped) = oneshot::channel::<()>();
    let held = std::sync::Arc::new(std::sync::Mutex::new(Some(held)));
    let response = async move || {
        let held = held.lock().unwrap().take();
        let events = EventStream::new(stream::pending().inspect(move |_| assert!(held.is_some())));
        // Not found by a keep-alive.
        let limits = Limits::default().with_keep_alive_interval(Duration::from_secs(600));
        sse::response(events, &limits, &Drain::new(), |_: &Result<Event>, _| {})
    };
    let running = Running::start(Router::new().route("/", get(response)), Limits::default()).await;
    let mut stream = running.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    read_until(&mut stream, "\r\n\r\n").await;
    drop(stream);
    let end = tokio::time::timeout(LONG, dropped).await.expect("the stream is dropped");
    assert!(end.is_err(), "the state of the stream is dropped");
}

#[tokio::test]
async fn panicking_handler_closes_only_its_own_connection() {
    let router = hello().route("/panic", get(async || -> &str { panic!("on purpose") }));
    let running = Running::start(router, Limits::default()).await;
    let mut other = running.connect().await;
    for _ in 0..2 {
        let mut stream = running.connect().await;
        stream.write_all(b"GET /panic HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        assert!(read_to_end(&mut stream).await.is_empty());
        other.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        read_until(&mut other, "hello").await;
    }
}
