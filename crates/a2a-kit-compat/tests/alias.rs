//! Task ids that clients of 0.1 choose.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::AgentCard;
use a2a_kit_compat::{ServerOptions, server};
use a2a_kit_http::{WebhookPolicy, Webhooks};
use a2a_kit_operations::{AgentExecutor, BoxError, Engine, RequestContext, TaskUpdater};
use axum::{Router, body::Body};
use http::{Request, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{sync::Notify, task::JoinHandle};
use tower::ServiceExt as _;

/// Creates and completes a task when signaled.
#[derive(Clone, Default)]
struct Slow {
    begun: Arc<AtomicUsize>,
    started: Arc<Notify>,
    start: Arc<Notify>,
    complete: Arc<Notify>,
}

impl AgentExecutor for Slow {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.start.notified().await;
        updates.start().await?;
        self.started.notify_one();
        self.complete.notified().await;
        updates.complete("done").await?;
        Ok(())
    }
}

fn serve(agent: &Slow) -> Router {
    let loopback = "127.0.0.1/8".parse().unwrap();
    let policy = WebhookPolicy::default().with_allowed(loopback).with_http(true);
    let card = AgentCard::new("Slow", "Takes its time");
    let engine =
        Engine::builder(card, agent.clone()).push_sender(Webhooks::new(policy).unwrap()).build();
    server::jsonrpc(engine, ServerOptions::default())
}

async fn ask(router: Router, method: &str, params: Value) -> Value {
    let text = ask_for_text(router, method, params).await;
    serde_json::from_str(text.strip_prefix("data: ").unwrap_or(&text)).unwrap()
}

async fn ask_for_text(router: Router, method: &str, params: Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = Request::post("/").header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let response = router.oneshot(request).await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(body.into()).unwrap()
}

fn send(router: &Router, params: Value) -> JoinHandle<Value> {
    let router = router.clone();
    tokio::spawn(async move { ask(router, "tasks/send", params).await })
}

fn message() -> Value {
    json!({"role": "user", "parts": [{"type": "text", "text": "go"}]})
}

/// A blocking send whose task is working.
async fn sent(agent: &Slow, router: &Router, params: Value) -> JoinHandle<Value> {
    let sent = send(router, params);
    agent.start.notify_one();
    agent.started.notified().await;
    sent
}

#[tokio::test(start_paused = true)]
async fn task_of_a_waiting_send_can_be_read_and_canceled_by_client_id() {
    for session in [None, Some("s")] {
        let (agent, mine) = (Slow::default(), json!({"id": "mine"}));
        let router = serve(&agent);
        let params = json!({"id": "mine", "sessionId": session, "message": message()});
        let sent = sent(&agent, &router, params).await;

        let got = ask(router.clone(), "tasks/get", mine.clone()).await;
        assert_eq!(got["result"]["id"], "mine", "{got}");
        assert_eq!(got["result"]["status"]["state"], "working", "{got}");
        let canceled = ask(router.clone(), "tasks/cancel", mine.clone()).await;
        assert_eq!(canceled["result"]["status"]["state"], "canceled", "{canceled}");
        let sent = sent.await.unwrap();
        assert_eq!(sent["result"]["id"], "mine", "{sent}");
        assert_eq!(sent["result"]["status"]["state"], "canceled", "{sent}");
    }
}

#[tokio::test(start_paused = true)]
async fn task_of_a_waiting_send_supports_webhooks_and_streams() {
    let agent = Slow::default();
    let router = serve(&agent);
    let webhook = json!({"url": "http://127.0.0.1:9/"});
    let params = json!({"id": "mine", "message": message(), "pushNotification": webhook});
    let sent = sent(&agent, &router, params).await;

    let got = ask(router.clone(), "tasks/pushNotification/get", json!({"id": "mine"})).await;
    assert_eq!(got["result"]["pushNotificationConfig"]["url"], webhook["url"], "{got}");
    let stream = ask_for_text(router.clone(), "tasks/resubscribe", json!({"id": "mine"}));
    let stream = tokio::spawn(stream);
    tokio::time::sleep(Duration::from_millis(1)).await;
    agent.complete.notify_one();
    let stream = stream.await.unwrap();
    let last = stream.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["result"]["id"], "mine", "{stream}");
    assert_eq!(last["result"]["status"]["state"], "completed", "{stream}");
    assert_eq!(sent.await.unwrap()["result"]["status"]["state"], "completed");
}

