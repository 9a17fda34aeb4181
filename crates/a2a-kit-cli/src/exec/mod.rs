//! An agent made of a command: the text of a message is its stdin, its stdout is the response.

mod child;
mod config;
mod environment;
mod jsonl;
mod output_files;
mod plain;
mod slots;
mod stderr;

use std::time::Duration;

use a2a_kit_operations::{AgentExecutor, BoxError, RequestContext, TaskUpdater};

pub(crate) use config::{ExecAgent, Form};
pub(crate) use environment::ExecEnvironment;
pub(crate) use stderr::StderrPolicy;

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
