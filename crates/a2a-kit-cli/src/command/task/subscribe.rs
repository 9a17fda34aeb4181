//! `a2a task subscribe`.

use a2a_kit_client::{SendOutcome, UpdateDelivery};
use clap::Args;

use super::task_id::task_id;
use crate::{
    agent::{RemoteAgent, Retries},
    failure::Failure,
    output::{self, Output},
    settings::Settings,
    watch::{Progress, Watcher, wait_options, warn_of_state, within_limits},
};

#[derive(Args, Debug)]
pub(crate) struct Subscribe {
    /// Task ID
    task: Option<String>,
    /// Keep waiting at AUTH_REQUIRED
    #[arg(long)]
    auth_wait: bool,
}

impl Subscribe {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        let id = task_id(self.task.as_ref(), settings)?;
        let retries = Retries::of_subscription(settings);
        let agent = RemoteAgent::connect(settings, output, retries).await?;
        let progress = Progress::new(&agent);
        let options =
            wait_options(settings, self.auth_wait).with_delivery(UpdateDelivery::Streaming);
        let watch = agent.client().watch(id, options.clone());
        let mut watcher =
            Watcher::new(&agent, output, &progress, &options).with_events(settings.stream);
        let outcome = within_limits(settings, &progress, watcher.run(watch)).await?;
        if settings.stream {
            return watcher.end(&outcome);
        }
        match &outcome {
            SendOutcome::Task(task) => {
                warn_of_state(task, output);
                output.result(task, || output::task(task, watcher.detail(false)))
            }
            SendOutcome::Message(message) => {
                output.result(message, || output::message(message, output.verbose()))
            }
        }
    }
}
