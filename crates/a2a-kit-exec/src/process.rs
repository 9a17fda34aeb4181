//! The process of a program, and its process group.

use std::{
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use a2a_core::{Artifact, Part, v1::part::Content};
use a2a_kit_operations::{AgentError, BoxError, RequestContext};
#[cfg(windows)]
use process_wrap::tokio::JobObject;
#[cfg(unix)]
use process_wrap::tokio::ProcessGroup;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{ChildStdin, ChildStdout},
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;

use crate::{
    caller,
    exec::{Exec, Io, Shared},
    output_files::{self, OutputFilesError},
    run_directory::{CommandDirectory, write_private},
    stderr::Stderr,
};

/// Grace period of a process group after SIGTERM.
#[cfg(unix)]
const GRACE: Duration = Duration::from_secs(4);
/// Interval of looking whether a process group has ended.
#[cfg(unix)]
const GROUP_INTERVAL: Duration = Duration::from_millis(20);
/// Timeout for reaping killed processes.
const REAP_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the rest of the output is read once the group has ended: a process that has left it may
/// hold a pipe open.
const REST_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum bytes of one read.
const MAX_READ: usize = 64 << 10;
/// Maximum length of the name of an input file, in bytes.
const MAX_NAME: usize = 200;

/// A running command. Dropping it terminates its process group in the background.
#[derive(Debug)]
pub(crate) struct Process {
    /// What the command writes, up to its end.
    pub(crate) stdout: mpsc::Receiver<Vec<u8>>,
    ended: JoinHandle<io::Result<Ended>>,
    terminate: DropGuard,
}

/// The stdin of a command. Unless it is closed, it stays open until the command has ended: one that
/// is terminated gets SIGTERM, and does not take an end of its input for an answer.
#[derive(Debug)]
pub(crate) struct Stdin {
    pipe: Option<ChildStdin>,
    kept: Option<oneshot::Sender<ChildStdin>>,
}

impl Stdin {
    /// Writes all, as far as the command reads it.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        if let Some(pipe) = &mut self.pipe {
            // A command may close its stdin without reading it.
            let _closed = pipe.write_all(bytes).await;
        }
    }

    /// Tells the command that nothing more comes.
    pub(crate) fn close(mut self) {
        self.pipe = None;
    }
}

impl Drop for Stdin {
    fn drop(&mut self) {
        if let Some((pipe, kept)) = self.pipe.take().zip(self.kept.take()) {
            // The command has ended if nobody keeps it.
            let _closed = kept.send(pipe);
        }
    }
}

/// How a command has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    status: ExitStatus,
    stderr: Stderr,
    after: Duration,
    directory: CommandDirectory,
}

impl Process {
    /// Starts the command for a message. User input is passed through the environment, files and
    /// stdin only.
    ///
    /// # Errors
    ///
    /// The command can't be started. The cause, which may name the directory, is for the log.
    pub(crate) fn start(
        agent: &Exec,
        shared: &Shared,
        context: &RequestContext,
    ) -> Result<(Self, Stdin), AgentError> {
        Self::spawn(agent, shared, context)
            .map_err(|error| AgentError::new("The command can't be started").with_source(error))
    }

