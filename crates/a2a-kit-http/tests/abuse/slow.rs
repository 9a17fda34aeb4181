//! Slow peers.

use std::{convert::Infallible, time::Duration};

use a2a_kit_http::{Limits, body};
use axum::{
    Router,
    body::Body,
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::StatusCode;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::sleep};

use crate::support::{InFlight, SHORT, connect, read_to_end, serves_others, start};

fn reading(limits: &Limits) -> Router {
    let limits = limits.clone();
    let read = async move |body: Body| match body::read(body, &limits).await {
        Ok(body) => (StatusCode::OK, body.len().to_string()),
        Err(error) => {
            (StatusCode::from_u16(error.kind().codes().http).unwrap(), error.message().to_owned())
        }
    };
    Router::new().route("/", post(read))
}

async fn drip(stream: &mut TcpStream, bytes: &'static [u8]) {
    for byte in bytes.iter().cycle() {
        if stream.write_all(&[*byte]).await.is_err() {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn slow_body_exceeds_the_total_timeout() {
    let limits = Limits::default().with_body_total_timeout(SHORT * 2);
    let address = start(reading(&limits), limits).await;
    let mut slow = Vec::new();
    for head in ["content-length: 1000000", "transfer-encoding: chunked"] {
        let mut stream = connect(address).await;
        let head = format!("POST / HTTP/1.1\r\nhost: a\r\n{head}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        slow.push(tokio::spawn(async move {
            let (mut reader, mut writer) = stream.into_split();
            let dripping = tokio::spawn(async move {
                for byte in b"1\r\nx\r\n".iter().cycle() {
                    if writer.write_all(&[*byte]).await.is_err() {
                        return;
                    }
                    sleep(Duration::from_millis(20)).await;
                }
            });
            let mut response = Vec::new();
            let _ = tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut response).await;
            dripping.abort();
            String::from_utf8(response).unwrap()
        }));
    }
    serves_others(address).await;
    for slow in slow {
        let response = tokio::time::timeout(crate::support::LONG, slow).await.unwrap().unwrap();
        assert!(response.starts_with("HTTP/1.1 504 "), "{response}");
        assert!(response.contains("timed out reading the request body"), "{response}");
    }
}

#[tokio::test]
async fn slow_head_closes_the_connection() {
    let limits = Limits::default().with_header_read_timeout(SHORT);
    let address = start(Router::new(), limits).await;
    for first in [false, true] {
        let mut stream = connect(address).await;
        if !first {
            stream.write_all(b"GET /normal HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        }
        stream.write_all(b"GET /normal HTTP/1.1\r\nhost: a\r\nx: ").await.unwrap();
        tokio::time::timeout(crate::support::LONG, drip(&mut stream, b"x")).await.expect("closed");
    }
    serves_others(address).await;
}

#[tokio::test]
async fn unread_response_closes_the_connection_and_is_dropped() {
    let in_flight = InFlight::default();
    let (one, other) = (in_flight.clone(), in_flight.clone());
    // A response in one chunk, and an endless stream.
    let whole = async move || {
        let guard = one.enter();
        let body = Bytes::from(vec![0; 16 << 20]);
        Body::from_stream(futures_util::stream::iter([body]).map(move |body| {
            let _ = &guard;
            Ok::<_, Infallible>(body)
        }))
    };
    let endless = async move || {
        let guard = other.enter();
        Body::from_stream(futures_util::stream::repeat(Bytes::from(vec![0; 64 << 10])).map(
            move |body| {
                let _ = &guard;
                Ok::<_, Infallible>(body)
            },
        ))
    };
    let router = Router::new().route("/whole", get(whole)).route("/endless", get(endless));
    let address = start(router, Limits::default().with_write_timeout(SHORT)).await;
    let mut held = Vec::new();
    for path in ["/whole", "/endless"] {
        for _ in 0..5 {
            let mut stream = connect(address).await;
            let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            held.push(stream);
        }
    }
    serves_others(address).await;
    in_flight.reaches(0).await;
    for mut stream in held {
        read_to_end(&mut stream).await;
    }
}

#[tokio::test]
async fn connections_per_address_are_limited() {
    let limits = Limits::default().with_max_connections_per_address(3);
    let address = start(Router::new(), limits).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = connect(address).await;
        // The response shows that the connection was accepted.
        stream.write_all(b"GET /normal HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut buffer = [0; 512];
        let count = tokio::io::AsyncReadExt::read(&mut stream, &mut buffer).await.unwrap();
        assert!(buffer[..count].ends_with(b"served"));
        held.push(stream);
    }
    for _ in 0..100 {
        let mut refused = connect(address).await;
        assert!(read_to_end(&mut refused).await.is_empty());
    }
    drop(held);
    // Waits for the connections to close: the check opens one per HTTP version.
    sleep(SHORT).await;
    serves_others(address).await;
}
