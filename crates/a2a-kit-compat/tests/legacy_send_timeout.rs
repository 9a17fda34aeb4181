//! The timeout of `tasks/send` of 0.1.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{sync::Arc, time::Duration};

use a2a_core::AgentCard;
use a2a_kit_compat::{ServerOptions, server};
use a2a_kit_operations::{AgentExecutor, BoxError, Engine, RequestContext, TaskUpdater};
use axum::{Router, body::Body};
use http::{Request, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::Instant};
use tower::ServiceExt as _;

const SEND_TIMEOUT: Duration = Duration::from_secs(7);

/// Completes when signaled.
#[derive(Clone, Default)]
struct Slow(Arc<Notify>);

impl AgentExecutor for Slow {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        self.0.notified().await;
        updates.complete("done").await?;
        Ok(())
    }
}

fn router(agent: &Slow) -> Router {
    let card = AgentCard::new("Slow", "Takes its time");
    let options = ServerOptions::default().with_legacy_send_timeout(SEND_TIMEOUT);
    server::jsonrpc(Engine::builder(card, agent.clone()).build(), options)
}

async fn ask(router: &Router, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = Request::post("/").header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice::<Value>(&body).unwrap()["result"].take()
}

fn message() -> Value {
    json!({"role": "user", "parts": [{"type": "text", "text": "go"}]})
}

#[tokio::test(start_paused = true)]
async fn send_returns_the_working_task_after_the_timeout() {
    let agent = Slow::default();
    let router = router(&agent);
    for params in [
        json!({"id": "mine", "message": message()}),
        json!({"id": "other", "sessionId": "s", "message": message(), "historyLength": 5}),
        json!({"id": "third", "sessionId": "s", "message": message()}),
    ] {
        let before = Instant::now();
        let task = ask(&router, "tasks/send", params.clone()).await;
        assert_eq!(before.elapsed().as_secs(), SEND_TIMEOUT.as_secs(), "{task}");
        assert_eq!(task["id"], params["id"]);
        assert_eq!(task["status"]["state"], "working", "{task}");
        let history = task["history"].as_array().map_or(0, Vec::len);
        assert_eq!(history, params["historyLength"].as_u64().map_or(0, |_| 1), "{task}");
        if params["sessionId"].is_string() {
            assert_eq!(task["sessionId"], params["sessionId"]);
        }

        // The task continues, and has the id of the client.
        agent.0.notify_one();
        let watched = ask(&router, "tasks/get", json!({"id": params["id"]}));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(watched.await["status"]["state"], "completed");
    }
}

#[tokio::test(start_paused = true)]
async fn send_returns_the_completed_task_before_the_timeout() {
    let agent = Slow::default();
    agent.0.notify_one();
    let params = json!({"id": "mine", "message": message()});
    let task = ask(&router(&agent), "tasks/send", params).await;
    assert_eq!(task["status"]["state"], "completed", "{task}");
}
