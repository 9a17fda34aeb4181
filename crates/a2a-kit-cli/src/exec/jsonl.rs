//! JSON lines: the message in on one line, events out on one line each.

use a2a_core::{Artifact, TaskState};
use a2a_kit_operations::{AgentError, BoxError, RequestContext, TaskUpdater};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::{
    ExecAgent,
    child::{Ended, Pipes, Process},
};
use crate::settings::value;

/// Maximum length of a line of output.
const MAX_LINE: usize = 16 << 20;

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
pub(super) async fn run(
    agent: &ExecAgent,
    context: &RequestContext,
    updates: &TaskUpdater,
) -> Result<(), BoxError> {
    updates.check_lease()?;
    let (process, pipes) = match Process::start(agent, context) {
        Ok(started) => started,
        Err(error) => {
            updates.fail(format!("The command can't be started: {error}")).await?;
            return Ok(());
        }
    };
    let Pipes { mut stdin, stdout, stderr } = pipes;
    let talk = async {
        let mut message = serde_json::to_vec(context.message())?;
        message.push(b'\n');
        let _closed = stdin.write_all(&message).await;
        let mut output = Output { updates, id: a2a_core::fresh_id(), begun: false, ended: false };
        let mut lines = BufReader::new(stdout);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).await? > 0 {
            if line.len() > MAX_LINE {
                return Err(AgentError::new("The command wrote a line that is too long").into());
            }
            if let Some(reply) = output.line(&line).await? {
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
    updates: &'a TaskUpdater,
    id: String,
    begun: bool,
    /// Whether a line has ended the task.
    ended: bool,
}

impl Output<'_> {
    /// Applies a line, and returns the reply for stdin.
    async fn line(&mut self, line: &[u8]) -> Result<Option<Vec<u8>>, BoxError> {
        if line.trim_ascii().is_empty() || self.ended {
            return Ok(None);
        }
        let line = serde_json::from_slice(line).map_err(|error| {
            AgentError::new(format!("The command wrote an invalid line: {error}"))
        })?;
        match line {
            Line::Text { text } => {
                let chunk = Artifact::new("output", text).with_id(&self.id);
                if std::mem::replace(&mut self.begun, true) {
                    self.updates.append(chunk).await?;
                } else {
                    self.updates.begin(chunk).await?;
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
                    let reply = self.updates.ask(text).await?;
                    let mut line = serde_json::to_vec(&reply)?;
                    line.push(b'\n');
                    return Ok(Some(line));
                }
                self.ended = state.is_terminal();
                self.updates.status(state, text).await?;
            }
        }
        Ok(None)
    }
}
