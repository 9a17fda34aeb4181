//! cargo run -p a2a-kit --features auth --example jwt
//!
//! An agent for callers with tokens of an issuer. The issuer of the example is a key in this
//! program; a real one has a URL: `JwtVerifier::discovered`, or `RemoteKeys::at` for its key set.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::time::{SystemTime, UNIX_EPOCH};

use a2a_kit::{
    AgentCard, AgentExecutor, BoxError, Client, Engine, RequestContext, Server, TaskUpdater,
    auth::{
        jose::{Algorithm, JwkSet, SigningKey},
        server::{Guard, JwtVerifier},
    },
    client::credentials::{Bearer, Credentials},
    v1::SecurityScheme,
};
use serde_json::json;

const ISSUER: &str = "https://login.example";
const AUDIENCE: &str = "https://agent.example";

struct WhoAmI;

impl AgentExecutor for WhoAmI {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let caller = &context.call().caller;
        let subject = caller.subject().unwrap_or("nobody");
        updates.complete(format!("You are {subject}, with {:?}", caller.scopes())).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = SigningKey::generate(Algorithm::Es256)?;
    let keys = JwkSet::from_iter([key.public().clone()]);
    let card = AgentCard::new("Who am I", "Tells callers who they are")
        .with_security_scheme("login", SecurityScheme::bearer())
        .requiring("login");
    let guard = Guard::new().with_verifier("login", JwtVerifier::new(ISSUER, AUDIENCE, keys));
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let server = Server::from(Engine::new(card, WhoAmI)).with_auth(guard);
    tokio::spawn(server.serve(listener, std::future::pending()));

    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "scope": "read", "exp": now + 300,
    });
    let token = key.token(claims.to_string().as_bytes())?;
    let credentials = Credentials::new().with(Bearer::new(token));
    let client = Client::builder().credentials(credentials).connect(&url).await?;
    println!("{}", client.send("Who am I?").await?.text());
    Ok(())
}
