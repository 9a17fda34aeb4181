//! An agent made of a command: text goes in on its stdin, the answer comes out on its stdout.

mod child;
mod environment;
mod jsonl;
mod plain;
mod slots;
mod stderr;

use std::{ffi::OsString, time::Duration};

use a2a_core::AgentCard;
use a2a_operations::{AgentError, AgentExecutor, RequestContext, TaskUpdater};

use self::slots::Slots;

pub(crate) use environment::ExecEnvironment;
pub(crate) use stderr::StderrPolicy;

/// How a command is run.
#[derive(Clone, Debug)]
pub(crate) struct ExecAgent {
    program: OsString,
    arguments: Vec<OsString>,
    environment: ExecEnvironment,
    stderr: StderrPolicy,
    form: Form,
    timeout: Option<Duration>,
    /// A slot for each command that may run at a time.
    slots: Slots,
}

/// What is spoken with the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text in, one artifact out at the end.
    Whole,
    /// Text in, an artifact in chunks out, cut at this delimiter.
    Chunks(Vec<u8>),
    /// The message in, events out, each on one line.
    JsonLines,
}

impl ExecAgent {
    /// Runs a command line through the shell. What users say never becomes part of it.
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

    /// Sets how many commands run at a time; other tasks wait as SUBMITTED. Where callers are
    /// told apart, some are for those that have none running.
    #[must_use]
    pub(crate) fn with_concurrency(mut self, commands: u16, has_callers: bool) -> Self {
        self.slots = Slots::new(usize::from(commands.max(1)), has_callers);
        self
    }

    /// The card of such an agent. It streams only where events really come one by one.
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

impl AgentExecutor for ExecAgent {
    async fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> Result<(), AgentError> {
        let caller = context.call().caller.subject().unwrap_or_default();
        let slot = tokio::select! {
            () = context.cancelled() => return Ok(()),
            slot = context.wait_for(self.slots.acquire(caller)) => slot,
        };
        updates.start().await?;
        let run = async {
            match &self.form {
                Form::Whole => plain::whole(self, &context, &updates).await,
                Form::Chunks(delimiter) => plain::chunks(self, &context, &updates, delimiter).await,
                Form::JsonLines => jsonl::run(self, &context, &updates).await,
            }
        };
        let limit = self.timeout.unwrap_or(Duration::from_secs(365 * 24 * 3600));
        let result = tokio::time::timeout(limit, run).await;
        drop(slot);
        match result {
            Ok(done) => done,
            Err(_) => {
                updates.fail("The command took too long").await?;
                Ok(())
            }
        }
    }
}
