//! cargo run -p a2a-kit --example telemetry
//!
//! Logs, traces and metrics: one call at the start. With `OTEL_EXPORTER_OTLP_ENDPOINT`, spans go to
//! that collector; the metrics are at `/metrics`.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{
    AgentCard, Client, Engine, Server, agent_fn,
    http::client::{ClientSettings, HttpClient},
};
use a2a_kit_telemetry::{Config, Otlp};
use bytes::Bytes;
use http::Request;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::default()
        .with_filter("warn")
        .with_otlp(Otlp::from_environment())
        .with_metrics(true);
    let guard = a2a_kit_telemetry::init(config)?;

    let card = AgentCard::new("Echo", "Repeats its input");
    let engine = Engine::new(card, agent_fn(async |text: String| text));
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let server = Server::from(engine).with_routes(guard.metrics_router().unwrap_or_default());
    tokio::spawn(server.serve(listener, std::future::pending()));
    Client::connect(&url).await?.send_text("Hello").await?;

    let request = Request::get(format!("{url}/metrics")).body(Bytes::new())?;
    let response = HttpClient::new(ClientSettings::default())?.send(request).await?;
    let text = String::from_utf8_lossy(response.body());
    // What has not happened is counted too, as 0.
    let is_shown = |line: &&str| {
        let names = ["a2a_operations_total", "a2a_task_transitions"];
        names.iter().any(|name| line.starts_with(name)) && !line.ends_with(" 0")
    };
    let mut lines: Vec<_> = text.lines().filter(is_shown).collect();
    lines.sort_unstable();
    println!("{}", lines.join("\n"));
    // What is left of the spans is sent.
    guard.shutdown().await;
    Ok(())
}
