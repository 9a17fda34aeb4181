//! An agent made of a program: its settings.

use std::{
    ffi::{OsStr, OsString},
    io,
    num::NonZeroU32,
    sync::{Arc, OnceLock},
    time::Duration,
};

use a2a_core::{AgentCard, v1::AgentSkill};
use a2a_kit_operations::{Recovery, Slot, Slots, metrics::Counted, rate::Rate};
use derive_setters::Setters;
use tokio_util::task::TaskTracker;

use crate::{
    environment::Environment, run_directory::RunDirectory, stderr::StderrPolicy, waiting::Waiting,
};

/// An agent that runs a program for each message.
///
/// Clones are the same agent: they share the limits of programs.
#[derive(Clone, Setters)]
#[setters(prefix = "with_")]
pub struct Exec {
    #[setters(skip)]
    pub(crate) program: OsString,
    #[setters(skip)]
    pub(crate) arguments: Vec<OsString>,
    #[setters(skip)]
    pub(crate) environment: Environment,
    /// What the program reads and writes. Default: [`Io::Stream`].
    pub(crate) io: Io,
    /// Time for each message, without waiting for an answer or for other programs. Beyond it the
    /// program is terminated, and the task is FAILED. Default: none.
    #[setters(into)]
    pub(crate) timeout: Option<Duration>,
    /// Number of programs that run at a time; further tasks wait as SUBMITTED. Default: 16.
    concurrency: u16,
    /// Number of programs that wait for an answer; beyond it the one that has waited longest is
    /// terminated, and the answer starts it again. Default: 64.
    max_waiting: u16,
    /// How long a program waits for an answer; a later one starts it again. Default: 30 s.
    ask_timeout: Duration,
    /// Whether callers authenticate, so that each gets a share of the limits: a quarter of the
    /// programs that run is for callers with none, and each may have a quarter of those that wait.
    /// Default: no.
    authenticated_callers: bool,
    /// What happens to a task whose node failed while its program ran. Default:
    /// [`Recovery::Fail`].
    pub(crate) recovery: Recovery,
    /// Maximum bytes of stderr to log, for each run. Default: 64 KiB.
    stderr_bytes: usize,
    /// Maximum rate of logged lines of stderr, over all programs. Default: 100 per second.
    stderr_rate: Rate,
    /// Whether callers get the last 4 KiB of stderr when the program fails. Default: no.
    stderr_exposed: bool,
    #[setters(skip)]
    shared: Arc<OnceLock<Shared>>,
}

/// What a program reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Io {
    /// Text in and text out: an artifact whose chunks are sent as they come.
    Stream,
    /// Text in and text out: an artifact whose chunks end with this delimiter.
    Chunks(String),
    /// Text in and text out: one artifact when the program has succeeded.
    Whole,
    /// The message in, events out, one JSON object per line. The guide has a chapter about it, and
    /// the schema of the lines.
    JsonLines {
        /// Whether a line of something else fails the task. Otherwise it goes to the log.
        strict: bool,
    },
}

/// Why a program can't be run.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The program is not in `PATH`, or not executable.
    #[error("program {0:?} not found")]
    NotFound(String),
    /// The directory for the files of programs can't be created.
    #[error("failed to create a directory for commands in {}", std::env::temp_dir().display())]
    Directory(#[source] io::Error),
}

a2a_core::debug_as_chain!(CheckError);

/// What all runs share.
pub(crate) struct Shared {
    pub(crate) directory: RunDirectory,
    /// Limits concurrent programs.
    pub(crate) slots: Slots,
    /// Limits programs that wait for an answer.
    pub(crate) waiting: Waiting,
    pub(crate) stderr: StderrPolicy,
    /// The tasks that wait for the end of a program.
    pub(crate) running: TaskTracker,
}

/// The permission to run a program, until dropped, counted as a running command.
pub(crate) type Turn = (Slot, Counted);

impl Shared {
    /// Waits until a caller may run a program.
    pub(crate) async fn turn(&self, caller: &str) -> Turn {
        let _waiting = Counted::command("waiting");
        (self.slots.acquire(caller).await, Counted::command("running"))
    }
}

