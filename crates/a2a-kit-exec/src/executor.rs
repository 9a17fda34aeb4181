//! A run of the program for each message.

use a2a_kit_operations::{
    AgentExecutor, BoxError, Recovery, RequestContext, RunLimits, TaskUpdater,
};

use crate::{
    exec::{Exec, Io},
    jsonl, plain,
};

impl AgentExecutor for Exec {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let is_dialogue = matches!(self.io, Io::JsonLines { .. });
        if !is_dialogue {
            // A command has read all its input when it begins, and ends the task.
            context.refuse_messages();
        }
        let shared = self.shared()?;
        let caller = context.call().caller.subject().unwrap_or_default();
        let slot = tokio::select! {
            () = context.cancelled() => return Ok(()),
            slot = context.wait_for(shared.turn(caller)) => slot,
        };
        match &self.io {
            Io::JsonLines { strict } => {
                jsonl::run(self, shared, &context, &updates, slot, *strict).await
            }
            _ => plain::run(self, shared, &context, &updates).await,
        }
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }

    fn run_limits(&self) -> RunLimits {
        RunLimits::default().with_max_run_time(self.timeout)
    }
}
