//! cargo run -p a2a-kit --example gateway
//!
//! A gateway: an agent that speaks JSON-RPC only is offered over every binding, at another address.
//! `a2a serve --proxy` does the same on the command line.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{AgentCard, Client, Engine, Server, agent_fn, client::Transport};
use a2a_kit_gateway::Forward;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let card = AgentCard::new("Echo", "Repeats its input");
    let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
    let upstream = start(Server::from(engine).without_rest().without_grpc()).await?;

    // The client is an agent too, so that it can be served.
    let client = Client::connect(&upstream).await?;
    let gateway = Forward::new(client.agent());
    let card = gateway.front_card(&client.card());
    let front = start(Server::new(gateway, card)).await?;

    for transport in Transport::ALL {
        let client = Client::builder().only([transport]).connect(&front).await?;
        println!("{transport}: {}", client.send_text("Hello").await?);
    }
    Ok(())
}

/// Serves an agent on a free port, and returns its URL.
async fn start(server: Server) -> Result<String, Box<dyn std::error::Error>> {
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(server.serve(listener, std::future::pending()));
    Ok(url)
}
