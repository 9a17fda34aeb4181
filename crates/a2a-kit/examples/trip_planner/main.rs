//! cargo run -p a2a-kit --features auth,sqlite --example trip_planner
//!
//! Two agents on one port, each with its card, key and tasks in SQLite: `/planner` plans trips in a
//! conversation, and asks `/forecaster`. Stop it at any question and start it again: the conversation
//! goes on. `cargo run -p a2a-kit --example trip_client` calls it.

mod agents;

use a2a_kit::{
    Agents, BoxError, Caller, Client, Engine, Server,
    auth::server::{ApiKeys, Guard},
    store::sqlite::SqliteStore,
    v1::SecurityScheme,
};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let key = std::env::var("TRIP_KEY").unwrap_or_else(|_| "a secret for the example".into());
    let keys = ApiKeys::new().with_key(&key, Caller::authenticated("ann"));
    let forecaster = Engine::new(agents::forecaster_card(), agents::forecaster());
    let planner = agents::Planner {
        forecaster: Client::from_agent(forecaster.clone(), agents::forecaster_card()),
    };
    let card = agents::planner_card()
        .with_security_scheme("key", SecurityScheme::api_key_header("X-API-Key"))
        .requiring("key");
    let planner =
        Engine::builder(card, planner).store(SqliteStore::open("trips.db").await?).build();
    let planner = Server::from(planner).with_auth(Guard::new().with_verifier("key", keys));
    Agents::new()
        .at("/planner", planner)
        .at("/forecaster", forecaster)
        .run("127.0.0.1:8080")
        .await?;
    Ok(())
}
