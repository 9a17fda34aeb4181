//! `a2a task`: tasks that are there already.

mod cancel;
mod get;
mod list;
mod subscribe;

use clap::Subcommand;

use crate::{failure::Failure, output::Output, settings::Settings};

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Show a task; with --wait, when it has settled
    Get(get::Get),
    /// List tasks, newest first
    List(list::List),
    /// Cancel a task
    Cancel(cancel::Cancel),
    /// Follow a task until it settles
    Subscribe(subscribe::Subscribe),
}

impl TaskCommand {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        match self {
            Self::Get(get) => get.run(settings, output).await,
            Self::List(list) => list.run(settings, output).await,
            Self::Cancel(cancel) => cancel.run(settings, output).await,
            Self::Subscribe(subscribe) => subscribe.run(settings, output).await,
        }
    }
}

/// The task that a command is about: its argument, else `--task-id` and its variable.
fn task_id(argument: Option<&String>, settings: &Settings) -> Result<String, Failure> {
    match (argument, &settings.task_id) {
        (Some(argument), Some(setting)) if argument != setting => Err(Failure::usage(format!(
            "two different tasks are named: {argument} and, by --task-id, {setting}"
        ))),
        (Some(id), _) | (None, Some(id)) => Ok(id.clone()),
        (None, None) => Err(Failure::usage("no task is named")
            .with_hint("give its id as the argument, or by --task-id or A2ACLI_TASK_ID")),
    }
}
