//! cargo run -p a2a-kit --example hello_agent
//!
//! The smallest agent: a closure from text to text, with all bindings on one port. Try it with
//! `cargo run -p a2a-kit --example hello_client`, or with `curl`:
//!
//! ```sh
//! curl -s localhost:8080/message:send -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' \
//!   -d '{"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}}'
//! ```

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{AgentCard, Engine, agent_fn};

#[tokio::main]
async fn main() -> Result<(), a2a_kit::ServeError> {
    let card = AgentCard::new("Hello", "Greets people");
    let greeter = agent_fn(async |name: String| format!("Hello, {name}!"));
    println!("http://127.0.0.1:8080");
    a2a_kit::serve(Engine::new(card, greeter), "127.0.0.1:8080").await
}
