//! HTTP/2 requests and frames that cost the peer nothing.

use std::{convert::Infallible, time::Duration};

use a2a_kit_http::{
    Limits,
    client::{ClientSettings, HttpClient},
};
use axum::{Router, body::Body, routing::get as route};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::time::timeout;

use crate::{
    frames::{
        CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, GET, GOAWAY, HEADERS, PING,
        Peer, REFUSED_STREAM, RESET, SETTINGS, frame, get,
    },
    support::{InFlight, LONG, SHORT, serves_others, start},
};

/// A route whose requests never end, and the number of requests in flight.
fn endless() -> (Router, InFlight) {
    let in_flight = InFlight::default();
    let counter = in_flight.clone();
    let handler = async move || {
        let _guard = counter.enter();
        std::future::pending::<&str>().await
    };
    (Router::new().route("/", route(handler)), in_flight)
}

#[tokio::test]
async fn rapid_reset_closes_the_connection() {
    let (router, in_flight) = endless();
    let address = start(router, Limits::default()).await;
    let mut peer = Peer::connect(address, &[]).await;
    let mut flood = Vec::new();
    for number in 0..20_000_u32 {
        let stream = 2 * number + 1;
        flood.extend(get(stream));
        flood.extend(frame(RESET, 0, stream, &8_u32.to_be_bytes()));
    }
    // The server may close the connection before all is sent.
    drop(
        timeout(LONG, peer.send(&flood))
            .await
            .expect("the flood is read, or the connection closed"),
    );
    let goaway_code = peer.goaway_code().await;
    assert!(matches!(goaway_code, None | Some(ENHANCE_YOUR_CALM)), "{goaway_code:?}");
    in_flight.reaches(0).await;
    serves_others(address).await;
}

#[tokio::test]
async fn streams_beyond_the_concurrency_limit_are_refused() {
    let (router, in_flight) = endless();
    let address = start(router, Limits::default().with_max_concurrent_streams(4)).await;
    let mut peer = Peer::connect(address, &[]).await;
    for number in 0..10 {
        peer.send(&get(2 * number + 1)).await.unwrap();
    }
    for _ in 4..10 {
        let refused = peer.next_acknowledging().await.unwrap();
        assert_eq!((refused.kind, refused.code()), (RESET, REFUSED_STREAM));
    }
    in_flight.reaches(4).await;
    serves_others(address).await;
    drop(peer);
    in_flight.reaches(0).await;
}

#[tokio::test]
async fn continuation_flood_closes_the_connection() {
    let address = start(Router::new(), Limits::default()).await;
    let mut peer = Peer::connect(address, &[]).await;
    peer.send(&frame(HEADERS, END_STREAM, 1, GET)).await.unwrap();
    // A literal header without indexing, with a name and a value of one letter, repeated.
    let piece = frame(CONTINUATION, 0, 1, &[0, 1, b'x', 1, b'x'].repeat(3_000));
    let mut sent = 0_usize;
    let flood = async {
        while peer.send(&piece).await.is_ok() {
            sent += piece.len();
            assert!(sent < 64 << 20, "it is read without a limit");
        }
    };
    timeout(LONG, flood).await.expect("the connection is closed");
    serves_others(address).await;
}

#[tokio::test]
async fn peer_that_never_reads_acknowledgements_is_disconnected() {
    let limits = Limits::default()
        .with_write_timeout(SHORT)
        .with_first_request_timeout(2 * LONG)
        .with_max_control_frames(u32::MAX);
    let address = start(Router::new(), limits).await;
    for flood in [frame(PING, 0, 0, &[7; 8]), frame(SETTINGS, 0, 0, &[])] {
        let mut peer = Peer::connect(address, &[]).await;
        let flood = flood.repeat(10_000);
        let mut sent = 0_usize;
        let sending = async {
            while peer.send(&flood).await.is_ok() {
                sent += flood.len();
                assert!(sent < 1 << 30, "it is read without a limit");
            }
        };
        timeout(LONG, sending).await.expect("the connection is closed");
        serves_others(address).await;
    }
}

