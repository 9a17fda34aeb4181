//! `a2a task get`.

use std::time::Duration;

use a2a_core::v1::GetTaskRequest;
use clap::Args;

use crate::{
    failure::Failure,
    follow::{Follower, Outcome, Progress, within_limits},
    output::{self, Output},
    settings::{Settings, Waiting},
    target::Target,
};

#[derive(Args, Debug)]
pub(crate) struct Get {
    /// Id of the task
    task: Option<String>,
    /// Most messages of history, which are then shown
    #[arg(long, value_name = "N")]
    history: Option<u16>,
    /// Keep waiting while the agent waits for an authorization
    #[arg(long)]
    auth_wait: bool,
}

impl Get {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        let id = super::task_id(self.task.as_ref(), settings)?;
        let target = Target::connect(settings, output).await?;
        let progress = Progress::default();
        // Lines of a stream are for `task subscribe`; here the one result is the one line.
        let quiet = Settings { stream: false, ..settings.clone() };
        let mut follower =
            Follower::new(&target, &quiet, output, &progress).keep_waiting_for_auth(self.auth_wait);
        if settings.waiting == Waiting::Yes {
            let poll = follower.poll(&id, Duration::ZERO);
            if let Outcome::Message(_) = within_limits(settings, &progress, poll).await? {
                return Err(Failure::internal("a task was answered with a message"));
            }
        }
        let request = GetTaskRequest {
            id,
            history_length: self.history.map(Into::into),
            ..GetTaskRequest::default()
        };
        let answer = target.agent().get_task(target.call(request));
        let task = target.unary(answer).await?;
        follower.warn_of(&task);
        output.result(&*task, || output::task(&task, follower.detail(self.history.is_some())))
    }
}