impl Exec {
    /// Runs a program without a shell.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Environment::default(),
            io: Io::Stream,
            timeout: None,
            concurrency: 16,
            max_waiting: 64,
            ask_timeout: Duration::from_secs(30),
            authenticated_callers: false,
            recovery: Recovery::Fail,
            stderr_bytes: 64 << 10,
            stderr_rate: Rate::new(NonZeroU32::MIN.saturating_add(99), Duration::from_secs(1)),
            stderr_exposed: false,
            shared: Arc::default(),
        }
    }

    /// Runs a command line through the shell, `/bin/sh`. Input of callers never becomes part of it.
    pub fn shell(command: impl Into<OsString>) -> Self {
        Self::new(SHELL).arg("-c").arg(command)
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable of the program.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.set.insert(name.into(), value.into());
        self
    }

    /// Lets the program inherit an environment variable of this process. Without it, these are
    /// inherited: `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LANGUAGE`, `LC_*`, `TZ` and
    /// `TMPDIR`, and on Windows those that programs need to start.
    #[must_use]
    pub fn inherit_env(mut self, name: impl Into<String>) -> Self {
        self.environment.inherited.insert(name.into());
        self
    }

    /// Withholds an environment variable, such as one that holds a secret of this process, also if
    /// it is one that is inherited otherwise.
    #[must_use]
    pub fn withhold_env(mut self, name: impl Into<String>) -> Self {
        self.environment.withheld.insert(name.into());
        self
    }

    /// Checks that the program exists, and creates the directory for the files of programs. Call it
    /// at start; otherwise the first task fails. Of a shell command only the first word is checked,
    /// if it is plain; on Windows nothing is.
    ///
    /// # Errors
    ///
    /// The program is missing, or the directory can't be created.
    pub fn check(&self) -> Result<(), CheckError> {
        let word = match &self.arguments[..] {
            [option, command, ..] if self.program == SHELL && option == "-c" => first_word(command),
            _ => None,
        };
        let program = word.or_else(|| self.program.to_str().map(str::to_owned));
        if let Some(program) = program.filter(|program| is_missing(program)) {
            return Err(CheckError::NotFound(program));
        }
        self.shared().map(drop).map_err(CheckError::Directory)
    }

    /// Waits until all programs have ended. Those whose run was dropped get SIGTERM, and are killed
    /// after 4 s; call it once the engine has shut down.
    pub async fn stopped(&self) {
        if let Some(shared) = self.shared.get() {
            shared.running.close();
            shared.running.wait().await;
        }
    }

    /// A card with a skill of the same name and description, which declares streaming. Nothing of
    /// the command line is in it, which may contain secrets.
    pub fn card(&self, name: &str, description: &str) -> AgentCard {
        AgentCard::new(name, description)
            .with_input_modes(["*/*"])
            .with_streaming(true)
            .with_skill(AgentSkill::new("run", name, description).with_tags(["command"]))
    }

    /// Creates what all runs share, unless it is there.
    pub(crate) fn shared(&self) -> io::Result<&Shared> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let has_callers = self.authenticated_callers;
        let slots = Slots::new(usize::from(self.concurrency));
        let shared = Shared {
            directory: RunDirectory::create()?,
            slots: if has_callers { slots.with_reserve() } else { slots },
            waiting: Waiting::new(self.max_waiting, has_callers, self.ask_timeout),
            stderr: StderrPolicy::new(self.stderr_bytes, self.stderr_rate, self.stderr_exposed),
            running: TaskTracker::new(),
        };
        Ok(self.shared.get_or_init(|| shared))
    }
}

/// The shell of command lines.
const SHELL: &str = "/bin/sh";

/// The first word of a command line, if it is neither quoted nor expanded.
fn first_word(command: &OsStr) -> Option<String> {
    let word = command.to_str()?.split_whitespace().next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+/".contains(c);
    (word.chars().all(is_plain) && !word.starts_with('-')).then(|| word.to_owned())
}

/// Whether a shell finds no such program.
#[cfg(unix)]
fn is_missing(program: &str) -> bool {
    use std::process::{Command, Stdio};

    let found = Command::new(SHELL)
        .args(["-c", "command -v \"$1\"", SHELL, program])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    found.is_ok_and(|status| !status.success())
}

#[cfg(not(unix))]
fn is_missing(_: &str) -> bool {
    false
}

// The command line may contain secrets.
a2a_core::debug_fields!(Exec { io, .. });