#[tokio::test]
async fn unread_streams_are_reset_and_dropped() {
    let in_flight = InFlight::default();
    let counter = in_flight.clone();
    let response = async move || {
        let guard = counter.enter();
        let pieces =
            futures_util::stream::repeat(Bytes::from(vec![0; 1 << 20])).map(move |piece| {
                let _ = &guard;
                Ok::<_, Infallible>(piece)
            });
        Body::from_stream(pieces)
    };
    let whole = async || Bytes::from(vec![0; 4 << 20]);
    let router = Router::new().route("/", route(response)).route("/whole", route(whole));
    let address = start(router, Limits::default().with_write_timeout(SHORT)).await;
    // Windows of 0 and of a few bytes: both block the stream.
    for window in [0, 100] {
        let mut peer = Peer::connect(address, &[(4, window)]).await;
        for number in 0..50 {
            peer.send(&get(2 * number + 1)).await.unwrap();
        }
        let mut reset = 0;
        while reset < 50 {
            let found = peer.next_acknowledging().await.expect("the connection stays open");
            assert_ne!(found.kind, GOAWAY);
            reset += usize::from(found.kind == RESET);
        }
        in_flight.reaches(0).await;
        serves_others(address).await;
    }
    // A peer that reads is served to the end.
    let settings = ClientSettings::default().with_http2_prior_knowledge(true);
    let request = http::Request::get(format!("http://{address}/whole"));
    let request = request.body(Bytes::new()).unwrap();
    let response = HttpClient::new(settings).unwrap().send(request).await.unwrap();
    assert_eq!(response.body().len(), 4 << 20);
}

#[tokio::test]
async fn idle_connection_gets_a_goaway() {
    let limits = Limits::default()
        .with_first_request_timeout(SHORT)
        .with_idle_timeout(SHORT)
        .with_drain_timeout(SHORT);
    let (router, in_flight) = endless();
    let router = router.route("/x", route(async || "x"));
    let address = start(router, limits).await;
    let mut peer = Peer::connect(address, &[]).await;
    peer.send(&frame(
        HEADERS,
        END_STREAM | END_HEADERS,
        1,
        &[0x82, 0x86, 0x04, 2, b'/', b'x', 0x41, 1, b'a'],
    ))
    .await
    .unwrap();
    assert_eq!(peer.goaway_code().await, Some(0), "a graceful GOAWAY");

    // A connection that waits for a response is not idle.
    let mut peer = Peer::connect(address, &[]).await;
    peer.send(&get(1)).await.unwrap();
    in_flight.reaches(1).await;
    tokio::time::sleep(SHORT * 4).await;
    assert_eq!(in_flight.count(), 1);
    peer.send(&frame(RESET, 0, 1, &8_u32.to_be_bytes())).await.unwrap();
    in_flight.reaches(0).await;
    assert_eq!(peer.goaway_code().await, Some(0));
}

#[tokio::test]
async fn stalled_request_body_ends_the_request() {
    let in_flight = InFlight::default();
    let counter = in_flight.clone();
    let read = async move |body: Body| {
        let _guard = counter.enter();
        // Like gRPC, without a timeout of its own.
        axum::body::to_bytes(body, 1 << 20)
            .await
            .map_or_else(|error| error.to_string(), |_| "?".into())
    };
    let router = Router::new().route("/", route(read));
    let limits = Limits::default().with_body_read_timeout(SHORT).with_body_total_timeout(SHORT * 3);
    let address = start(router, limits).await;
    for drips in [false, true] {
        let mut peer = Peer::connect(address, &[]).await;
        peer.send(&frame(HEADERS, END_HEADERS, 1, GET)).await.unwrap();
        in_flight.reaches(1).await;
        let ended = async {
            while in_flight.count() > 0 {
                if drips {
                    peer.send(&frame(DATA, 0, 1, b"x")).await.unwrap();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LONG, ended).await.expect("the request ends");
        serves_others(address).await;
    }
}
