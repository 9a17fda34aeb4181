//! Validates the attacks: without the defences, each must succeed.
#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use a2a_core::AgentCard;
use a2a_kit_http::{WebhookPolicy, Webhooks};
use a2a_kit_operations::{AgentExecutor, BoxError, Engine, RequestContext, TaskUpdater};
use a2a_tests::attack::{Attack, Canary, Environment, Group, Issuer, run};
use axum::{Router, body::Body, extract::Request, response::Response};
use tokio::task::JoinHandle;

/// A server as the target of attacks, which accepts anything as ann's token.
struct Open {
    env: Environment,
    server: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn env(address: SocketAddr) -> Environment {
    Environment {
        address,
        tls: None,
        roots: Arc::new(rustls::RootCertStore::empty()),
        issuer: Issuer::default(),
        ann: "ann".to_owned(),
        bob: Some("bob".to_owned()),
        keys: None,
        canary: Canary::start("127.0.0.1", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await,
        process: None,
    }
}

/// Runs for a second, or asks, depending on the message.
struct Worker;

impl AgentExecutor for Worker {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let text = context.text();
        updates.start().await?;
        if text.starts_with("slow") {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        if text.starts_with("ask") {
            updates.require_input("what?").await?;
        } else {
            updates.complete(text).await?;
        }
        Ok(())
    }
}

/// A server without authentication, with a single caller and unrestricted webhooks.
async fn without_defences() -> Open {
    let everywhere = ["0.0.0.0/0", "::/0", "localhost"];
    let policy = everywhere.iter().fold(WebhookPolicy::default(), |policy, network| {
        policy.with_allowed(network.parse().unwrap())
    });
    let card = AgentCard::new("Open", "Takes everything").with_streaming(true);
    let webhooks = Webhooks::new(policy).unwrap();
    let engine = Engine::builder(card, Worker).push_sender(webhooks).build();
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let env = env(listener.local_addr().unwrap()).await;
    let server = tokio::spawn(async move {
        a2a_kit::Server::from(engine).serve(listener, std::future::pending()).await.unwrap();
    });
    Open { env, server }
}

/// Responds to everything with success, echoing the request.
async fn yes_to_all() -> Open {
    let echo = |request: Request| async move {
        let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap_or_default();
        let task =
            "{\"id\":\"1\",\"contextId\":\"1\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}";
        let start =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"task\":{task}}},\"echo\":\"");
        let body = [start.as_bytes(), &body.slice(..body.len().min(64)), b"\"}"].concat();
        let response = Response::builder().header("content-type", "text/html");
        Ok::<_, Infallible>(response.body(Body::from(body)).unwrap())
    };
    let router = Router::new().fallback(echo);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let env = env(listener.local_addr().unwrap()).await;
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Open { env, server }
}

/// Runs attacks by name, each of which has to succeed.
async fn assert_effective(open: &Open, names: &[&str]) {
    let mut groups = Group::all();
    let wanted = |attack: &Attack| names.contains(&attack.name);
    for group in &mut groups {
        group.attacks.retain(wanted);
    }
    let outcome = run(&open.env, &groups, |_line| ()).await;
    assert_eq!(outcome.attacks, names.len(), "unknown attack name");
    let harmless: Vec<_> = names
        .iter()
        .filter(|name| !outcome.failed.iter().any(|failed| failed.contains(&format!(": {name}: "))))
        .collect();
    assert!(harmless.is_empty(), "ineffective attacks: {harmless:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_authentication_is_detected() {
    let open = without_defences().await;
    assert_effective(
        &open,
        &[
            "no credentials",
            "wrong scheme",
            "empty token",
            "unknown token",
            "expired token",
            "token not yet valid",
            "another issuer",
            "another audience",
            "algorithm none",
            "HS256 with the public key",
            "another key",
            "changed claims",
            "key in the token",
            "foreign jku",
            "kid injection",
            "token in the wrong place",
            "claimed identity",
            "brute force",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_caller_identity_is_detected() {
    let open = without_defences().await;
    assert_effective(
        &open,
        &[
            "ids of another caller",
            "page tokens of another caller",
            "idempotency keys of another caller",
            "events of another caller",
            "context of another caller",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unrestricted_webhooks_are_detected() {
    let open = without_defences().await;
    // Numeric addresses are malformed URLs without any policy.
    assert_effective(&open, &["loopback", "with the first message"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepting_every_request_is_detected() {
    let open = yes_to_all().await;
    assert_effective(
        &open,
        &[
            "no credentials",
            "tenant hopping",
            "guessing ids",
            "deep JSON",
            "batch",
            "invalid UTF-8",
            "many webhooks",
            "queue of one task",
            "HTML in errors",
            "path traversal",
            "cross-origin",
            "other HTTP methods",
            "wrong gRPC frames",
        ],
    )
    .await;
}
