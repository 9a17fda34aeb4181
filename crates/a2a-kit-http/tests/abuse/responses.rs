//! Memory budget of unread responses.

use std::net::SocketAddr;

use a2a_core::v1::{Message, StreamResponse, stream_response::Payload};
use a2a_kit_http::{Drain, Limits, sse};
use a2a_kit_operations::{Event, EventId, EventStream};
use axum::{Router, extract::Path, routing::get};
use futures_util::{StreamExt as _, stream};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
    time::{sleep, timeout},
};

use crate::{
    frames::{DATA, END_HEADERS, END_STREAM, HEADERS, Peer, RESET, frame},
    support::{LONG, SHORT, read_to_end, serves_others, start},
};

/// `SETTINGS_INITIAL_WINDOW_SIZE`.
const WINDOW: u16 = 4;
const RESPONSE: usize = 256 << 10;
const SERVED: &str = "HTTP/1.1 200 ";
const REFUSED: &str = "HTTP/1.1 503 ";

/// Serves `/a`, `/b`, … with a response of that letter each, and `/events/{count}` with a stream
/// that starts with events as large as one response, two, …. The budget fits nine responses, two of
/// each address.
async fn served() -> SocketAddr {
    let limits = Limits::default().with_max_pending_response_bytes(9 * RESPONSE);
    served_within(limits).await
}

async fn served_within(limits: Limits) -> SocketAddr {
    let large = async |Path(letter): Path<String>| letter.repeat(RESPONSE);
    let of_events = limits.clone();
    let events = async move |Path(count): Path<u64>| {
        let event = |position| {
            let text = "x".repeat(RESPONSE * usize::try_from(position).unwrap());
            let payload = Some(Payload::Message(Message::user(text)));
            Ok(Event::new(EventId::new(position), StreamResponse { payload }))
        };
        let events = stream::iter(1..=count).map(event).chain(stream::pending());
        sse::response(EventStream::new(events), &of_events, &Drain::new(), |item, out| {
            out.push(item.as_ref().unwrap().json());
        })
    };
    let router = Router::new().route("/{letter}", get(large)).route("/events/{count}", get(events));
    start(router, limits).await
}

/// HEADERS frame of `GET path` with the authority `a` (RFC 7541).
fn get_frame(stream: u32, path: &str) -> Vec<u8> {
    let length = u8::try_from(path.len()).unwrap();
    let head = [&[0x82, 0x86, 0x04, length][..], path.as_bytes(), &[0x41, 1, b'a']].concat();
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &head)
}

/// Requests these paths on one connection with a window of 0, and waits for the response heads.
async fn held(address: SocketAddr, paths: &[&str]) -> Peer {
    let mut peer = Peer::connect(address, &[(WINDOW, 0)]).await;
    for (number, path) in (0..).zip(paths) {
        peer.send(&get_frame(2 * number + 1, path)).await.unwrap();
    }
    for _ in paths {
        let head = peer.next_acknowledging().await.unwrap();
        assert_eq!((head.kind, head.flags & END_STREAM), (HEADERS, 0));
    }
    peer
}

async fn get_from(address: SocketAddr, from: u8, path: &str) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, from], 0).into()).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    String::from_utf8(read_to_end(&mut stream).await).unwrap()
}

/// Retries until the budget has room: the server notices a disconnect with a delay.
async fn serves_again(address: SocketAddr, path: &str) {
    let retries = async {
        while !get_from(address, 1, path).await.starts_with(SERVED) {
            sleep(SHORT / 10).await;
        }
    };
    timeout(LONG, retries).await.expect("the budget has room again");
}

#[tokio::test]
async fn address_with_unread_responses_is_refused_and_others_are_served() {
    let address = served().await;
    let peer = held(address, &["/a", "/b"]).await;
    let response = get_from(address, 1, "/c").await;
    assert!(response.starts_with(REFUSED), "{response}");
    assert!(response.contains("\r\nretry-after: 1\r\n"), "{response}");
    assert!(response.contains("max_pending_response_bytes"), "{response}");
    assert!(response.contains("\"status\":\"UNAVAILABLE\""), "{response}");
    // Small responses and other addresses are served.
    serves_others(address).await;
    let response = get_from(address, 2, "/c").await;
    assert!(response.starts_with(SERVED) && response.ends_with(&"c".repeat(RESPONSE)));
    drop(peer);
    serves_again(address, "/c").await;
}

