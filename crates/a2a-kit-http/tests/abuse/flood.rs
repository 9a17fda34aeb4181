//! HTTP/2 control frame floods.

use std::{convert::Infallible, time::Duration};

use a2a_kit_http::Limits;
use axum::{Router, body::Body, routing::get as route};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::time::{sleep, timeout};

use crate::{
    frames::{
        ACK, DATA, END_STREAM, Frame, GOAWAY, PING, PRIORITY, Peer, RESET, SETTINGS, WINDOW_UPDATE,
        frame, get,
    },
    support::{LONG, serves_others, start},
};

/// An unknown frame type, which has to be ignored (RFC 9113 §5.5).
const UNKNOWN: u8 = 0xbe;

fn ping() -> Vec<u8> {
    frame(PING, 0, 0, &[7; 8])
}

#[tokio::test]
async fn flooding_peer_that_reads_is_disconnected() {
    let endless = Router::new().route("/", route(std::future::pending::<&str>));
    let address = start(endless, Limits::default()).await;
    for (what, one) in [
        ("pings", ping()),
        ("ping acknowledgements", frame(PING, ACK, 0, &[7; 8])),
        ("settings", frame(SETTINGS, 0, 0, &[])),
        ("priorities", frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 16])),
        ("window updates", frame(WINDOW_UPDATE, 0, 1, &1_u32.to_be_bytes())),
        ("unknown frames", frame(UNKNOWN, 0, 0, b"x")),
        ("empty data", frame(DATA, 0, 1, &[])),
    ] {
        let mut peer = Peer::connect(address, &[]).await;
        let open = get(1);
        // DATA requires an open request body.
        let open = if what == "empty data" {
            let mut open = open;
            open[4] &= !END_STREAM;
            open
        } else {
            open
        };
        peer.send(&open).await.unwrap();
        let Peer { mut reader, mut writer } = peer;
        let reading =
            tokio::spawn(async move { tokio::io::copy(&mut reader, &mut tokio::io::sink()).await });
        let flood = one.repeat(100);
        let flooding = async {
            let mut sent = 0;
            while tokio::io::AsyncWriteExt::write_all(&mut writer, &flood).await.is_ok() {
                sent += 100;
                assert!(sent < 10_000_000, "{what} are accepted without a limit");
            }
        };
        timeout(LONG, flooding)
            .await
            .unwrap_or_else(|_late| panic!("{what}: the connection stays open"));
        let _ended = timeout(LONG, reading)
            .await
            .unwrap_or_else(|_late| panic!("{what}: the reader stays open"));
        serves_others(address).await;
    }
}

#[tokio::test]
async fn occasional_pings_are_acknowledged() {
    let limits = Limits::default().with_max_control_frames(50);
    let address = start(Router::new(), limits).await;
    let mut peer = Peer::connect(address, &[]).await;
    let mut answered = 0;
    while answered < 40 {
        peer.send(&ping()).await.unwrap();
        while !matches!(peer.next().await.unwrap(), Frame { kind: PING, flags: ACK, .. }) {}
        answered += 1;
        sleep(Duration::from_millis(5)).await;
    }
    serves_others(address).await;
}

/// Simulates gRPC clients that estimate bandwidth during a stream of small events, and return
/// window for each frame at once.
#[tokio::test]
async fn frequent_pings_and_window_updates_of_a_reader_are_accepted() {
    let events = || {
        let pieces = stream::iter(0..3_000).map(|_| Ok::<_, Infallible>(Bytes::from(vec![0; 100])));
        // One by one, like events.
        Body::from_stream(pieces.then(async |piece| {
            tokio::task::yield_now().await;
            piece
        }))
    };
    let router = Router::new().route("/", route(async move || events()));
    let limits = Limits::default().with_max_control_frames(50);
    let address = start(router, limits).await;
    let mut peer = Peer::connect(address, &[]).await;
    peer.send(&get(1)).await.unwrap();
    let mut read = 0;
    loop {
        let found = peer.next().await.expect("the connection stays open until the end");
        assert!(![GOAWAY, RESET].contains(&found.kind), "{found:?}");
        if found.kind != DATA {
            continue;
        }
        read += found.payload.len();
        if found.flags & END_STREAM != 0 {
            break;
        }
        let size = u32::try_from(found.payload.len()).unwrap().to_be_bytes();
        let updates =
            [frame(WINDOW_UPDATE, 0, 0, &size), frame(WINDOW_UPDATE, 0, 1, &size), ping()];
        peer.send(&updates.concat()).await.unwrap();
    }
    assert_eq!(read, 300_000);
}
