//! Bodies that are all on their way at a time.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use a2a_http::{Limits, body, parse::PendingBody};
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
    running::{LONG, SHORT, read_to_end, serves_others, start},
};

const BODY: usize = 100 << 10;

/// `POST /hold` of an authority `a` (RFC 7541).
const HOLD: &[u8] = &[0x83, 0x86, 0x04, 5, b'/', b'h', b'o', b'l', b'd', 0x41, 1, b'a'];

struct Served {
    address: SocketAddr,
    /// How much has come of the bodies that are sent to `/hold`.
    come: Arc<AtomicUsize>,
}

impl Served {
    /// Has room for eight bodies, and for two of each address.
    async fn new() -> Self {
        let limits =
            Limits::default().with_max_body_bytes(BODY).with_max_pending_body_bytes(8 * BODY);
        let read = async |State(limits): State<Limits>, request: Request| -> Response {
            let (parts, body) = request.into_parts();
            match body::read(body, &limits).await {
                Ok(body) => body.len().to_string().into_response(),
                Err(error) => a2a_http::refusal::write(&parts, &error),
            }
        };
        let come = Arc::new(AtomicUsize::new(0));
        let count = come.clone();
        let hold = async move |body: Body| {
            let mut pieces = body.into_data_stream();
            while let Some(Ok(piece)) = pieces.next().await {
                count.fetch_add(piece.len(), Ordering::SeqCst);
            }
            "whole"
        };
        let router = Router::new().route("/", post(read)).route("/hold", post(hold));
        let address = start(router.with_state(limits.clone()), limits).await;
        Self { address, come }
    }

    /// Waits until so much has come to `/hold`.
    async fn holds(&self, bytes: usize) {
        let come = async {
            while self.come.load(Ordering::SeqCst) < bytes {
                sleep(SHORT / 50).await;
            }
        };
        timeout(LONG, come).await.expect("it comes");
    }

    /// Connects from an address of its own, and sends so much of a body.
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

    /// A whole body from an address, and what is answered.
    async fn ask(&self, from: u8) -> String {
        let mut stream = self.send("/", from, BODY).await;
        String::from_utf8(read_to_end(&mut stream).await).unwrap()
    }

    /// Asks until there is room: that somebody has gone is seen in time.
    async fn serves_again(&self, from: u8) {
        let asking = async {
            while !self.ask(from).await.starts_with(SERVED) {
                sleep(SHORT / 10).await;
            }
        };
        timeout(LONG, asking).await.expect("there is room again");
    }
}

const SERVED: &str = "HTTP/1.1 200 ";
const REFUSED: &str = "HTTP/1.1 503 ";

#[tokio::test]
async fn a_large_body_keeps_its_place_until_it_is_parsed() {
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
                Err(error) => return a2a_http::refusal::write(&parts, &error),
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
async fn an_address_that_holds_bodies_back_is_refused_more_and_others_are_not() {
    let server = Served::new().await;
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(server.send("/hold", 2, BODY - 1).await);
    }
    server.holds(2 * (BODY - 1)).await;
    let answer = server.ask(2).await;
    assert!(answer.starts_with(REFUSED), "{answer}");
    assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
    assert!(answer.contains("there is no room for the request body"), "{answer}");
    assert!(server.ask(3).await.starts_with(SERVED));
    serves_others(server.address).await;

    // What is held is served once it is whole, and its room is there again.
    for stream in &mut held {
        stream.write_all(b"x").await.unwrap();
        let answer = String::from_utf8(read_to_end(stream).await).unwrap();
        assert!(answer.starts_with(SERVED) && answer.ends_with("whole"), "{answer}");
    }
    assert!(server.ask(2).await.starts_with(SERVED));
}

#[tokio::test]
async fn all_bodies_together_have_their_bound() {
    let server = Served::new().await;
    let mut held = Vec::new();
    for from in 2..6 {
        for _ in 0..2 {
            held.push(server.send("/hold", from, BODY - 1).await);
        }
    }
    server.holds(8 * (BODY - 1)).await;
    assert!(server.ask(6).await.starts_with(REFUSED));
    // Who asks for something without a body is served.
    serves_others(server.address).await;
    held.truncate(6);
    server.serves_again(6).await;
}

#[tokio::test]
async fn bodies_over_http2_count_as_well() {
    let server = Served::new().await;
    let mut peer = Peer::connect(server.address, &[]).await;
    // The windows of streams are those of the settings once these are acknowledged.
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
    assert!(server.ask(1).await.starts_with(REFUSED));
    assert!(server.ask(2).await.starts_with(SERVED));
    drop(peer);
    server.serves_again(1).await;
}

#[tokio::test]
async fn what_is_too_large_counts_to_the_limit_and_is_refused_for_that() {
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
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(server.ask(1).await.starts_with(SERVED));
}
