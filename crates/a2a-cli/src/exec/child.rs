//! The process of a command: how it is started, fed, and ended with all that it started.

use std::{io, path::Path, process::Stdio, time::Duration};

use a2a_core::{Part, v1::part::Content};
use a2a_operations::{RequestContext, trace};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
};

use super::ExecAgent;
use crate::log;

/// How long a command may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(4);
/// How much of what a command says on stderr is kept for the client.
const STDERR_TAIL: usize = 4 << 10;

/// A running command. Dropping it kills its process group.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Group>,
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
        let mut command = Command::new(&agent.program);
        command
            .args(&agent.arguments)
            .env("A2A_TASK_ID", context.task_id())
            .env("A2A_CONTEXT_ID", context.context_id())
            .env("A2A_MESSAGE_ID", &context.message().message_id)
            .env("A2A_INPUT_DIR", inputs.path())
            // What the command is asked for goes on in the trace of who asked, and in no other.
            .env_remove(log::TRACEPARENT)
            .envs(trace::current().map(|context| (log::TRACEPARENT, context.to_string())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a pipe to the command is missing");
        let pipes = Pipes {
            stdin: child.stdin.take().ok_or_else(missing)?,
            stdout: child.stdout.take().ok_or_else(missing)?,
            stderr: child.stderr.take().ok_or_else(missing)?,
        };
        let group = child.id().and_then(Group::of);
        Ok((Self { child, group, _inputs: inputs }, pipes))
    }

    /// Waits for the end of the command.
    pub(super) async fn ended(&mut self, stderr: &str) -> io::Result<Ended> {
        let status = self.child.wait().await?;
        self.group = None;
        if status.success() {
            return Ok(Ended::Well);
        }
        let stderr = stderr.trim();
        let told = if stderr.is_empty() { String::new() } else { format!("\n{stderr}") };
        Ok(Ended::Badly(format!("The command ended with {status}{told}")))
    }

    /// Asks the command and all that it started to end, and kills what is left after a while.
    pub(super) async fn terminate(mut self) {
        if let Some(group) = &self.group {
            group.terminate();
        }
        if tokio::time::timeout(GRACE, self.child.wait()).await.is_ok() {
            self.group = None;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            group.kill();
        }
    }
}

/// The process group of a command.
#[derive(Debug)]
struct Group(#[cfg(unix)] rustix::process::Pid);

impl Group {
    #[cfg(unix)]
    fn of(id: u32) -> Option<Self> {
        rustix::process::Pid::from_raw(i32::try_from(id).ok()?).map(Self)
    }

    #[cfg(not(unix))]
    fn of(_id: u32) -> Option<Self> {
        Some(Self())
    }

    fn terminate(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::TERM);
    }

    fn kill(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        // A group that has ended by itself needs no signal.
        if let Err(error) = rustix::process::kill_process_group(self.0, signal) {
            tracing::debug!(%error, "the command's process group is gone");
        }
    }
}

/// Reads stderr to its end, logs it, and returns its tail.
pub(super) async fn read_stderr(mut stderr: impl AsyncRead + Unpin) -> String {
    let mut tail = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let text = String::from_utf8_lossy(&buffer[..count]);
        tracing::info!(stderr = %text.trim_end(), "the command says");
        tail.extend_from_slice(&buffer[..count]);
        if tail.len() > STDERR_TAIL {
            tail.drain(..tail.len() - STDERR_TAIL);
        }
    }
    String::from_utf8_lossy(&tail).into_owned()
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
