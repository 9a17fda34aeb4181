//! What HTTP/2 lets a peer ask for that costs it nothing.

use std::{convert::Infallible, time::Duration};

use a2a_http::{
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
    running::{LONG, Living, SHORT, serves_others, start},
};

/// A route whose requests never end, and how many there are.
fn endless() -> (Router, Living) {
    let living = Living::default();
    let begun = living.clone();
    let handler = async move || {
        let _life = begun.begin();
        std::future::pending::<&str>().await
    };
    (Router::new().route("/", route(handler)), living)
}

#[tokio::test]
async fn requests_that_are_taken_back_at_once_end_the_connection() {
    let (router, living) = endless();
    let address = start(router, Limits::default()).await;
    let mut peer = Peer::connect(address, &[]).await;
    let mut flood = Vec::new();
    for number in 0..20_000_u32 {
        let stream = 2 * number + 1;
        flood.extend(get(stream));
        flood.extend(frame(RESET, 0, stream, &8_u32.to_be_bytes()));
    }
    // It may be closed before all is sent.
    drop(timeout(LONG, peer.send(&flood)).await.expect("it is read, or closed"));
    let farewell = peer.farewell().await;
    assert!(matches!(farewell, None | Some(ENHANCE_YOUR_CALM)), "{farewell:?}");
    living.reaches(0).await;
    serves_others(address).await;
}

#[tokio::test]
async fn requests_at_a_time_are_bounded_and_more_are_refused() {
    let (router, living) = endless();
    let address = start(router, Limits::default().with_max_concurrent_streams(4)).await;
    let mut peer = Peer::connect(address, &[]).await;
    for number in 0..10 {
        peer.send(&get(2 * number + 1)).await.unwrap();
    }
    for _ in 4..10 {
        let refused = peer.next_answering().await.unwrap();
        assert_eq!((refused.kind, refused.code()), (RESET, REFUSED_STREAM));
    }
    living.reaches(4).await;
    serves_others(address).await;
    drop(peer);
    living.reaches(0).await;
}

#[tokio::test]
async fn a_head_that_never_ends_ends_the_connection() {
    let address = start(Router::new(), Limits::default()).await;
    let mut peer = Peer::connect(address, &[]).await;
    peer.send(&frame(HEADERS, END_STREAM, 1, GET)).await.unwrap();
    // A header that is not to be indexed, with a name and a value of a letter, again and again.
    let piece = frame(CONTINUATION, 0, 1, &[0, 1, b'x', 1, b'x'].repeat(3_000));
    let mut sent = 0_usize;
    let flood = async {
        while peer.send(&piece).await.is_ok() {
            sent += piece.len();
            assert!(sent < 64 << 20, "it is read for ever");
        }
    };
    timeout(LONG, flood).await.expect("the connection is closed");
    serves_others(address).await;
}

#[tokio::test]
async fn who_sends_and_never_reads_the_answers_is_closed() {
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
                assert!(sent < 1 << 30, "it is read for ever");
            }
        };
        timeout(LONG, sending).await.expect("the connection is closed");
        serves_others(address).await;
    }
}

#[tokio::test]
async fn what_a_peer_does_not_take_is_let_go_of() {
    let living = Living::default();
    let begun = living.clone();
    let answer = async move || {
        let life = begun.begin();
        let pieces =
            futures_util::stream::repeat(Bytes::from(vec![0; 1 << 20])).map(move |piece| {
                let _ = &life;
                Ok::<_, Infallible>(piece)
            });
        Body::from_stream(pieces)
    };
    let whole = async || Bytes::from(vec![0; 4 << 20]);
    let router = Router::new().route("/", route(answer)).route("/whole", route(whole));
    let address = start(router, Limits::default().with_write_timeout(SHORT)).await;
    // Windows of nothing, and of some bytes: a stream is held back either way.
    for window in [0, 100] {
        let mut peer = Peer::connect(address, &[(4, window)]).await;
        for number in 0..50 {
            peer.send(&get(2 * number + 1)).await.unwrap();
        }
        let mut reset = 0;
        while reset < 50 {
            let found = peer.next_answering().await.expect("the connection itself is well");
            assert_ne!(found.kind, GOAWAY);
            reset += usize::from(found.kind == RESET);
        }
        living.reaches(0).await;
        serves_others(address).await;
    }
    // One that reads is served to the end, however slowly it lets others be sent.
    let settings = ClientSettings::default().with_http2_prior_knowledge(true);
    let request = http::Request::get(format!("http://{address}/whole"));
    let request = request.body(Bytes::new()).unwrap();
    let answer = HttpClient::new(settings).unwrap().send(request).await.unwrap();
    assert_eq!(answer.body().len(), 4 << 20);
}

#[tokio::test]
async fn a_connection_that_asks_for_nothing_more_is_asked_to_leave() {
    let limits = Limits::default()
        .with_first_request_timeout(SHORT)
        .with_idle_timeout(SHORT)
        .with_grace(SHORT);
    let (router, living) = endless();
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
    assert_eq!(peer.farewell().await, Some(0), "it leaves in peace");

    // One that waits for its answer is not idle.
    let mut peer = Peer::connect(address, &[]).await;
    peer.send(&get(1)).await.unwrap();
    living.reaches(1).await;
    tokio::time::sleep(SHORT * 4).await;
    assert_eq!(living.count(), 1);
    peer.send(&frame(RESET, 0, 1, &8_u32.to_be_bytes())).await.unwrap();
    living.reaches(0).await;
    assert_eq!(peer.farewell().await, Some(0));
}

#[tokio::test]
async fn a_body_that_is_never_sent_is_not_waited_for() {
    let living = Living::default();
    let begun = living.clone();
    let read = async move |body: Body| {
        let _life = begun.begin();
        // As gRPC does it, with no time of its own.
        axum::body::to_bytes(body, 1 << 20)
            .await
            .map_or_else(|error| error.to_string(), |_| "?".into())
    };
    let router = Router::new().route("/", route(read));
    let limits = Limits::default().with_body_read_timeout(SHORT).with_body_time(SHORT * 3);
    let address = start(router, limits).await;
    for drips in [false, true] {
        let mut peer = Peer::connect(address, &[]).await;
        peer.send(&frame(HEADERS, END_HEADERS, 1, GET)).await.unwrap();
        living.reaches(1).await;
        let ended = async {
            while living.count() > 0 {
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
