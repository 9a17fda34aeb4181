//! The process of a command: how it is started, fed, and ended with all that it started.

use std::{io, path::Path, process::Stdio, time::Duration};

use a2a_core::{Part, v1::part::Content};
use a2a_operations::{RequestContext, trace};
#[cfg(windows)]
use process_wrap::tokio::JobObject;
#[cfg(unix)]
use process_wrap::tokio::ProcessGroup;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tempfile::TempDir;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::ExecAgent;
use crate::log;

/// How long a command may take to end when it is asked to.
#[cfg(unix)]
const GRACE: Duration = Duration::from_secs(4);
/// How long processes may take to be gone once they are killed.
const REAP_TIMEOUT: Duration = Duration::from_millis(500);

/// A running command. Dropping it kills its process group, or its job on Windows.
#[derive(Debug)]
pub(super) struct Process {
    child: Box<dyn ChildWrapper>,
    is_killed: bool,
    /// The parts that are not text, as files.
    _inputs: TempDir,
}

/// The pipes to and from a command.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// How a command ended.
#[derive(Debug)]
pub(super) enum Ended {
    Well,
    /// What to tell the client.
    Badly(String),
}

impl Process {
    /// Starts the command for a message. What the user said is in its environment and on its
    /// stdin only.
    pub(super) fn start(agent: &ExecAgent, context: &RequestContext) -> io::Result<(Self, Pipes)> {
        let inputs = tempfile::Builder::new().prefix("a2a-input-").tempdir()?;
        write_inputs(inputs.path(), &context.message().parts)?;
        let mut command = CommandWrap::with_new(&agent.program, |command| {
            command
                .args(&agent.arguments)
                .env_clear()
                .envs(agent.environment.variables())
                .env("A2A_TASK_ID", context.task_id())
                .env("A2A_CONTEXT_ID", context.context_id())
                .env("A2A_MESSAGE_ID", &context.message().message_id)
                .env("A2A_INPUT_DIR", inputs.path())
                // What the command is asked for goes on in the trace of who asked.
                .envs(trace::current().map(|context| (log::TRACEPARENT, context.to_string())))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(JobObject);
        let mut child = command.spawn()?;
        let pipes = child.stdin().take().zip(child.stdout().take()).zip(child.stderr().take());
        let process = Self { child, is_killed: false, _inputs: inputs };
        let Some(((stdin, stdout), stderr)) = pipes else {
            return Err(io::Error::other("a pipe to the command is missing"));
        };
        Ok((process, Pipes { stdin, stdout, stderr }))
    }

    /// Waits for the end of the command, and kills what it has left running.
    pub(super) async fn ended(mut self, stderr: &str) -> io::Result<Ended> {
        // Of the command alone: what it has left running has no time of its own.
        let status = self.child.inner_mut().wait().await?;
        self.kill();
        self.reap().await;
        if status.success() {
            return Ok(Ended::Well);
        }
        let stderr = stderr.trim();
        let told = if stderr.is_empty() { String::new() } else { format!("\n{stderr}") };
        Ok(Ended::Badly(format!("The command ended with {status}{told}")))
    }

    /// Asks the command and all that it started to end, and kills what is left when the command
    /// has ended, or after a while.
    pub(super) async fn terminate(mut self) {
        #[cfg(unix)]
        {
            let terminate = tokio::signal::unix::SignalKind::terminate().as_raw_value();
            match self.child.signal(terminate) {
                Ok(()) => {
                    let _in_time = tokio::time::timeout(GRACE, self.child.inner_mut().wait()).await;
                }
                Err(error) => tracing::debug!(%error, "process group already ended"),
            }
        }
        self.kill();
        self.reap().await;
    }

    /// Kills the process group, once: its id may be another's later.
    fn kill(&mut self) {
        if std::mem::replace(&mut self.is_killed, true) {
            return;
        }
        if let Err(error) = self.child.start_kill() {
            // There is no group where every process has ended by itself.
            tracing::debug!(%error, "process group already ended");
        }
    }

    /// Collects processes that were killed: in a container, this may be the one to do so.
    async fn reap(&mut self) {
        let _reaped = tokio::time::timeout(REAP_TIMEOUT, self.child.wait()).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Writes the parts that are not text to files: their base name, behind their number.
fn write_inputs(directory: &Path, parts: &[Part]) -> io::Result<()> {
    for (number, part) in parts.iter().enumerate() {
        let (content, fallback) = match &part.content {
            Some(Content::Raw(raw)) => (raw.to_vec(), "file"),
            Some(Content::Data(data)) => (serde_json::to_vec(data)?, "data.json"),
            Some(Content::Url(url)) => (format!("{url}\n").into_bytes(), "link.url"),
            Some(Content::Text(_)) | None => continue,
        };
        let name = Path::new(&part.filename).file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| !name.is_empty()).unwrap_or(fallback);
        std::fs::write(directory.join(format!("{number}-{name}")), content)?;
    }
    Ok(())
}