#[tokio::test]
async fn equal_responses_share_one_buffer() {
    let address = served().await;
    // Each is half of the limit of the address.
    let peer = held(address, &["/a"; 50]).await;
    let others = held(address, &["/b"; 50]).await;
    assert!(get_from(address, 1, "/c").await.starts_with(REFUSED));
    drop(peer);
    serves_again(address, "/c").await;
    drop(others);
}

#[tokio::test]
async fn response_larger_than_the_budget_is_served_alone() {
    let limits = Limits::default().with_max_pending_response_bytes(RESPONSE / 2);
    let address = served_within(limits).await;
    assert!(get_from(address, 1, "/a").await.ends_with(&"a".repeat(RESPONSE)));
    let peer = held(address, &["/a"]).await;
    for from in 1..3 {
        assert!(get_from(address, from, "/b").await.starts_with(REFUSED));
    }
    drop(peer);
    serves_again(address, "/b").await;
}

#[tokio::test]
async fn unread_http1_responses_count_against_the_budget() {
    let limits = Limits::default().with_max_pending_response_bytes(4 * 64 * RESPONSE);
    let large = async |Path(letter): Path<String>| letter.repeat(64 * RESPONSE);
    let router = Router::new().route("/{letter}", get(large));
    let address = start(router, limits).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    // More than the socket buffers hold.
    stream.write_all(b"GET /a HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    stream.readable().await.unwrap();
    assert!(get_from(address, 1, "/b").await.starts_with(REFUSED));
    assert!(get_from(address, 2, "/b").await.starts_with(SERVED));
    drop(stream);
    serves_again(address, "/b").await;
}

#[tokio::test]
async fn stream_is_refused_if_its_first_event_exceeds_the_budget() {
    let address = served().await;
    let peer = held(address, &["/a", "/b"]).await;
    assert!(get_from(address, 1, "/events/1").await.starts_with(REFUSED));
    drop(peer);
    serves_again(address, "/c").await;
    // Readers of the same events share one buffer.
    let peer = held(address, &["/events/1"; 50]).await;
    let others = held(address, &["/b"]).await;
    assert!(get_from(address, 1, "/c").await.starts_with(REFUSED));
    drop((peer, others));
}

#[tokio::test]
async fn stream_is_reset_at_an_event_beyond_the_budget() {
    let address = served().await;
    let mut peer = Peer::connect(address, &[(WINDOW, 0)]).await;
    peer.send(&get_frame(1, "/events/3")).await.unwrap();
    assert_eq!(peer.next_acknowledging().await.unwrap().kind, HEADERS);
    // The rest of the budget fits the first event, and not the second.
    let others = held(address, &["/b"]).await;
    let window = 1_u32 << 20;
    for stream in [0, 1] {
        peer.send(&frame(8, 0, stream, &window.to_be_bytes())).await.unwrap();
    }
    let mut sent = 0;
    let end = loop {
        let found = peer.next_acknowledging().await.unwrap();
        if found.kind != DATA {
            break found;
        }
        sent += found.payload.len();
    };
    assert_eq!(end.kind, RESET);
    assert!((RESPONSE..2 * RESPONSE).contains(&sent), "{sent}");
    drop(others);
}

#[tokio::test]
async fn stream_without_window_is_reset_at_the_write_timeout() {
    let limits = Limits::default().with_write_timeout(SHORT);
    let address = served_within(limits).await;
    let mut peer = held(address, &["/a", "/events/1"]).await;
    for _ in 0..2 {
        assert_eq!(peer.next_acknowledging().await.unwrap().kind, RESET);
    }
    serves_others(address).await;
}
