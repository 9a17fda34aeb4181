//! JSON lines: the message in on one line, events out on one line each.

use std::convert::Infallible;

use a2a_core::{Artifact, Message, TaskState};
use a2a_kit_operations::{AgentError, BoxError, RequestContext, TaskUpdater};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::{
    ExecAgent,
    child::{Ended, MAX_LINE, Pipes, Process},
    slots::Slot,
};
use crate::settings::value;

/// A line of output.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    /// A new status; one that asks for input gets the reply on the next line of stdin.
    Status {
        state: String,
        #[serde(default)]
        text: String,
    },
    /// A whole artifact.
    Artifact { artifact: Artifact },
    /// A chunk of the output.
    Text { text: String },
}

/// Runs the command, and applies its lines to the task.
///
/// A command that asks gives its slot back. If it is ended before the answer, the answer starts it
/// again with the same message: what it says before its questions is dropped, and they get the
/// recorded answers.
pub(super) async fn run(
    agent: &ExecAgent,
    context: &RequestContext,
    updates: &TaskUpdater,
    slot: Slot,
) -> Result<(), BoxError> {
    updates.check_lease()?;
    let (process, pipes) = match Process::start(agent, context) {
        Ok(started) => started,
        Err(message) => {
            updates.fail(message).await?;
            return Ok(());
        }
    };
    let Pipes { mut stdin, stdout, stderr } = pipes;
    let talk = async {
        let mut message = serde_json::to_vec(context.message())?;
        message.push(b'\n');
        let _closed = stdin.write_all(&message).await;
        let mut output = Output {
            agent,
            context,
            updates,
            slot: Some(slot),
            id: None,
            is_recorded: false,
            ended: false,
        };
        let mut lines = BufReader::new(stdout);
        let mut line = Vec::new();
        // Bounded while it is read: a line may have no end.
        while (&mut lines).take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line).await? > 0 {
            if line.len() > MAX_LINE {
                let max = MAX_LINE >> 20;
                let text = format!("The command wrote a line of more than {max} MiB");
                return Err(AgentError::new(text).into());
            }
            if let Some(reply) = output.line(&line).await? {
                let mut reply = serde_json::to_vec(&reply)?;
                reply.push(b'\n');
                let _closed = stdin.write_all(&reply).await;
            }
            line.clear();
        }
        drop(stdin);
        Ok::<_, BoxError>(output.ended)
    };
    let work = async {
        // A rejected update ends the run at once: the command may block on its output, and never
        // close its stderr.
        let stderr = async { Ok(agent.stderr.read(stderr).await) };
        tokio::try_join!(talk, stderr)
    };
    let worked = tokio::select! {
        () = context.cancelled() => None,
        worked = work => Some(worked?),
    };
    let Some((has_ended, stderr)) = worked else {
        process.terminate().await;
        return Ok(());
    };
    match process.ended(&stderr).await? {
        _ if has_ended => {}
        Ended::Well(files) => {
            for file in files {
                updates.artifact(file).await?;
            }
            // Clients would show a status text in place of the artifact.
            if context.task().artifacts.is_empty() {
                updates.complete("The command has ended").await?;
            } else {
                updates.complete(()).await?;
            }
        }
        Ended::Badly(reason) => updates.fail(reason).await?,
    }
    Ok(())
}

/// Turns lines into updates of the task.
struct Output<'a> {
    agent: &'a ExecAgent,
    context: &'a RequestContext,
    updates: &'a TaskUpdater,
    /// `None` while the command waits for an answer.
    slot: Option<Slot>,
    /// The id of the artifact with the text, once begun.
    id: Option<String>,
    /// Whether the id is recorded.
    is_recorded: bool,
    /// Whether a line has ended the task.
    ended: bool,
}

impl Output<'_> {
    /// Applies a line, and returns the reply for stdin.
    async fn line(&mut self, line: &[u8]) -> Result<Option<Message>, BoxError> {
        if line.trim_ascii().is_empty() || self.ended {
            return Ok(None);
        }
        let line = serde_json::from_slice(line).map_err(|error| {
            AgentError::new(format!("The command wrote an invalid line: {error}"))
        })?;
        match line {
            Line::Text { text } => {
                let chunk = Artifact::new("output", text);
                if let Some(id) = &self.id {
                    self.updates.append(chunk.with_id(id)).await?;
                } else {
                    let mut id = a2a_core::fresh_id();
                    if self.context.is_replay() {
                        id = self.record(id).await?;
                    }
                    self.updates.begin(chunk.with_id(&id)).await?;
                    self.id = Some(id);
                }
            }
            Line::Artifact { mut artifact } => {
                if artifact.artifact_id.is_empty() {
                    artifact.artifact_id = a2a_core::fresh_id();
                }
                self.updates.artifact(artifact).await?;
            }
            Line::Status { state, text } => {
                let state = value::state(&state).map_err(AgentError::new)?;
                if state == TaskState::InputRequired {
                    return self.ask(text).await.map(Some);
                }
                self.ended = state.is_terminal();
                self.updates.status(state, text).await?;
            }
        }
        Ok(None)
    }

    /// Asks for input, without a slot until the answer is there.
    async fn ask(&mut self, question: String) -> Result<Message, BoxError> {
        if let Some(id) = self.id.clone().filter(|_| !self.is_recorded) {
            self.record(id).await?;
        }
        let caller = self.context.call().caller.subject().unwrap_or_default();
        let (place, expiry) = self.agent.waiting.enter(caller);
        self.slot = None;
        let answer = self.updates.ask_until(question, expiry).await?;
        place.answered();
        let slot = self.agent.slots.acquire(caller);
        self.slot = Some(self.context.wait_for(slot).await);
        Ok(answer)
    }

    /// Records the id of the artifact, or returns the recorded one: a command that was started again
    /// continues the artifact.
    async fn record(&mut self, id: String) -> Result<String, BoxError> {
        self.is_recorded = true;
        self.updates.once("output", async { Ok::<_, Infallible>(id) }).await
    }
}