#[tokio::test(start_paused = true)]
async fn second_send_with_an_id_continues_the_task_of_the_first() {
    let agent = Slow::default();
    let router = serve(&agent);
    let params =
        |history: u8| json!({"id": "mine", "message": message(), "historyLength": history});
    let first = send(&router, params(5));
    let second = send(&router, params(5));
    // Both are in progress, and the executor has sent no event yet.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(agent.begun.load(Ordering::Relaxed), 1);
    assert!(!first.is_finished() && !second.is_finished());
    let got = ask(router.clone(), "tasks/get", json!({"id": "mine"})).await;
    assert_eq!(got["result"]["status"]["state"], "submitted", "{got}");

    agent.start.notify_one();
    agent.started.notified().await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    agent.complete.notify_one();
    assert_eq!(first.await.unwrap()["result"]["status"]["state"], "completed");
    // It waited for the first send and found its task.
    let second = second.await.unwrap();
    assert_eq!(agent.begun.load(Ordering::Relaxed), 1);
    assert_eq!(second["error"]["code"], -32004, "{second}");
}

#[tokio::test(start_paused = true)]
async fn client_id_resolves_after_the_client_disconnected() {
    let agent = Slow::default();
    let router = serve(&agent);
    let sent = sent(&agent, &router, json!({"id": "mine", "message": message()})).await;
    sent.abort();
    assert!(sent.await.unwrap_err().is_cancelled());

    let got = ask(router.clone(), "tasks/get", json!({"id": "mine"})).await;
    assert_eq!(got["result"]["status"]["state"], "working", "{got}");
    agent.complete.notify_one();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let got = ask(router.clone(), "tasks/get", json!({"id": "mine"})).await;
    assert_eq!(got["result"]["status"]["state"], "completed", "{got}");
    assert_eq!(agent.begun.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn id_is_released_if_its_send_is_rejected() {
    let agent = Slow::default();
    let router = serve(&agent);
    let empty = json!({"role": "user", "parts": []});
    let rejected = ask(router.clone(), "tasks/send", json!({"id": "mine", "message": empty})).await;
    assert_eq!(rejected["error"]["code"], -32602, "{rejected}");
    let sent = sent(&agent, &router, json!({"id": "mine", "message": message()})).await;
    agent.complete.notify_one();
    assert_eq!(sent.await.unwrap()["result"]["status"]["state"], "completed");
}

#[tokio::test]
async fn null_request_id_is_accepted_in_every_older_revision() {
    let router = serve(&Slow::default());
    for (method, params) in [
        ("tasks/get", json!({"id": "none"})),
        ("tasks/cancel", json!({"id": "none"})),
        ("tasks/pushNotification/get", json!({"id": "none"})),
        ("tasks/pushNotificationConfig/get", json!({"id": "none"})),
        ("tasks/resubscribe", json!({"id": "none"})),
    ] {
        for version in [None, Some("0.3"), Some("0.2")] {
            let body = json!({"jsonrpc": "2.0", "id": null, "method": method, "params": params});
            let mut request = Request::post("/").header(CONTENT_TYPE, "application/json");
            if let Some(version) = version {
                request = request.header("a2a-version", version);
            }
            let request = request.body(Body::from(body.to_string())).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
            let text = String::from_utf8(body.into()).unwrap();
            let answer = text.lines().map(|line| line.trim_start_matches("data: "));
            let answer = answer.filter_map(|line| serde_json::from_str::<Value>(line).ok()).next();
            let answer = answer.unwrap_or_else(|| panic!("{method} {version:?}: {text}"));
            assert_eq!(answer.get("id"), Some(&Value::Null), "{method} {version:?}: {answer}");
            assert_eq!(answer["error"]["code"], -32001, "{method} {version:?}: {answer}");
        }
    }
}

#[tokio::test]
async fn request_without_id_is_rejected_in_older_revisions() {
    let body = json!({"jsonrpc": "2.0", "method": "tasks/get", "params": {"id": "x"}});
    let request = Request::post("/").header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let response = serve(&Slow::default()).oneshot(request).await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
}

#[tokio::test]
async fn array_is_not_read_as_an_envelope_of_an_older_revision() {
    let body = json!(["2.0", 1, "tasks/get", {"id": "x"}]);
    let request = Request::post("/").header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let response = serve(&Slow::default()).oneshot(request).await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
}
