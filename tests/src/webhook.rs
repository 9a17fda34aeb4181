//! A webhook receiver.

use std::time::Duration;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use tokio::{sync::mpsc, task::JoinHandle};

/// A received request.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub headers: HeaderMap,
    pub body: serde_json::Value,
}

/// Listens on the loopback interface and records deliveries.
#[derive(Debug)]
pub struct Receiver {
    pub url: String,
    deliveries: mpsc::UnboundedReceiver<Delivery>,
    server: JoinHandle<()>,
}

impl Receiver {
    /// Responds with 503 to the first `failures` deliveries, and with 200 to the others.
    pub async fn start(failures: usize) -> Self {
        let (sender, deliveries) = mpsc::unbounded_channel();
        let left = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(failures));
        let receive = move |State(sender): State<mpsc::UnboundedSender<Delivery>>,
                            headers: HeaderMap,
                            body: Bytes| async move {
            use std::sync::atomic::Ordering::SeqCst;
            if left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
                return StatusCode::SERVICE_UNAVAILABLE;
            }
            let body = serde_json::from_slice(&body).expect("JSON");
            let _ = sender.send(Delivery { headers, body });
            StatusCode::OK
        };
        let router = Router::new().route("/hook", post(receive)).with_state(sender);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("serving");
        });
        Self { url, deliveries, server }
    }

    /// Waits for the next delivery.
    pub async fn next(&mut self) -> Delivery {
        let limit = Duration::from_secs(10);
        let next = tokio::time::timeout(limit, self.deliveries.recv()).await;
        next.expect("a delivery in time").expect("the receiver runs")
    }

    /// The number of unread deliveries.
    pub fn pending(&mut self) -> usize {
        self.deliveries.len()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}
