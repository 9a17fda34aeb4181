//! An attack that can't do harm where a defence is missing shows nothing: here they are missing.
#![allow(clippy::unwrap_used, reason = "scenery that can't be set up fails the test")]

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use a2a_core::AgentCard;
use a2a_http::{WebhookPolicy, Webhooks};
use a2a_operations::{AgentError, AgentExecutor, Engine, RequestContext, TaskUpdater};
use a2a_tests::attack::{Attack, Canary, Group, Issuer, Scene, run};
use axum::{Router, body::Body, extract::Request, response::Response};
use tokio::task::JoinHandle;

/// A server, attacked. It takes whatever comes for ann's token.
struct Open {
    scene: Scene,
    server: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn scene(address: SocketAddr) -> Scene {
    Scene {
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

/// Works for a second where it is asked to, and asks where it is asked to.
struct Worker;

impl AgentExecutor for Worker {
    async fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> Result<(), AgentError> {
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

/// Nobody has to authenticate, callers are one, and webhooks may be anywhere.
async fn without_defences() -> Open {
    let everywhere = ["0.0.0.0/0", "::/0", "localhost"];
    let policy = everywhere.iter().fold(WebhookPolicy::default(), |policy, network| {
        policy.with_allowed(network.parse().unwrap())
    });
    let card = AgentCard::new("Open", "Takes everything").with_streaming(true);
    let webhooks = Webhooks::new(policy).unwrap();
    let engine = Engine::builder(card, Worker).push_sender(webhooks).build();
    let listener = a2a_http::bind("127.0.0.1:0").await.unwrap();
    let scene = scene(listener.local_addr().unwrap()).await;
    let server = tokio::spawn(async move {
        a2a::Server::from(engine).serve(listener, std::future::pending()).await.unwrap();
    });
    Open { scene, server }
}

/// Says to everything that it worked, and writes back what came.
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
    let scene = scene(listener.local_addr().unwrap()).await;
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Open { scene, server }
}

/// Runs the attacks of these names, each of which has to do harm.
async fn harms(open: &Open, names: &[&str]) {
    let mut groups = Group::all();
    let wanted = |attack: &Attack| names.contains(&attack.name);
    for group in &mut groups {
        group.attacks.retain(wanted);
    }
    let outcome = run(&open.scene, &groups, |_line| ()).await;
    assert_eq!(outcome.attacks, names.len(), "a name is wrong");
    let unharmed: Vec<_> = names
        .iter()
        .filter(|name| !outcome.failed.iter().any(|failed| failed.contains(&format!(": {name}: "))))
        .collect();
    assert!(unharmed.is_empty(), "no harm by {unharmed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_lets_everybody_in_is_found_out() {
    let open = without_defences().await;
    harms(
        &open,
        &[
            "no credentials",
            "wrong scheme",
            "empty token",
            "unknown token",
            "expired token",
            "token of tomorrow",
            "another issuer",
            "another audience",
            "algorithm none",
            "HS256 with the public key",
            "another key",
            "changed claims",
            "key in the token",
            "jku elsewhere",
            "kid injection",
            "token in the wrong place",
            "claimed identity",
            "brute force",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_takes_all_callers_for_one_is_found_out() {
    let open = without_defences().await;
    harms(
        &open,
        &[
            "ids of somebody else",
            "page tokens of somebody else",
            "idempotency keys of somebody else",
            "events of somebody else",
            "context of somebody else",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_calls_webhooks_anywhere_is_found_out() {
    let open = without_defences().await;
    harms(&open, &["loopback", "numbers for addresses", "with the first message"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_says_yes_to_everything_is_found_out() {
    let open = yes_to_all().await;
    harms(
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
            "other methods of HTTP",
            "wrong gRPC frames",
        ],
    )
    .await;
}
