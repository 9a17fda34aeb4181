//! Memory budget of pending request bodies.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use a2a_kit_http::{Limits, body, parse::PendingBody};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
    routing::post,
};
use futures_util::StreamExt as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::{sleep, timeout},
};

use crate::{
    frames::{ACK, DATA, END_HEADERS, HEADERS, Peer, SETTINGS, frame},
    support::{LONG, SHORT, read_to_end, serves_others, start},
};

const BODY: usize = 100 << 10;

/// HPACK of `POST /hold` with the authority `a` (RFC 7541).
const HOLD: &[u8] = &[0x83, 0x86, 0x04, 5, b'/', b'h', b'o', b'l', b'd', 0x41, 1, b'a'];

struct Served {
    address: SocketAddr,
    /// Body bytes received at `/hold`.
    received: Arc<AtomicUsize>,
}

impl Served {
    /// The budget fits eight bodies, two of each address.
    async fn new() -> Self {
        let limits =
            Limits::default().with_max_body_bytes(BODY).with_max_pending_body_bytes(8 * BODY);
        let read = async |State(limits): State<Limits>, request: Request| -> Response {
            let (parts, body) = request.into_parts();
            match body::read(body, &limits).await {
                Ok(body) => body.len().to_string().into_response(),
                Err(error) => a2a_kit_http::error_response::write(&parts, &error),
            }
        };
        let received = Arc::new(AtomicUsize::new(0));
        let count = received.clone();
        let hold = async move |body: Body| {
            let mut pieces = body.into_data_stream();
            while let Some(Ok(piece)) = pieces.next().await {
                count.fetch_add(piece.len(), Ordering::SeqCst);
            }
            "whole"
        };
        let router = Router::new().route("/", post(read)).route("/hold", post(hold));
        let address = start(router.with_state(limits.clone()), limits).await;
        Self { address, received }
    }

    /// Waits until `/hold` has received `bytes`.
    async fn holds(&self, bytes: usize) {
        let received = async {
            while self.received.load(Ordering::SeqCst) < bytes {
                sleep(SHORT / 50).await;
            }
        };
        timeout(LONG, received).await.expect("the bytes arrive");
    }

    /// Connects from its own address, and sends `bytes` of a body.
    async fn send(&self, path: &str, from: u8, bytes: usize) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, from], 0).into()).unwrap();
        let mut stream = socket.connect(self.address).await.unwrap();
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: ");
        stream.write_all(format!("{head}{BODY}\r\n\r\n").as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; bytes]).await.unwrap();
        stream
    }

    /// Sends a whole body from an address, and returns the response.
    async fn post(&self, from: u8) -> String {
        let mut stream = self.send("/", from, BODY).await;
        String::from_utf8(read_to_end(&mut stream).await).unwrap()
    }

    /// Retries until the budget has room: the server notices a disconnect with a delay.
    async fn serves_again(&self, from: u8) {
        let retries = async {
            while !self.post(from).await.starts_with(SERVED) {
                sleep(SHORT / 10).await;
            }
        };
        timeout(LONG, retries).await.expect("the budget has room again");
    }
}

const SERVED: &str = "HTTP/1.1 200 ";
const REFUSED: &str = "HTTP/1.1 503 ";

#[tokio::test]
async fn large_body_counts_until_it_is_parsed() {
    const LARGE: usize = 300 << 10;
    let limits = Limits::default().with_max_body_bytes(LARGE).with_max_pending_body_bytes(LARGE);
    let parsed = Arc::new(tokio::sync::Semaphore::new(0));
    let (reads, mut read) = tokio::sync::mpsc::unbounded_channel();
    let handler = {
        let (limits, parsed) = (limits.clone(), parsed.clone());
        async move |request: Request| -> Response {
            let (parts, body) = request.into_parts();
            let body = match body::read(body, &limits).await {
                Ok(body) => PendingBody::hold(&parts.extensions, body),
                Err(error) => return a2a_kit_http::error_response::write(&parts, &error),
            };
            reads.send(()).unwrap();
            parsed.acquire().await.unwrap().forget();
            body.len().to_string().into_response()
        }
    };
    let address = start(Router::new().route("/", post(handler)), limits).await;
    let send = move || async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {LARGE}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; LARGE]).await.unwrap();
        String::from_utf8(read_to_end(&mut stream).await).unwrap()
    };
    let waiting = tokio::spawn(send());
    read.recv().await.unwrap();
    let refused = send().await;
    assert!(refused.starts_with(REFUSED), "{refused}");
    parsed.add_permits(2);
    assert!(waiting.await.unwrap().starts_with(SERVED));
    assert!(send().await.starts_with(SERVED));
}

#[tokio::test]
async fn address_with_incomplete_bodies_is_refused_and_others_are_served() {
    let server = Served::new().await;
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(server.send("/hold", 2, BODY - 1).await);
    }
    server.holds(2 * (BODY - 1)).await;
    let response = server.post(2).await;
    assert!(response.starts_with(REFUSED), "{response}");
    assert!(response.contains("\r\nretry-after: 1\r\n"), "{response}");
    assert!(response.contains("too many pending request body bytes"), "{response}");
    assert!(server.post(3).await.starts_with(SERVED));
    serves_others(server.address).await;

    // The pending bodies are served once complete, and release their reservations.
    for stream in &mut held {
        stream.write_all(b"x").await.unwrap();
        let response = String::from_utf8(read_to_end(stream).await).unwrap();
        assert!(response.starts_with(SERVED) && response.ends_with("whole"), "{response}");
    }
    assert!(server.post(2).await.starts_with(SERVED));
}

#[tokio::test]
async fn pending_bodies_of_all_addresses_are_limited() {
    let server = Served::new().await;
    let mut held = Vec::new();
    for from in 2..6 {
        for _ in 0..2 {
            held.push(server.send("/hold", from, BODY - 1).await);
        }
    }
    server.holds(8 * (BODY - 1)).await;
    assert!(server.post(6).await.starts_with(REFUSED));
    // Requests without a body are served.
    serves_others(server.address).await;
    held.truncate(6);
    server.serves_again(6).await;
}

#[tokio::test]
async fn http2_bodies_count_against_the_budget() {
    let server = Served::new().await;
    let mut peer = Peer::connect(server.address, &[]).await;
    // The initial window applies once the settings are acknowledged.
    while peer.next().await.unwrap().kind != SETTINGS {}
    peer.send(&frame(SETTINGS, ACK, 0, &[])).await.unwrap();
    let part = vec![b'x'; 10 << 10];
    for stream in [1, 3] {
        peer.send(&frame(HEADERS, END_HEADERS, stream, HOLD)).await.unwrap();
        for _ in 0..9 {
            peer.send(&frame(DATA, 0, stream, &part)).await.unwrap();
        }
    }
    server.holds(2 * 9 * part.len()).await;
    assert!(server.post(1).await.starts_with(REFUSED));
    assert!(server.post(2).await.starts_with(SERVED));
    drop(peer);
    server.serves_again(1).await;
}

#[tokio::test]
async fn oversized_body_counts_up_to_the_limit_and_returns_413() {
    let server = Served::new().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head =
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = [&b"10000\r\n"[..], &vec![b'x'; 0x1_0000], b"\r\n"].concat();
    for _ in 0..20 {
        stream.write_all(&chunk).await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
    assert!(server.post(1).await.starts_with(SERVED));
}
