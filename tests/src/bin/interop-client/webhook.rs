//! A webhook receiver.

use a2a_core::{
    TaskState,
    v1::{StreamResponse, stream_response::Payload},
};
use axum::{Router, routing::post};
use bytes::Bytes;
use http::HeaderMap;
use serde::Deserialize;
use tokio::{net::TcpListener, sync::mpsc, task::AbortHandle};

use crate::expect::{Result, same};

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

    /// Waits for the delivery of the completed task, and returns its headers.
    pub(crate) async fn completed(&mut self, task_id: &str) -> Result<HeaderMap> {
        loop {
            let (headers, body) = self.deliveries.recv().await.ok_or("the receiver has stopped")?;
            let older: OlderTask = serde_json::from_slice(&body)?;
            if older.kind == "task" {
                if older.status.is_some_and(|status| status.state == "completed") {
                    same(older.id.as_str(), task_id, "task id of the delivery")?;
                    return Ok(headers);
                }
                continue;
            }
            let response: StreamResponse = a2a_core::json::from_slice(&body)?;
            let (id, status) = match response.payload {
                Some(Payload::Task(task)) => (task.id, task.status),
                Some(Payload::StatusUpdate(update)) => (update.task_id, update.status),
                Some(Payload::Message(_) | Payload::ArtifactUpdate(_)) | None => continue,
            };
            if status.is_some_and(|status| status.state() == TaskState::Completed) {
                same(id.as_str(), task_id, "task id of the delivery")?;
                return Ok(headers);
            }
        }
    }
}

/// The checked members of a 0.3 delivery, which is a whole task.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OlderTask {
    kind: String,
    id: String,
    status: Option<OlderStatus>,
}

#[derive(Debug, Deserialize)]
struct OlderStatus {
    state: String,
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.server.abort();
    }
}
