//! `a2a task`: existing tasks.

mod cancel;
mod download;
mod get;
mod list;
mod push_config;
mod subscribe;
mod task_id;

use clap::Subcommand;

use crate::{failure::Failure, output::Output, settings::Settings};

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Show a task; with --wait, wait until it settles
    Get(get::Get),
    /// List tasks, newest first
    List(list::List),
    /// Cancel a task
    Cancel(cancel::Cancel),
    /// Watch a task until it settles
    Subscribe(subscribe::Subscribe),
    /// Save the artifacts of a task as files
    Download(download::Download),
    /// Manage the webhooks of a task
    #[command(subcommand)]
    PushConfig(push_config::PushConfigCommand),
}

impl TaskCommand {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        match self {
            Self::Get(get) => get.run(settings, output).await,
            Self::List(list) => list.run(settings, output).await,
            Self::Cancel(cancel) => cancel.run(settings, output).await,
            Self::Subscribe(subscribe) => subscribe.run(settings, output).await,
            Self::Download(download) => download.run(settings, output).await,
            Self::PushConfig(command) => command.run(settings, output).await,
        }
    }
}
