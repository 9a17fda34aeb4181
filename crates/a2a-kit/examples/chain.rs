//! cargo run -p a2a-kit --example chain
//!
//! An agent that calls another agent. The editor is independent of HTTP: it gets a client, and
//! forwards the other agent's text as its own events.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{
    AgentCard, AgentExecutor, Artifact, BoxError, Client, Engine, RequestContext, Server,
    TaskUpdater, agent_fn,
};

struct Editor {
    writer: Client,
}

impl AgentExecutor for Editor {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        // An error of the writer fails this task; the reason is logged, not sent to the caller.
        let draft = self.writer.send_text(context.text()).await?;
        updates.artifact(Artifact::new("draft", draft.as_str())).await?;
        updates.artifact(Artifact::new("text", draft.replace("very ", ""))).await?;
        updates.complete("Shortened it.").await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let card = AgentCard::new("Writer", "Writes about anything");
    let writer = agent_fn(async |topic: String| format!("{topic} is very, very very interesting."));
    let writer_url = start(Engine::new(card, writer)).await?;

    let card = AgentCard::new("Editor", "Requests a text and shortens it");
    let editor = Editor { writer: Client::connect(&writer_url).await? };
    let editor_url = start(Engine::new(card, editor)).await?;

    let client = Client::connect(&editor_url).await?;
    let outcome = client.send("Rust").await?;
    for artifact in outcome.task().map(|task| task.artifacts.as_slice()).unwrap_or_default() {
        println!("{}: {}", artifact.name, artifact.text());
    }
    Ok(())
}

/// Serves an agent on a free port, and returns its URL.
async fn start(engine: Engine) -> Result<String, a2a_kit::ServeError> {
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let url = listener.local_addr().map(|address| format!("http://{address}"));
    tokio::spawn(Server::from(engine).serve(listener, std::future::pending()));
    url.map_err(a2a_kit::ServeError::Address)
}
