//! cargo run -p a2a-kit --features auth --example api_key
//!
//! An agent for callers with API keys: the card declares the scheme, the server enforces it, and
//! each caller has its own tasks.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{
    AgentCard, Client, Engine, Server, agent_fn,
    auth::server::{ApiKeys, Guard},
    client::credentials::{ApiKey, Credentials},
    operations::Caller,
    v1::SecurityScheme,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let card = AgentCard::new("Echo", "Repeats its input")
        .with_security_scheme("key", SecurityScheme::api_key_header("X-API-Key"))
        .requiring("key");
    let keys = ApiKeys::new()
        .with_key("ann's key", Caller::authenticated("ann"))
        .with_key("ben's key", Caller::authenticated("ben"));
    let engine = Engine::new(card, agent_fn(async |text: String| text));
    let server = Server::from(engine).with_auth(Guard::new().with_verifier("key", keys));
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(server.serve(listener, std::future::pending()));

    let client_with = |key: &str| {
        let credentials = Credentials::new().with(ApiKey::new(key));
        Client::builder().credentials(credentials)
    };
    let ann = client_with("ann's key").connect(&url).await?;
    let ben = client_with("ben's key").connect(&url).await?;
    let stranger = client_with("a guess").connect(&url).await?;

    let task_id = ann.send("Hello").await?.task_id().unwrap_or_default().to_owned();
    println!("ann:      {:?}", ann.get(&task_id).await?.state());
    println!("ben:      {:?}", ben.get(&task_id).await.map_err(|error| error.kind()).err());
    println!("stranger: {:?}", stranger.get(&task_id).await.map_err(|error| error.kind()).err());
    Ok(())
}
