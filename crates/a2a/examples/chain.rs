//! cargo run -p a2a --example chain
//!
//! An agent that calls another agent while it works. The editor hears nothing of HTTP: it gets
//! a client, and passes on the other agent's words as its own events.

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

use a2a::{
    AgentCard, AgentError, AgentExecutor, Artifact, Client, Engine, RequestContext, Server,
    TaskUpdater, agent_fn,
};

struct Editor {
    writer: Client,
}

impl AgentExecutor for Editor {
    async fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> Result<(), AgentError> {
        updates.start().await?;
        // A failure of the writer fails this task; its reason goes to the log, not to the caller.
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

    let card = AgentCard::new("Editor", "Has a text written and makes it shorter");
    let editor = Editor { writer: Client::connect(&writer_url).await? };
    let editor_url = start(Engine::new(card, editor)).await?;

    let client = Client::connect(&editor_url).await?;
    let outcome = client.send("Rust").await?;
    for artifact in outcome.task().map(|task| task.artifacts.as_slice()).unwrap_or_default() {
        println!("{}: {}", artifact.name, artifact.text());
    }
    Ok(())
}

/// Serves an agent on a free port, and returns where.
async fn start(engine: Engine) -> Result<String, a2a::ServeError> {
    let listener = a2a::http::bind("127.0.0.1:0").await?;
    let url = listener.local_addr().map(|address| format!("http://{address}"));
    tokio::spawn(Server::from(engine).serve(listener, std::future::pending()));
    url.map_err(a2a::ServeError::Address)
}
