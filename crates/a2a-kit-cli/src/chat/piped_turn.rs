//! A message and its answer over pipes: as `a2a send` prints them.

use a2a_core::v1::{SendMessageRequest, SendMessageResponse};
use a2a_kit_client::{SendOutcome, WaitOptions};

use crate::{
    agent::RemoteAgent,
    failure::Failure,
    output::{self, Output},
    settings::Settings,
    watch::{Progress, Watcher, warn_of_state, within_limits},
};

/// Sends a message, waits for its outcome and prints it; with `--stream`, as events.
pub(super) async fn piped_turn(
    agent: &RemoteAgent,
    request: SendMessageRequest,
    options: &WaitOptions,
    settings: &Settings,
    output: Output,
) -> Result<SendOutcome, Failure> {
    let progress = Progress::new(agent);
    let mut watcher = Watcher::new(agent, output, &progress, options).with_events(settings.stream);
    let outcome = async {
        let sending = agent.client().send_and_watch(request, options.clone());
        let watch = watcher.during(sending).await.map_err(|error| agent.failure(&error))?;
        watcher.run(watch).await
    };
    let outcome = within_limits(settings, &progress, outcome).await?;
    if settings.stream {
        watcher.end(&outcome)?;
        return Ok(outcome);
    }
    if let Some(task) = outcome.task() {
        warn_of_state(task, output);
    }
    output.result(&SendMessageResponse::from(outcome.clone()), || match &outcome {
        SendOutcome::Task(task) => output::task(task, watcher.detail(false)),
        SendOutcome::Message(message) => output::message(message, output.verbose()),
    })?;
    Ok(outcome)
}
