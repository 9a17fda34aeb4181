//! The configuration of an agent made of a command.

use std::{ffi::OsString, fmt, sync::Arc, time::Duration};

use a2a_core::{AgentCard, v1::AgentSkill};

use super::{
    environment::ExecEnvironment,
    run_directory::RunDirectory,
    slots::Slots,
    stderr::StderrPolicy,
    waiting::{Waiting, WaitingLimits},
};

/// The description of an agent without one. The command line may contain secrets.
const DESCRIPTION: &str = "Runs a command";

/// An agent that runs a command for each message.
#[derive(Clone)]
pub(crate) struct ExecAgent {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: ExecEnvironment,
    pub(super) stderr: StderrPolicy,
    /// Where the files of commands are.
    pub(super) directory: Arc<RunDirectory>,
    pub(super) form: Form,
    pub(super) timeout: Option<Duration>,
    /// Limits concurrent commands.
    pub(super) slots: Slots,
    /// Limits commands that wait for an answer.
    pub(super) waiting: Waiting,
}

/// The format of the input and the output of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text in, one artifact out when the command ends.
    Whole,
    /// Text in, an artifact in chunks out, split at this delimiter.
    Chunks(Vec<u8>),
    /// The message in, events out, one JSON object per line.
    JsonLines,
}

impl ExecAgent {
    /// Runs a command line through the shell. Input of users never becomes part of it.
    pub(crate) fn shell(
        command: &str,
        environment: ExecEnvironment,
        stderr: StderrPolicy,
        directory: RunDirectory,
    ) -> Self {
        let words = vec!["/bin/sh".into(), "-c".into(), command.into()];
        Self::program(words, environment, stderr, directory)
    }

    /// Runs a program without a shell; the first of `words` is its name.
    pub(crate) fn program(
        words: Vec<OsString>,
        environment: ExecEnvironment,
        stderr: StderrPolicy,
        directory: RunDirectory,
    ) -> Self {
        let mut words = words.into_iter();
        Self {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            environment,
            stderr,
            directory: Arc::new(directory),
            form: Form::Whole,
            timeout: None,
            slots: Slots::new(1, false),
            waiting: Waiting::new(WaitingLimits::new(1, false, Duration::from_secs(30))),
        }
    }

    #[must_use]
    pub(crate) fn with_form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    #[must_use]
    pub(crate) fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the number of concurrent commands; other tasks wait as SUBMITTED. If callers are
    /// authenticated, some slots are reserved for callers with no running command.
    #[must_use]
    pub(crate) fn with_concurrency(mut self, commands: u16, has_callers: bool) -> Self {
        self.slots = Slots::new(usize::from(commands.max(1)), has_callers);
        self
    }

    /// Sets the limits of commands that wait for an answer.
    #[must_use]
    pub(crate) fn with_waiting(mut self, limits: WaitingLimits) -> Self {
        self.waiting = Waiting::new(limits);
        self
    }

    /// The card of the agent, with a skill of the same name and description. It declares streaming
    /// only if the format has events. Nothing of the command is in it: what a card, an error or an
    /// event says about the agent comes from settings that are meant for callers.
    pub(crate) fn card(&self, name: Option<&str>, description: Option<&str>) -> AgentCard {
        let description = description.unwrap_or(DESCRIPTION);
        AgentCard::new(name.unwrap_or("Command agent"), description)
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_input_modes(["*/*"])
            .with_streaming(self.form != Form::Whole)
            .with_skill(
                AgentSkill::new("run", name.unwrap_or("Run"), description).with_tags(["command"]),
            )
    }
}

// The command line may contain secrets.
impl fmt::Debug for ExecAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecAgent").field("form", &self.form).finish_non_exhaustive()
    }
}
