//! A webhook receiver.

use axum::{Router, body::Bytes, http::HeaderMap, routing::post};
use serde_json::Value;
use tokio::{net::TcpListener, sync::mpsc, task::AbortHandle};

use crate::expect::Result;

/// A server that queues deliveries.
#[derive(Debug)]
pub(crate) struct Webhook {
    pub(crate) url: String,
    deliveries: mpsc::Receiver<(HeaderMap, Bytes)>,
    server: AbortHandle,
}

impl Webhook {
    pub(crate) async fn listen() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        // Full only after far more deliveries than a task has events; then the sender waits.
        let (sender, deliveries) = mpsc::channel(64);
        let receive = move |headers: HeaderMap, body: Bytes| async move {
            drop(sender.send((headers, body)).await);
        };
        let router = Router::new().route("/hook", post(receive));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, deliveries, server: server.abort_handle() })
    }

    /// The next delivery: its headers and its body.
    pub(crate) async fn next(&mut self) -> Result<(HeaderMap, Value)> {
        let (headers, body) = self.deliveries.recv().await.ok_or("the receiver has stopped")?;
        Ok((headers, serde_json::from_slice(&body)?))
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.server.abort();
    }
}
