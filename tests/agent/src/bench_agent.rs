//! The agent for measurements. What is measured is the library, so nothing waits and nothing is
//! sent that is not asked for.

use std::time::Duration;

use a2a_core::{Artifact, Message, Part, TaskState};
use a2a_kit_operations::{AgentExecutor, BoxError, Recovery, RequestContext, TaskUpdater};

/// Most events or messages that one task may ask for.
const MAX: usize = 1_000_000;

type Done = Result<(), BoxError>;

/// The agent for measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BenchAgent;

impl AgentExecutor for BenchAgent {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Done {
        let done = run(&context, &updates).await;
        if context.is_cancelled() {
            // A task that ended by itself in the meantime stays as it is.
            let _ended = updates.status(TaskState::Canceled, "Canceled, as you asked").await;
            return Ok(());
        }
        done
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

async fn run(context: &RequestContext, updates: &TaskUpdater) -> Done {
    let text = context.text();
    match text.split_once(':') {
        Some(("stream", count)) => stream(context, updates, number(count)).await,
        // So that many can subscribe before the first event.
        Some(("later", count)) => {
            start(context, updates).await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            stream(context, updates, number(count)).await
        }
        Some(("history", count)) => history(context, updates, number(count)).await,
        _ if text == "hold" => {
            start(context, updates).await?;
            context.cancelled().await;
            Ok(())
        }
        _ => {
            let is_stored = context.is_rerun() && !context.task().artifacts.is_empty();
            if !is_stored {
                updates.artifact(Artifact::new("echo", format!("Echo: {text}"))).await?;
            }
            updates.complete(()).await?;
            Ok(())
        }
    }
}

fn number(text: &str) -> usize {
    text.trim().parse().unwrap_or(0).min(MAX)
}

/// Sets WORKING, unless an interrupted run has.
async fn start(context: &RequestContext, updates: &TaskUpdater) -> Done {
    if !(context.is_rerun() && context.task().state() == TaskState::Working) {
        updates.start().await?;
    }
    Ok(())
}

async fn stream(context: &RequestContext, updates: &TaskUpdater, count: usize) -> Done {
    start(context, updates).await?;
    let task = context.task();
    let known = task.artifacts.first().filter(|_| context.is_rerun());
    let artifact_id = known.map_or_else(a2a_core::fresh_id, |known| known.artifact_id.clone());
    for index in known.map_or(0, |known| known.parts.len())..count {
        let artifact = Artifact {
            artifact_id: artifact_id.clone(),
            parts: vec![Part::text(format!("chunk {index:04} of the streamed answer"))],
            ..Artifact::default()
        };
        match (index, index + 1 == count) {
            (0, true) => updates.artifact(artifact).await?,
            (0, false) => updates.begin(artifact).await?,
            (_, false) => updates.append(artifact).await?,
            (_, true) => updates.append_last(artifact).await?,
        }
    }
    updates.complete(()).await?;
    Ok(())
}

/// The message of a superseded status becomes history, where the user's message is already.
async fn history(context: &RequestContext, updates: &TaskUpdater, count: usize) -> Done {
    let first = context.task().history.len().max(1);
    for index in first..count {
        let message = Message::agent(format!("message {index:04} of the history"));
        updates.status(TaskState::Working, message).await?;
    }
    updates.complete(()).await?;
    Ok(())
}
