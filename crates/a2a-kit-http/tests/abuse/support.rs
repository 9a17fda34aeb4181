//! A server under attack, and checks that it still serves others.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_kit_http::{
    HttpServer, Limits,
    client::{ClientSettings, HttpClient},
};
use axum::{Router, routing::get};
use bytes::Bytes;
use tokio::{
    io::AsyncReadExt as _,
    net::TcpStream,
    time::{sleep, timeout},
};

/// Timeout of a test.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Timeouts of the servers in these tests.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

pub(crate) async fn start(router: Router, limits: Limits) -> SocketAddr {
    let router = router.route("/normal", get(async || "served"));
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = HttpServer::new(router).with_limits(limits);
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// Checks that other clients are served, over HTTP/1.1 and HTTP/2.
pub(crate) async fn serves_others(address: SocketAddr) {
    for http2 in [false, true] {
        let settings = ClientSettings::default().with_http2_prior_knowledge(http2);
        let request = http::Request::get(format!("http://{address}/normal"));
        let client = HttpClient::new(settings).unwrap();
        let response = client.send(request.body(Bytes::new()).unwrap());
        let response = timeout(LONG, response).await.expect("a response").unwrap();
        assert_eq!(response.body(), "served");
    }
}

/// Reads to the end, which may be a reset.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("the connection is closed");
    bytes
}

/// Counts requests in flight.
#[derive(Clone, Default)]
pub(crate) struct InFlight(Arc<AtomicUsize>);

pub(crate) struct InFlightGuard(Arc<AtomicUsize>);

impl InFlight {
    pub(crate) fn enter(&self) -> InFlightGuard {
        self.0.fetch_add(1, Ordering::SeqCst);
        InFlightGuard(Arc::clone(&self.0))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) async fn reaches(&self, expected: usize) {
        let reached = async {
            while self.count() != expected {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let found = timeout(LONG, reached).await;
        assert!(found.is_ok(), "{} in flight, expected {expected}", self.count());
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
