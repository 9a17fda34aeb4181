//! cargo run -p a2a-kit --example streaming_agent
//!
//! An agent that streams its response word by word to a client: each word is one event.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::time::Duration;

use a2a_kit::{AgentCard, Client, Engine, Server, stream_fn};
use tokio_stream::StreamExt as _;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let card = AgentCard::new("Speller", "Repeats its input, word by word");
    let speller = stream_fn(|text: String| {
        let words: Vec<_> = text.split_inclusive(' ').map(str::to_owned).collect();
        tokio_stream::iter(words).throttle(Duration::from_millis(300))
    });
    let listener = a2a_kit::http::bind("127.0.0.1:8080").await?;
    let server = Server::from(Engine::new(card, speller));
    tokio::spawn(server.serve(listener, std::future::pending()));

    let client = Client::connect("localhost:8080").await?;
    let mut events = client.stream("one two three four five").await?;
    while let Some(event) = events.next().await {
        let event = event?;
        if let Some(chunk) = event.artifact_update() {
            println!("{}", chunk.text());
        } else if let Some(update) = event.status_update() {
            println!("{:?}", update.state());
        }
    }
    Ok(())
}
