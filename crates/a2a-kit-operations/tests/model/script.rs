//! Executors that follow the message.

use std::time::Duration;

use a2a_core::{Artifact, Part};
use a2a_kit_operations::{
    AgentError, AgentExecutor, BoxError, Recovery, RequestContext, TaskUpdater, UpdateError,
};
use tokio::sync::watch;

/// Executes the words of a message in order, then those of the answer to its question. A run that
/// repeats another one continues after the existing chunks.
#[derive(Debug)]
pub(super) struct Scripted {
    /// The number of open gates.
    pub(super) gates: watch::Receiver<u64>,
}

impl AgentExecutor for Scripted {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let mut message = context.message().clone();
        loop {
            let script = message.text();
            let id = &message.message_id;
            let task = context.task();
            let written = task.artifacts.iter().find(|artifact| artifact.artifact_id == *id);
            let written = written.map_or(0, |artifact| artifact.parts.len());
            let repeats = context.is_rerun() || context.is_replay();
            assert!(repeats || written == 0, "a message is handled for the second time");
            let mut number = 0;
            let mut answer = None;
            for word in script.split(' ') {
                match word {
                    // An earlier run has waited.
                    "pause" | "gate" | "deaf" if context.is_replay() => {}
                    "chunk" => {
                        if number >= written {
                            chunk(&updates, id, number).await?;
                        }
                        number += 1;
                    }
                    "pause" => {
                        tokio::select! {
                            () = tokio::time::sleep(Duration::from_millis(40)) => {}
                            () = context.cancelled() => return Ok(()),
                        }
                    }
                    "gate" => {
                        let mut gates = self.gates.clone();
                        let open = *gates.borrow();
                        tokio::select! {
                            _ = gates.wait_for(|now| *now > open || *now == u64::MAX) => {}
                            () = context.cancelled() => return Ok(()),
                        }
                    }
                    // Ignores cancels.
                    "deaf" => tokio::time::sleep(Duration::from_millis(200)).await,
                    "start" => updates.start().await?,
                    "complete" => updates.complete("done").await?,
                    "fail" => updates.fail("no").await?,
                    "error" => return Err(AgentError::new("broken").into()),
                    "park" => updates.require_input("more?").await?,
                    "ask" => answer = Some(updates.ask("what?").await?),
                    "reply" => updates.reply("hello").await?,
                    "return" => {}
                    other => panic!("no such word: {other:?}"),
                }
            }
            match answer {
                Some(answer) => message = answer,
                None => return Ok(()),
            }
        }
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

async fn chunk(updates: &TaskUpdater, id: &str, number: usize) -> Result<(), UpdateError> {
    let artifact = Artifact::new("text", Part::text(number.to_string())).with_id(id);
    if number == 0 { updates.begin(artifact).await } else { updates.append(artifact).await }
}
