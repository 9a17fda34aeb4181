//! cargo run -p a2a-kit --features auth --example webhook_receiver
//!
//! A client that is called back: the agent posts each event of a task to a webhook, signed, and the
//! receiver verifies who sent it, for which task, and that it is fresh.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::sync::Arc;

use a2a_kit::{
    AgentCard, Client, Engine, Event, MessageRequest, Server, agent_fn,
    auth::{
        jose::{Algorithm, RemoteKeys, SigningKey},
        webhook::{JWKS_PATH, ReceiveError, Receiver, WebhookSigner},
    },
    http::{WebhookPolicy, Webhooks},
    v1::TaskPushNotificationConfig,
};
use axum::{Router, extract::State, routing::post};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tokio::sync::mpsc;

type Failure = Box<dyn std::error::Error>;

struct Hook {
    receiver: Receiver,
    events: mpsc::Sender<Event>,
}

/// An error is a response with the right status, so that the agent knows whether to retry.
async fn receive(
    State(hook): State<Arc<Hook>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, ReceiveError> {
    let _ = hook.events.send(hook.receiver.receive(&headers, &body).await?).await;
    Ok(StatusCode::NO_CONTENT)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let agent = start_agent().await?;

    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/hook", listener.local_addr()?);
    let keys = RemoteKeys::at(format!("{agent}{JWKS_PATH}"))?;
    let receiver = a2a_kit::webhook::receiver(&url).with_keys(&agent, keys).with_token("my token");
    let (events, mut received) = mpsc::channel(16);
    let hook = Arc::new(Hook { receiver, events });
    let router = Router::new().route("/hook", post(receive)).with_state(hook);
    tokio::spawn(a2a_kit::http::HttpServer::new(router).serve(listener, std::future::pending()));

    let webhook =
        TaskPushNotificationConfig { url, token: "my token".into(), ..Default::default() };
    let client = Client::connect(&agent).await?;
    client.send(MessageRequest::from("Hello").with_push(webhook).returning_immediately()).await?;
    while let Some(event) = received.recv().await {
        if let Some(state) = event.state() {
            println!("{}", state.as_str_name());
            if state.is_terminal() {
                break;
            }
        }
    }
    Ok(())
}

/// Serves an agent that signs its webhooks, and publishes its key.
async fn start_agent() -> Result<String, Failure> {
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let signer = WebhookSigner::new(&url, SigningKey::generate(Algorithm::Es256)?);
    // By default, webhooks are only sent to the internet.
    let policy = WebhookPolicy::default().with_allowed("127.0.0.1".parse()?);
    let card = AgentCard::new("Echo", "Repeats its input");
    let engine = Engine::builder(card, agent_fn(async |text: String| text))
        .push_sender(Webhooks::new(policy)?.with_signer(signer.clone()))
        .build();
    let server = Server::from(engine).with_routes(signer.router());
    tokio::spawn(server.serve(listener, std::future::pending()));
    Ok(url)
}
