//! The process of a command, and its process group.

use std::{io, path::Path, process::Stdio, time::Duration};

use a2a_core::{Artifact, Part, v1::part::Content};
use a2a_kit_operations::RequestContext;
#[cfg(windows)]
use process_wrap::tokio::JobObject;
#[cfg(unix)]
use process_wrap::tokio::ProcessGroup;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::{
    ExecAgent, caller,
    output_files::{self, OutputFilesError},
    run_directory::{CommandDirectory, write_private},
};
use crate::download::file_name;

/// Maximum length of a line of output, or of a chunk.
pub(super) const MAX_LINE: usize = 16 << 20;
/// Grace period of a command after SIGTERM.
#[cfg(unix)]
const GRACE: Duration = Duration::from_secs(4);
/// Timeout for reaping killed processes.
const REAP_TIMEOUT: Duration = Duration::from_millis(500);

/// A running command. Dropping it kills its process group, or its job on Windows.
#[derive(Debug)]
pub(super) struct Process {
    child: Box<dyn ChildWrapper>,
    is_killed: bool,
    directory: CommandDirectory,
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
    /// With its output files.
    Well(Vec<Artifact>),
    /// With the message for the client.
    Badly(String),
}

impl Process {
    /// Starts the command for a message. User input is passed through the environment, files and
    /// stdin only.
    ///
    /// # Errors
    ///
    /// The message for the client. The cause, which may name the directory, goes to the log.
    pub(super) fn start(
        agent: &ExecAgent,
        context: &RequestContext,
    ) -> Result<(Self, Pipes), &'static str> {
        Self::spawn(agent, context).map_err(|error| {
            tracing::warn!(task.id = context.task_id(), %error, "failed to start a command");
            "The command can't be started"
        })
    }

    fn spawn(agent: &ExecAgent, context: &RequestContext) -> io::Result<(Self, Pipes)> {
        let directory = agent.directory.command()?;
        write_inputs(&directory.input(), &context.message().parts)?;
        let variables = caller::describe(context, &directory)?;
        let mut command = CommandWrap::with_new(&agent.program, |command| {
            command
                .args(&agent.arguments)
                .env_clear()
                .envs(agent.environment.variables())
                .envs(variables)
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
        let group = child.id();
        let process = Self { child, is_killed: false, directory };
        if let Some(group) = group {
            process.directory.register(group)?;
        }
        let Some(((stdin, stdout), stderr)) = pipes else {
            return Err(io::Error::other("a pipe to the command is missing"));
        };
        Ok((process, Pipes { stdin, stdout, stderr }))
    }

    /// Waits for the command to exit, and kills its remaining processes.
    pub(super) async fn ended(mut self, stderr: &str) -> io::Result<Ended> {
        // Of the command alone: its remaining processes get no grace period.
        let status = self.child.inner_mut().wait().await?;
        self.kill();
        self.reap().await;
        if status.success() {
            let outputs = self.directory.output();
            let read = tokio::task::spawn_blocking(move || output_files::read(&outputs)).await?;
            return match read {
                Ok(files) => Ok(Ended::Well(files)),
                Err(OutputFilesError::Read(error)) => Err(error),
                Err(error) => Ok(Ended::Badly(error.to_string())),
            };
        }
        let stderr = stderr.trim();
        let detail = if stderr.is_empty() { String::new() } else { format!("\n{stderr}") };
        Ok(Ended::Badly(format!("The command ended with {status}{detail}")))
    }

    /// Terminates the process group, and kills it once the command has exited or the grace period
    /// is over.
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

    /// Kills the process group, once: its id may be reused later.
    fn kill(&mut self) {
        if std::mem::replace(&mut self.is_killed, true) {
            return;
        }
        if let Err(error) = self.child.start_kill() {
            // The group is gone if all of its processes have exited.
            tracing::debug!(%error, "process group already ended");
        }
        self.directory.unregister();
    }

    /// Reaps killed processes: in a container, this process may be their parent.
    async fn reap(&mut self) {
        let _reaped = tokio::time::timeout(REAP_TIMEOUT, self.child.wait()).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Writes the parts that are not text to files, named by number and base name, made safe like the
/// name of a download.
fn write_inputs(directory: &Path, parts: &[Part]) -> io::Result<()> {
    for (number, part) in parts.iter().enumerate() {
        let (content, fallback) = match &part.content {
            Some(Content::Raw(raw)) => (raw.to_vec(), "file"),
            Some(Content::Data(data)) => (serde_json::to_vec(data)?, "data.json"),
            Some(Content::Url(url)) => (format!("{url}\n").into_bytes(), "link.url"),
            Some(Content::Text(_)) | None => continue,
        };
        let name = file_name::safe(&part.filename);
        let name = name.as_deref().unwrap_or(fallback);
        write_private(&directory.join(format!("{number}-{name}")), &content)?;
    }
    Ok(())
}
