//! `a2a task get`, `a2a task subscribe` and `a2a task cancel`.

use std::sync::Arc;

use a2a_core::{ErrorKind, Task, TaskState, v1::CancelTaskRequest};
use a2a_kit_client::{SendOutcome, UpdateDelivery};
use clap::Args;

use crate::{
    agent::{RemoteAgent, Retries},
    failure::Failure,
    output::{self, Text},
    settings::{Settings, Waiting},
    watch::{Progress, Watcher, wait_options, warn_of_state},
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
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let (id, agent) = connect(self.task.as_ref(), settings).await?;
        let client = &agent.client;
        let progress = Progress::new(&agent);
        let options = wait_options(settings, self.auth_wait).with_delivery(UpdateDelivery::Polling);
        let mut watcher = Watcher::new(&progress, &options);
        if settings.waiting == Waiting::Yes {
            let watch = client.watch(&id, options.clone());
            progress.limit(settings, watcher.run(watch)).await?;
        }
        let task = match self.history {
            Some(history) => client.get_with_history(id, history).await,
            None => client.get(id).await,
        };
        let task = task.map_err(|error| agent.failure(&error))?;
        warn_of_state(&task, settings.output);
        settings.output.result(&*task, |text| {
            output::task(text, &task, agent.detail(self.history.is_some()));
        })
    }
}

#[derive(Args, Debug)]
pub(crate) struct Subscribe {
    /// Task ID
    task: Option<String>,
    /// Keep waiting at AUTH_REQUIRED
    #[arg(long)]
    auth_wait: bool,
}

impl Subscribe {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let id = task_id(self.task.as_ref(), settings)?;
        let retries = Retries::of_subscription(settings);
        let agent = RemoteAgent::connect(settings, retries).await?;
        let progress = Progress::new(&agent);
        let options =
            wait_options(settings, self.auth_wait).with_delivery(UpdateDelivery::Streaming);
        let watch = agent.client.watch(id, options.clone());
        let mut watcher = Watcher::new(&progress, &options).with_events(settings.stream);
        let outcome = progress.limit(settings, watcher.run(watch)).await?;
        if settings.stream {
            return watcher.end(&outcome);
        }
        let text = |text: &mut Text| watcher.write(text, &outcome, false);
        match &outcome {
            SendOutcome::Task(task) => {
                warn_of_state(task, settings.output);
                settings.output.result(task, text)
            }
            SendOutcome::Message(message) => settings.output.result(message, text),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Cancel {
    /// Task ID
    task: Option<String>,
}

impl Cancel {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let (id, agent) = connect(self.task.as_ref(), settings).await?;
        let task = cancel(&agent, id, settings).await?;
        settings.output.result(&*task, |text| output::task(text, &task, agent.detail(false)))
    }
}

/// Cancels a task; succeeds if it is already canceled.
async fn cancel(
    agent: &RemoteAgent,
    id: String,
    settings: &Settings,
) -> Result<Arc<Task>, Failure> {
    let client = &agent.client;
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

/// Connects to the agent of a task, for reads. The id is the argument, or `--task-id`.
pub(super) async fn connect(
    task: Option<&String>,
    settings: &Settings,
) -> Result<(String, RemoteAgent), Failure> {
    let id = task_id(task, settings)?;
    Ok((id, RemoteAgent::connect(settings, Retries::of_read(settings)).await?))
}

/// Returns the task id: the argument, or `--task-id` and its variable.
fn task_id(argument: Option<&String>, settings: &Settings) -> Result<String, Failure> {
    match (argument, &settings.task_id) {
        (Some(argument), Some(setting)) if argument != setting => Err(Failure::usage(format!(
            "conflicting task ids: {argument} as the argument, {setting} with --task-id"
        ))),
        (Some(id), _) | (None, Some(id)) => Ok(id.clone()),
        (None, None) => Err(Failure::usage("missing task id")
            .with_hint("give it as the argument, with --task-id or in A2ACLI_TASK_ID")),
    }
}
