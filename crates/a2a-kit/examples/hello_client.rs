//! cargo run -p a2a-kit --example hello_client -- localhost:8080 "dear reader"
//!
//! Calls an agent: reads its card, selects an interface, sends a text and prints the response.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::env;

use a2a_kit::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let reference = arguments.next().unwrap_or_else(|| "localhost:8080".into());
    let text = arguments.next().unwrap_or_else(|| "dear reader".into());

    let client = Client::connect(&reference).await?;
    let card = client.card();
    println!("{}: {}", card.name, card.description);

    let outcome = client.send(text).await?;
    if let Some(task) = outcome.task() {
        println!("task {} is {}", task.id, task.state().as_str_name());
    }
    println!("{}", outcome.text());
    Ok(())
}
