//! `a2a task cancel`.

use std::sync::Arc;

use a2a_core::{
    ErrorKind, Task, TaskState,
    v1::{CancelTaskRequest, GetTaskRequest},
};
use clap::Args;

use crate::{
    failure::Failure,
    output::{self, Output, TaskDetail},
    settings::Settings,
    target::Target,
};

#[derive(Args, Debug)]
pub(crate) struct Cancel {
    /// Id of the task
    task: Option<String>,
}

impl Cancel {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        let id = super::task_id(self.task.as_ref(), settings)?;
        let target = Target::connect(settings, output).await?;
        let task = cancel(&target, id, settings).await?;
        let detail =
            TaskDetail { verbose: output.verbose(), history: false, agent: Some(target.flags()) };
        output.result(&*task, || output::task(&task, detail))
    }
}

/// Cancels a task. One that is canceled already is what was asked for.
async fn cancel(target: &Target, id: String, settings: &Settings) -> Result<Arc<Task>, Failure> {
    let request = CancelTaskRequest {
        id: id.clone(),
        metadata: settings.metadata.clone(),
        ..CancelTaskRequest::default()
    };
    let error = match target.in_time(target.agent().cancel_task(target.call(request))).await {
        Ok(reply) => return Ok(reply.response),
        Err(error) => error,
    };
    if error.kind() == ErrorKind::TaskNotCancelable {
        let request = GetTaskRequest { id, ..GetTaskRequest::default() };
        if let Ok(task) = target.unary(target.agent().get_task(target.call(request))).await
            && task.state() == TaskState::Canceled
        {
            return Ok(task);
        }
    }
    Err(target.failure(&error))
}
