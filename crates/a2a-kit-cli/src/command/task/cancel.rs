//! `a2a task cancel`.

use std::sync::Arc;

use a2a_core::{ErrorKind, Task, TaskState, v1::CancelTaskRequest};
use clap::Args;

use super::task_id::task_id;
use crate::{
    agent::{RemoteAgent, Retries},
    failure::Failure,
    output::{self, Output, TaskDetail},
    settings::Settings,
};

#[derive(Args, Debug)]
pub(crate) struct Cancel {
    /// Task ID
    task: Option<String>,
}

impl Cancel {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        let id = task_id(self.task.as_ref(), settings)?;
        let agent = RemoteAgent::connect(settings, output, Retries::of_read(settings)).await?;
        let task = cancel(&agent, id, settings).await?;
        let detail =
            TaskDetail { verbose: output.verbose(), history: false, agent: Some(agent.flags()) };
        output.result(&*task, || output::task(&task, detail))
    }
}

/// Cancels a task; succeeds if it is already canceled.
async fn cancel(
    agent: &RemoteAgent,
    id: String,
    settings: &Settings,
) -> Result<Arc<Task>, Failure> {
    let client = agent.client();
    let request = CancelTaskRequest {
        id: id.clone(),
        metadata: settings.metadata.clone(),
        ..CancelTaskRequest::default()
    };
    let error = match client.agent().cancel_task(client.call(request)).await {
        Ok(reply) => return Ok(reply.response),
        Err(error) => error,
    };
    if error.kind() == ErrorKind::TaskNotCancelable
        && let Ok(task) = client.get(id).await
        && task.state() == TaskState::Canceled
    {
        return Ok(task);
    }
    Err(agent.failure(&error))
}
