//! cargo run -p a2a-kit --example retries_and_resume
//!
//! A connection that is lost in the middle of a stream: the client reconnects, and resumes behind the
//! last event that it has seen. The example cuts the connection with a small TCP proxy.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use a2a_kit::{
    AgentCard, Client, Engine, Server,
    client::{ClientEvent, RetryPolicy},
    stream_fn,
    v1::stream_response::Payload,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use tokio_stream::StreamExt as _;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let card = AgentCard::new("Counter", "Counts to five");
    let counter = stream_fn(|_: String| {
        tokio_stream::iter(1..=5).map(|n| n.to_string()).throttle(Duration::from_millis(100))
    });
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let agent = listener.local_addr()?;
    let (proxy, cut) = start_proxy(agent).await?;
    let server =
        Server::from(Engine::new(card, counter)).with_public_url(format!("http://{proxy}"));
    tokio::spawn(server.serve(listener, std::future::pending()));

    let client = Client::builder()
        .resume(RetryPolicy::STREAMS.with_attempts(3))
        .on_event(|event| match event {
            ClientEvent::Reconnecting { attempt, .. } => println!("lost, attempt {attempt}"),
            ClientEvent::Resumed { .. } => println!("resumed"),
            _ => {}
        })
        .connect(&format!("http://{proxy}"))
        .await?;
    let mut events = client.stream("Count").await?;
    while let Some(event) = events.next().await {
        if let Some(Payload::ArtifactUpdate(update)) = event?.payload() {
            let number = update.artifact.as_ref().map(a2a_kit::Artifact::text).unwrap_or_default();
            println!("{number}");
            if number == "2" {
                cut.notify_waiters();
            }
        }
    }
    Ok(())
}

/// Forwards connections to `target` until they are cut.
async fn start_proxy(target: SocketAddr) -> std::io::Result<(SocketAddr, Arc<Notify>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let cut = Arc::new(Notify::new());
    let notify = cut.clone();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let notify = notify.clone();
            tokio::spawn(async move {
                let Ok(mut far) = TcpStream::connect(target).await else { return };
                tokio::select! {
                    _ = copy_bidirectional(&mut near, &mut far) => {}
                    () = notify.notified() => {}
                }
            });
        }
    });
    Ok((address, cut))
}
