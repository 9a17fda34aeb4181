//! A message and its answer. On a terminal, Ctrl-C cancels the task, and a second one leaves; over
//! pipes, they are printed as by `a2a send`.

use std::time::Duration;

use a2a_core::{
    Error, Task,
    v1::{SendMessageRequest, SendMessageResponse},
};
use a2a_kit_client::{SendOutcome, WaitOptions, Watch};
use a2a_kit_operations::Event;

use super::transcript::Transcript;
use crate::{
    agent::RemoteAgent,
    failure::{Code, Failure},
    output::ProgressLine,
    settings::Settings,
    signal::StopSignals,
    watch::{Progress, Watcher, warn_of_state},
};

/// How an answer ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    /// The task stopped, or the agent sent a message.
    Outcome(SendOutcome),
    /// The agent had not answered when Ctrl-C was pressed.
    Abandoned,
    /// The answer failed or, with [`Code::Interrupted`], the conversation ends: a second Ctrl-C, or a
    /// signal to terminate. The task is the one known then.
    Failed(Failure, Option<Task>),
}

/// The parts of a conversation that an answer needs.
pub(super) struct Turn<'a> {
    pub(super) agent: &'a RemoteAgent,
    pub(super) settings: &'a Settings,
    pub(super) options: &'a WaitOptions,
    pub(super) signals: &'a mut StopSignals,
    pub(super) transcript: &'a mut Transcript,
}

/// What happened first.
enum Step<T> {
    Done(T),
    Interrupted,
    Terminated,
    TimedOut(Duration),
}

impl Turn<'_> {
    /// Sends a message and prints the answer as it arrives.
    pub(super) async fn run(mut self, request: SendMessageRequest) -> Result<TurnEnd, Failure> {
        let mut line = self.settings.output.progress_line();
        let deadline = self
            .settings
            .timeout
            .and_then(|timeout| Some((tokio::time::Instant::now().checked_add(timeout)?, timeout)));
        let client = self.agent.client.clone();
        let sending = client.send_and_watch(request, self.options.clone());
        let mut watch = match self.step(&mut line, deadline, sending).await {
            Step::Done(Ok(watch)) => watch,
            Step::Done(Err(error)) => return Ok(self.failed(&error, None)),
            Step::Interrupted => return Ok(TurnEnd::Abandoned),
            Step::Terminated => return Ok(left(None)),
            Step::TimedOut(after) => return Ok(self.timed_out(after, None)),
        };
        let mut is_canceling = false;
        loop {
            match self.step(&mut line, deadline, watch.next()).await {
                Step::Done(Some(Ok(event))) => self.show(&event, &watch, &mut line)?,
                Step::Done(Some(Err(error))) => return Ok(self.failed(&error, watch.task())),
                Step::Done(None) => break,
                Step::Interrupted if is_canceling => {
                    return Ok(left(watch.task().cloned()));
                }
                Step::Interrupted => {
                    is_canceling = true;
                    let Some(task) = watch.task().cloned() else { return Ok(TurnEnd::Abandoned) };
                    if self.cancel(&task, &mut line).await? {
                        return Ok(left(Some(task)));
                    }
                }
                Step::Terminated => return Ok(left(watch.task().cloned())),
                Step::TimedOut(after) => return Ok(self.timed_out(after, watch.task())),
            }
        }
        let task = watch.task().cloned();
        match watch.outcome().await {
            Ok(outcome) => Ok(TurnEnd::Outcome(outcome)),
            Err(error) => Ok(self.failed(&error, task.as_ref())),
        }
    }

    fn show(
        &mut self,
        event: &Event,
        watch: &Watch,
        line: &mut ProgressLine,
    ) -> Result<(), Failure> {
        if let Some(task) = watch.task() {
            line.set_state(task.state());
        }
        self.transcript.event(event.response())?;
        line.set_hidden(!self.transcript.at_line_start());
        Ok(())
    }

    /// Asks the agent to cancel, and returns whether a further signal arrived meanwhile. The watch
    /// then sees the end of the task.
    async fn cancel(&mut self, task: &Task, line: &mut ProgressLine) -> Result<bool, Failure> {
        self.transcript.end_text()?;
        line.set_hidden(false);
        self.settings
            .output
            .note(&format!("canceling task {}; Ctrl-C again leaves the chat", task.id));
        let client = self.agent.client.clone();
        match self.step(line, None, client.cancel(&task.id)).await {
            Step::Done(Ok(_)) => Ok(false),
            Step::Done(Err(error)) => {
                self.settings.output.failure(&self.agent.failure(&error));
                Ok(false)
            }
            Step::Interrupted | Step::Terminated | Step::TimedOut(_) => Ok(true),
        }
    }

    async fn step<T>(
        &mut self,
        line: &mut ProgressLine,
        deadline: Option<(tokio::time::Instant, Duration)>,
        work: impl Future<Output = T>,
    ) -> Step<T> {
        let signals = &mut *self.signals;
        line.during(async {
            let expired = async {
                match deadline {
                    Some((at, after)) => {
                        tokio::time::sleep_until(at).await;
                        after
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                is_interrupt = signals.next() => {
                    if is_interrupt { Step::Interrupted } else { Step::Terminated }
                }
                done = work => Step::Done(done),
                after = expired => Step::TimedOut(after),
            }
        })
        .await
    }

    fn failed(&self, error: &Error, task: Option<&Task>) -> TurnEnd {
        let failure = self.agent.failure(error);
        TurnEnd::Failed(self.explained(failure, task), task.cloned())
    }

    fn timed_out(&self, after: Duration, task: Option<&Task>) -> TurnEnd {
        let message = format!("timed out waiting for the answer after {}s", after.as_secs_f64());
        let failure = Failure::new(Code::Timeout, message);
        TurnEnd::Failed(self.explained(failure, task), task.cloned())
    }

    /// Names the task that may still run.
    fn explained(&self, failure: Failure, task: Option<&Task>) -> Failure {
        match task {
            Some(task) if !task.state().is_terminal() => failure
                .with_hint(format!("the task may still run: {}", self.agent.follow(&task.id))),
            _ => failure,
        }
    }
}

/// The failure after a signal.
pub(super) fn interrupted() -> Failure {
    Failure::new(Code::Interrupted, "interrupted")
}

fn left(task: Option<Task>) -> TurnEnd {
    TurnEnd::Failed(interrupted(), task)
}

/// Sends a message, waits for its outcome and prints it; with `--stream`, as events.
pub(super) async fn piped_turn(
    agent: &RemoteAgent,
    request: SendMessageRequest,
    options: &WaitOptions,
    settings: &Settings,
) -> Result<SendOutcome, Failure> {
    let progress = Progress::new(agent);
    let mut watcher = Watcher::new(&progress, options).with_events(settings.stream);
    let outcome = async {
        let sending = agent.client.send_and_watch(request, options.clone());
        let watch = watcher.during(sending).await.map_err(|error| agent.failure(&error))?;
        watcher.run(watch).await
    };
    let outcome = progress.limit(settings, outcome).await?;
    if settings.stream {
        watcher.end(&outcome)?;
        return Ok(outcome);
    }
    if let Some(task) = outcome.task() {
        warn_of_state(task, settings.output);
    }
    let response = SendMessageResponse::from(outcome.clone());
    settings.output.result(&response, |text| watcher.write(text, &outcome, false))?;
    Ok(outcome)
}
