//! cargo run -p a2a-kit --features sqlite --example durable
//!
//! An agent with durable tasks in a file. The answer to a question reaches the executor in another
//! process; interrupted work is rerun there and continues from the state of its task.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::{error::Error, path::Path, time::Duration};

use a2a_kit::{
    AgentCard, AgentExecutor, Artifact, BoxError, Client, Engine, MessageRequest, RequestContext,
    TaskUpdater, operations::Recovery, store::sqlite::SqliteStore,
};

const PAGES: usize = 5;

struct Printer;

impl AgentExecutor for Printer {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let title = updates.ask("What is the title?").await?.text();
        // A rerun does not print the same page twice.
        let printed = context.task().artifacts.first().map_or(0, |pages| pages.parts.len());
        for page in printed + 1..=PAGES {
            let sheet = Artifact::new("book", format!("{title}, page {page}")).with_id("book");
            match page {
                1 => updates.begin(sheet).await?,
                PAGES => updates.append_last(sheet).await?,
                _ => updates.append(sheet).await?,
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        updates.complete("Printed").await?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

/// The state of one process.
struct Process {
    engine: Engine,
    client: Client,
}

impl Process {
    async fn start(file: &Path) -> Result<Self, Box<dyn Error>> {
        let card = AgentCard::new("Printer", "Prints a book");
        let store = SqliteStore::open(file).await?;
        let engine = Engine::builder(card.clone(), Printer).store(store).build();
        let client = Client::from_agent(engine.clone(), card);
        Ok(Self { engine, client })
    }

    async fn stop(self) {
        // Ends the work, and closes the file.
        self.engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("tasks.db");

    let first = Process::start(&file).await?;
    let asked = first.client.send("Print a book").await?;
    let task_id = asked.task_id().unwrap_or_default().to_owned();
    println!("1st process: {}", asked.text());
    first.stop().await;

    let second = Process::start(&file).await?;
    let mut events = second.client.stream(MessageRequest::from("Walden").to_task(&task_id)).await?;
    for _ in 0..3 {
        events.next().await.transpose()?;
    }
    println!("2nd process: is stopped while it prints");
    second.stop().await;

    let third = Process::start(&file).await?;
    let mut task = third.client.get(&task_id).await?;
    while !task.state().is_terminal() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        task = third.client.get(&task_id).await?;
    }
    for page in task.artifacts.iter().flat_map(|book| &book.parts) {
        println!("3rd process: {}", page.as_text().unwrap_or_default());
    }
    third.stop().await;
    Ok(())
}
