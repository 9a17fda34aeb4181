//! A server to do harm to, and what shows that none was done.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_http::{
    Limits, Server,
    client::{ClientSettings, HttpClient},
};
use axum::{Router, routing::get};
use bytes::Bytes;
use tokio::{
    io::AsyncReadExt as _,
    net::TcpStream,
    time::{sleep, timeout},
};

/// More than any of these tests may take.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A time that the servers of these tests give their peers.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

pub(crate) async fn start(router: Router, limits: Limits) -> SocketAddr {
    let router = router.route("/normal", get(async || "served"));
    let listener = a2a_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::new(router).with_limits(limits);
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// Somebody else is served, over both versions of HTTP.
pub(crate) async fn serves_others(address: SocketAddr) {
    for http2 in [false, true] {
        let settings = ClientSettings::default().with_http2_prior_knowledge(http2);
        let request = http::Request::get(format!("http://{address}/normal"));
        let client = HttpClient::new(settings).unwrap();
        let answer = client.send(request.body(Bytes::new()).unwrap());
        let answer = timeout(LONG, answer).await.expect("an answer").unwrap();
        assert_eq!(answer.body(), "served");
    }
}

/// Reads to the end, which may be a reset.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("the connection is closed");
    bytes
}

/// Counts what lives.
#[derive(Clone, Default)]
pub(crate) struct Living(Arc<AtomicUsize>);

pub(crate) struct Life(Arc<AtomicUsize>);

impl Living {
    pub(crate) fn begin(&self) -> Life {
        self.0.fetch_add(1, Ordering::SeqCst);
        Life(Arc::clone(&self.0))
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
        assert!(found.is_ok(), "{} live, not {expected}", self.count());
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
