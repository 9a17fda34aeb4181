//! cargo run -p a2a-kit --example axum_app
//!
//! An agent inside an axum application: its routes are a `Router`, beside pages and layers of the
//! application. gRPC needs HTTP/2, which `a2a_kit::http::HttpServer` serves on the same port.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{
    AgentCard, Client, Engine, Server, agent_fn,
    http::client::{ClientSettings, HttpClient},
};
use axum::{Router, routing::get};
use bytes::Bytes;
use http::Request;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;

    let card = AgentCard::new("Echo", "Repeats its input");
    let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
    let agent = Server::from(engine.clone())
        .with_rpc_path("/agent/rpc")
        .with_rest_prefix("/agent")
        .into_router(address)?;
    let application =
        Router::new().route("/about", get(async || "An application with an agent")).merge(agent);
    let server = a2a_kit::http::HttpServer::new(application);
    tokio::spawn(server.serve(listener, std::future::pending()));

    let request = Request::get(format!("http://{address}/about")).body(Bytes::new())?;
    let page = HttpClient::new(ClientSettings::default())?.send(request).await?;
    println!("/about: {}", page.status());
    let client = Client::connect(&format!("http://{address}")).await?;
    println!("agent: {}", client.send_text("Hello").await?);
    Ok(())
}
