//! `a2a task get`.

use a2a_kit_client::UpdateDelivery;
use clap::Args;

use super::task_id::task_id;
use crate::{
    agent::{RemoteAgent, Retries},
    failure::Failure,
    output::{self, Output},
    settings::{Settings, Waiting},
    watch::{Progress, Watcher, wait_options, warn_of_state, within_limits},
};

#[derive(Args, Debug)]
pub(crate) struct Get {
    /// Task ID
    task: Option<String>,
    /// Show at most this many messages of the history
    #[arg(long, value_name = "N")]
    history: Option<u16>,
    /// Keep waiting at AUTH_REQUIRED
    #[arg(long)]
    auth_wait: bool,
}

impl Get {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        let id = task_id(self.task.as_ref(), settings)?;
        let agent = RemoteAgent::connect(settings, output, Retries::of_read(settings)).await?;
        let client = agent.client();
        let progress = Progress::new(&agent);
        let options = wait_options(settings, self.auth_wait).with_delivery(UpdateDelivery::Polling);
        let mut watcher = Watcher::new(&agent, output, &progress, &options);
        if settings.waiting == Waiting::Yes {
            let watch = client.watch(&id, options.clone());
            within_limits(settings, &progress, watcher.run(watch)).await?;
        }
        let task = match self.history {
            Some(history) => client.get_with_history(id, history).await,
            None => client.get(id).await,
        };
        let task = task.map_err(|error| agent.failure(&error))?;
        warn_of_state(&task, output);
        output.result(&*task, || output::task(&task, watcher.detail(self.history.is_some())))
    }
}
