//! cargo run -p a2a-kit --example axum_app
//!
//! An agent inside an axum application: its routes are a `Router`, beside the pages and layers of
//! the application. Both stop together, although a client still reads an event stream.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::{future::IntoFuture as _, time::Duration};

use a2a_kit::{
    AgentCard, AgentExecutor, BoxError, Client, Engine, RequestContext, Server, TaskState,
    TaskUpdater,
    http::{
        Limits,
        client::{ClientSettings, HttpClient},
    },
};
use axum::{Router, routing::get};
use bytes::Bytes;
use http::Request;
use tokio::sync::oneshot;

/// Ticks until the server stops.
struct Clock;

impl AgentExecutor for Clock {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        loop {
            updates.status(TaskState::Working, "tick").await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();

    let agent = Server::from(Engine::new(AgentCard::new("Clock", "Ticks"), Clock))
        .with_rpc_path("/agent/rpc")
        .with_rest_prefix("/agent")
        // How long the agent may work on when the application stops.
        .with_limits(Limits::default().with_drain_timeout(Duration::from_millis(100)))
        // Other applications pass `a2a_kit::http::shutdown_signal()`.
        .mount(address, async { _ = stopped.await })?;
    let application = Router::new()
        .route("/about", get(async || "An application with an agent"))
        .merge(agent.router());
    let server = axum::serve(listener, application).with_graceful_shutdown(agent.stopping());
    let server = tokio::spawn(server.into_future());

    let request = Request::get(format!("http://{address}/about")).body(Bytes::new())?;
    let page = HttpClient::new(ClientSettings::default())?.send(request).await?;
    println!("/about: {}", page.status());
    let client = Client::connect(&format!("http://{address}")).await?;
    let mut events = client.stream("What time is it?").await?;
    while let Some(event) = events.next().await {
        let text = event?.text();
        if !text.is_empty() {
            println!("agent: {text}");
            break;
        }
    }

    // The stream is still open.
    let _ = stop.send(());
    server.await??;
    agent.stopped().await;
    println!("stopped");
    Ok(())
}
