//! `a2a task`: existing tasks.

mod download;
mod list;
mod push_config;
mod single;

use clap::Subcommand;

use crate::{failure::Failure, settings::Settings};

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Show a task; with --wait, wait until it settles
    Get(single::Get),
    /// List tasks, newest first
    List(list::List),
    /// Cancel a task
    Cancel(single::Cancel),
    /// Watch a task until it settles
    Subscribe(single::Subscribe),
    /// Save the artifacts of a task as files
    Download(download::Download),
    /// Manage the webhooks of a task
    #[command(subcommand)]
    PushConfig(push_config::PushConfigCommand),
}

impl TaskCommand {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        match self {
            Self::Get(get) => get.run(settings).await,
            Self::List(list) => list.run(settings).await,
            Self::Cancel(cancel) => cancel.run(settings).await,
            Self::Subscribe(subscribe) => subscribe.run(settings).await,
            Self::Download(download) => download.run(settings).await,
            Self::PushConfig(command) => command.run(settings).await,
        }
    }
}
