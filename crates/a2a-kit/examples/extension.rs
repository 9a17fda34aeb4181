//! cargo run -p a2a-kit --example extension
//!
//! An agent with a custom extension and two included ones, and a client that requests it. Messages
//! of the agent contain the department from the client's message.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_core::{
    Error, Message, Result,
    v1::{AgentExtension, SendMessageRequest, TaskStatusUpdateEvent},
    well_known::Struct,
};
use a2a_kit::{AgentCard, Client, Engine, Server, agent_fn};
use a2a_kit_operations::{
    CallContext,
    extension::{Extension, Timestamps, TraceContextExtension, Turn},
};
use async_trait::async_trait;

const URI: &str = "https://example.com/extensions/department/v1";
const KNOWN: [&str; 2] = ["sales", "support"];

#[derive(Debug)]
struct Department;

impl Department {
    fn of(message: &Message) -> Option<&str> {
        message.metadata.as_ref()?.get(URI)?.as_str()
    }
}

#[async_trait]
impl Extension for Department {
    fn declaration(&self) -> AgentExtension {
        AgentExtension::new(URI, "Adds the department of a message to its replies")
    }

    // Metadata is untrusted: validate it before use.
    async fn receive(&self, _: &mut CallContext, request: &mut SendMessageRequest) -> Result<()> {
        match request.message.as_ref().and_then(Self::of) {
            Some(department) if !KNOWN.contains(&department) => {
                Err(Error::invalid_params("message.metadata", "unknown department"))
            }
            _ => Ok(()),
        }
    }

    fn status(&self, turn: &Turn<'_>, update: &mut TaskStatusUpdateEvent) {
        let message = update.status.as_mut().and_then(|status| status.message.as_mut());
        if let (Some(message), Some(department)) = (message, Self::of(turn.message())) {
            message.metadata.get_or_insert_default().insert(URI, department);
            message.extensions.push(URI.to_owned());
        }
    }
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let card = AgentCard::new("Office", "Repeats its input");
    let engine = Engine::builder(card, agent_fn(async |text: String| format!("Noted: {text}")))
        .extension(Department)
        .extension(Timestamps)
        .extension(TraceContextExtension::new())
        .build();
    let listener = a2a_kit_http::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let server = tokio::spawn(Server::from(engine).serve(listener, std::future::pending()));

    let client = Client::builder().extensions([URI, Timestamps::URI]).connect(&url).await?;
    let mut message = Message::user("a complaint");
    message.metadata = Some(Struct::from([(URI, "support")]));
    let request = SendMessageRequest { message: Some(message), ..SendMessageRequest::default() };
    let reply = client.agent().send_message(client.call(request)).await?;
    println!("Activated: {}", reply.activated);
    println!("{}", serde_json::to_string_pretty(&reply.response)?);
    server.abort();
    Ok(())
}
