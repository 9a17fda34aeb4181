//! The configuration of an agent made of a command.

use std::{ffi::OsString, time::Duration};

use a2a_core::AgentCard;

use super::{environment::ExecEnvironment, slots::Slots, stderr::StderrPolicy};

/// An agent that runs a command for each message.
#[derive(Clone, Debug)]
pub(crate) struct ExecAgent {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: ExecEnvironment,
    pub(super) stderr: StderrPolicy,
    pub(super) form: Form,
    pub(super) timeout: Option<Duration>,
    /// Limits concurrent commands.
    pub(super) slots: Slots,
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
    pub(crate) fn shell(command: &str, environment: ExecEnvironment, stderr: StderrPolicy) -> Self {
        let words = vec!["/bin/sh".into(), "-c".into(), command.into()];
        Self::program(words, environment, stderr)
    }

    /// Runs a program without a shell; the first of `words` is its name.
    pub(crate) fn program(
        words: Vec<OsString>,
        environment: ExecEnvironment,
        stderr: StderrPolicy,
    ) -> Self {
        let mut words = words.into_iter();
        Self {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            environment,
            stderr,
            form: Form::Whole,
            timeout: None,
            slots: Slots::new(1, false),
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

    /// The card of the agent, which declares streaming only if the format has events.
    pub(crate) fn card(&self) -> AgentCard {
        let name = match self.arguments.as_slice() {
            [flag, command] if flag == "-c" => command.to_string_lossy(),
            _ => self.program.to_string_lossy(),
        };
        AgentCard::new("Command agent", format!("Runs `{name}`"))
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_input_modes(["*/*"])
            .with_streaming(self.form != Form::Whole)
            .with_skill(
                a2a_core::v1::AgentSkill::new(
                    "run",
                    "Run",
                    format!("Runs `{name}` on what you say"),
                )
                .with_tags(["command"]),
            )
    }
}
