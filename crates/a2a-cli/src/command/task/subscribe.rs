//! `a2a task subscribe`.

use clap::Args;

use crate::{
    failure::Failure,
    follow::{Follower, Outcome, Progress, within_limits},
    output::{self, Output},
    settings::Settings,
    target::Target,
};

#[derive(Args, Debug)]
pub(crate) struct Subscribe {
    /// Id of the task
    task: Option<String>,
    /// Keep waiting while the agent waits for an authorization
    #[arg(long)]
    auth_wait: bool,
}

impl Subscribe {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        let id = super::task_id(self.task.as_ref(), settings)?;
        let target = Target::connect(settings, output).await?;
        target.require_streaming()?;
        let progress = Progress::default();
        let mut follower = Follower::new(&target, settings, output, &progress)
            .keep_waiting_for_auth(self.auth_wait);
        let outcome = within_limits(settings, &progress, follower.resubscribe(&id)).await?;
        if settings.stream {
            return follower.end_of_stream(&outcome);
        }
        match &outcome {
            Outcome::Task(task) => {
                follower.warn_of(task);
                output.result(task, || output::task(task, follower.detail(false)))
            }
            Outcome::Message(message) => {
                output.result(message, || output::message(message, output.verbose()))
            }
        }
    }
}
