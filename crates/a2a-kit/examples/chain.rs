//! cargo run -p a2a-kit --features testing --example chain
//!
//! An agent that calls another agent. The editor is independent of HTTP: it gets a client, and
//! forwards the other agent's text as its own events.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{
    AgentCard, AgentExecutor, Artifact, BoxError, Client, Engine, RequestContext, TaskUpdater,
    agent_fn, testing::TestServer,
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
    let writer = TestServer::start(Engine::new(card, writer)).await;

    let card = AgentCard::new("Editor", "Requests a text and shortens it");
    let editor = Editor { writer: writer.client.clone() };
    let editor = TestServer::start(Engine::new(card, editor)).await;

    let outcome = editor.client.send("Rust").await?;
    for artifact in outcome.task().map(|task| task.artifacts.as_slice()).unwrap_or_default() {
        println!("{}: {}", artifact.name, artifact.text());
    }
    Ok(())
}