    fn spawn(agent: &Exec, shared: &Shared, context: &RequestContext) -> io::Result<(Self, Stdin)> {
        let directory = shared.directory.command()?;
        write_inputs(&directory.input(), &context.message().parts)?;
        let variables = caller::describe(context, &directory)?;
        let protocol = if matches!(agent.io, Io::JsonLines { .. }) { "jsonl/1" } else { "text/1" };
        let mut command = CommandWrap::with_new(&agent.program, |command| {
            command
                .args(&agent.arguments)
                .env_clear()
                .envs(agent.environment.variables())
                .envs(variables)
                .env("A2A_IO", protocol)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(JobObject);
        let begun = Instant::now();
        let mut child = command.spawn()?;
        let pipes = child.stdin().take().zip(child.stdout().take()).zip(child.stderr().take());
        let id = child.id();
        let registered = id.map(|id| directory.register(id));
        let (kept, stdin_after) = oneshot::channel();
        let group = Group {
            child,
            #[cfg(unix)]
            id,
            is_killed: false,
            directory: Some(directory),
            _stdin: stdin_after,
        };
        registered.transpose()?;
        let Some(((stdin, stdout), stderr)) = pipes else {
            return Err(io::Error::other("a pipe to the command is missing"));
        };
        let task = context.task_id().to_owned();
        let stderr = shared.stderr.clone().read(task.clone(), stderr).in_current_span();
        let stderr = tokio::spawn(stderr);
        // One read waits while another is passed on.
        let (sender, receiver) = mpsc::channel(1);
        let (terminate, is_over) = (CancellationToken::new(), CancellationToken::new());
        tokio::spawn(pump(stdout, sender, is_over.clone()));
        let ended = group.end(task, begun, stderr, terminate.clone(), is_over.drop_guard());
        let ended = shared.running.spawn(ended.in_current_span());
        let stdin = Stdin { pipe: Some(stdin), kept: Some(kept) };
        Ok((Self { stdout: receiver, ended, terminate: terminate.drop_guard() }, stdin))
    }

    /// Waits for the end of the command.
    ///
    /// # Errors
    ///
    /// An [`AgentError`] if the command failed; others if it can't be told.
    pub(crate) async fn ended(self, context: &RequestContext) -> Result<Vec<Artifact>, BoxError> {
        let ended = self.ended.await??;
        // Only now, because dropping it terminates the command.
        drop(self.terminate);
        ended.files(context.task_id()).await
    }

    /// Terminates the process group, and kills what is left of it after the grace period.
    pub(crate) async fn terminate(self) {
        drop(self.terminate);
        // What the command writes at its end is read, as it would fail otherwise.
        drop(self.stdout);
        let _ended = self.ended.await;
    }
}

/// Passes stdout on. Once the receiver is gone, it is still read, so that the command does not block on
/// a full pipe.
async fn pump(mut stdout: ChildStdout, sender: mpsc::Sender<Vec<u8>>, is_over: CancellationToken) {
    let mut rest = std::pin::pin!(async {
        is_over.cancelled().await;
        tokio::time::sleep(REST_TIMEOUT).await;
    });
    let mut buffer = vec![0; MAX_READ];
    loop {
        let read = tokio::select! {
            biased;
            read = stdout.read(&mut buffer) => read,
            () = &mut rest => return,
        };
        let Ok(count @ 1..) = read else { return };
        let _is_wanted = sender.send(buffer[..count].to_vec()).await;
    }
}

impl Ended {
    /// The files of a command that has succeeded.
    async fn files(self, task: &str) -> Result<Vec<Artifact>, BoxError> {
        let Self { status, stderr, after, directory } = self;
        let (status, is_success) = (signalled(status), status.success());
        let read = if is_success {
            let outputs = directory.output();
            match tokio::task::spawn_blocking(move || output_files::read(&outputs)).await? {
                Err(OutputFilesError::Read(error)) => return Err(error.into()),
                read => read.map_err(|error| error.to_string()),
            }
        } else {
            Err(format!("The command ended with {status}"))
        };
        let bytes = stderr.bytes;
        match read {
            Ok(files) => {
                tracing::info!(%status, ?after, stderr.bytes = bytes, task.id = task, "command ended");
                Ok(files)
            }
            Err(reason) => {
                let id = a2a_core::fresh_id();
                tracing::warn!(
                    reason,
                    %status,
                    ?after,
                    stderr.bytes = bytes,
                    task.id = task,
                    error.id = id,
                    "command failed"
                );
                let separator = if stderr.tail.is_empty() { "" } else { "\n" };
                let text = format!("{reason} (error {id}){separator}{}", stderr.tail);
                Err(AgentError::logged(text).into())
            }
        }
    }
}

/// The signal that ended a command, also if a shell says it by its own exit status.
fn signalled(status: ExitStatus) -> ExitStatus {
    #[cfg(unix)]
    if let Some(code @ 129..=159) = status.code() {
        return std::os::unix::process::ExitStatusExt::from_raw(code - 128);
    }
    status
}

/// A process group. Dropping it kills it, or the job on Windows.
#[derive(Debug)]
struct Group {
    child: Box<dyn ChildWrapper>,
    #[cfg(unix)]
    id: Option<u32>,
    is_killed: bool,
    /// Kept until the group has ended.
    directory: Option<CommandDirectory>,
    /// The stdin of a command that was not closed.
    _stdin: oneshot::Receiver<ChildStdin>,
}

impl Group {
    /// Waits until the command has exited, or terminates it, and then kills its remaining processes.
    async fn end(
        mut self,
        task: String,
        begun: Instant,
        mut stderr: JoinHandle<Stderr>,
        terminate: CancellationToken,
        is_over: DropGuard,
    ) -> io::Result<Ended> {
        // Of the command alone: what it leaves behind gets no grace period.
        let status = tokio::select! {
            biased;
            status = self.child.inner_mut().wait() => Some(status?),
            () = terminate.cancelled() => None,
        };
        let status = match status {
            Some(status) => status,
            None => {
                self.terminate().await;
                self.child.inner_mut().wait().await?
            }
        };
        self.kill();
        let _reaped = timeout(REAP_TIMEOUT, self.child.wait()).await;
        drop(is_over);
        let rest = timeout(REST_TIMEOUT, &mut stderr).await;
        stderr.abort();
        let stderr = rest.ok().and_then(Result::ok).unwrap_or_default();
        let (after, bytes) = (begun.elapsed(), stderr.bytes);
        if terminate.is_cancelled() {
            let status = signalled(status);
            tracing::info!(%status, ?after, stderr.bytes = bytes, task.id = task, "command terminated");
        }
        let Some(directory) = self.directory.take() else {
            return Err(io::Error::other("the directory of the command is gone"));
        };
        Ok(Ended { status, stderr, after, directory })
    }

    /// Sends SIGTERM to the group, and kills what is left of it after the grace period.
    async fn terminate(&mut self) {
        #[cfg(unix)]
        {
            let terminate = tokio::signal::unix::SignalKind::terminate().as_raw_value();
            match self.child.signal(terminate) {
                Ok(()) => drop(timeout(GRACE, self.gone()).await),
                Err(error) => tracing::debug!(%error, "process group already ended"),
            }
        }
        self.kill();
    }

    /// Waits until no process is left: a shell may end before what it has started.
    #[cfg(unix)]
    async fn gone(&mut self) {
        let _status = self.child.inner_mut().wait().await;
        let group = self.id.and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?));
        while group.is_some_and(|id| rustix::process::test_kill_process_group(id).is_ok()) {
            // In a container, this process may be their parent.
            let _reaped = self.child.try_wait();
            tokio::time::sleep(GROUP_INTERVAL).await;
        }
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
        if let Some(directory) = &self.directory {
            directory.unregister();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Writes the parts that are not text to files, named by number and base name.
fn write_inputs(directory: &Path, parts: &[Part]) -> io::Result<()> {
    for (number, part) in parts.iter().enumerate() {
        let (content, fallback) = match &part.content {
            Some(Content::Raw(raw)) => (raw.to_vec(), "file"),
            Some(Content::Data(data)) => (serde_json::to_vec(data)?, "data.json"),
            Some(Content::Url(url)) => (format!("{url}\n").into_bytes(), "link.url"),
            Some(Content::Text(_)) | None => continue,
        };
        let name = safe(&part.filename);
        let name = if name.is_empty() { fallback } else { &name };
        write_private(&directory.join(format!("{number}-{name}")), &content)?;
    }
    Ok(())
}

/// The base name of a path, without what a file system, a shell or a terminal takes for something
/// else. The number in front of it makes it unique, and no device on Windows.
fn safe(path: &str) -> String {
    let base = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_safe = |c: char| c.is_alphanumeric() || " ._-+,=@()[]".contains(c);
    let name: String = base.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric()).trim_end_matches(['.', ' ']);
    name[..name.floor_char_boundary(MAX_NAME)].to_owned()
}
