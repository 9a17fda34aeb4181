//! An agent made of a command: the text of a message is its stdin, its stdout is the response.

mod caller;
mod child;
mod config;
mod environment;
mod jsonl;
mod output_files;
mod plain;
mod run_directory;
mod slots;
mod stderr;
mod waiting;

use a2a_kit_operations::{AgentExecutor, BoxError, RequestContext, RunLimits, TaskUpdater};

pub(crate) use config::{ExecAgent, Form};
pub(crate) use environment::ExecEnvironment;
pub(crate) use run_directory::RunDirectory;
pub(crate) use stderr::StderrPolicy;
pub(crate) use waiting::WaitingLimits;

impl AgentExecutor for ExecAgent {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        if !matches!(self.form, Form::JsonLines) {
            // A command has read all its input when it begins, and ends the task.
            context.refuse_messages();
        }
        let caller = context.call().caller.subject().unwrap_or_default();
        let slot = tokio::select! {
            () = context.cancelled() => return Ok(()),
            slot = context.wait_for(self.slots.acquire(caller)) => slot,
        };
        updates.start().await?;
        match &self.form {
            Form::Whole => plain::whole(self, &context, &updates).await,
            Form::Chunks(delimiter) => plain::chunks(self, &context, &updates, delimiter).await,
            Form::JsonLines => jsonl::run(self, &context, &updates, slot).await,
        }
    }

    fn run_limits(&self) -> RunLimits {
        RunLimits::default().with_max_run_time(self.timeout)
    }
}
