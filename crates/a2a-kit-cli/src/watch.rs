//! Watching a task: its progress, what `--stream` prints of it, and the end of the wait.

use std::{cell::RefCell, future::Future};

use a2a_core::{Message, Task, TaskState, v1::stream_response::Payload};
use a2a_kit_client::{SendOutcome, WaitOptions, Watch};
use serde_json::json;

use crate::{
    agent::RemoteAgent,
    failure::{Code, Failure},
    output::{self, EventText, Output, ProgressLine, Text},
    settings::Settings,
};

/// What is known of the task of an agent when the wait is aborted.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    agent: &'a RemoteAgent,
    /// The ids of the task and its context, and the state.
    known: RefCell<Option<(String, String, TaskState)>>,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(agent: &'a RemoteAgent) -> Self {
        Self { agent, known: RefCell::default() }
    }

    /// Records the state of the task, and prints its ids as soon as they are known.
    pub(crate) fn record(&self, task: &Task) {
        let mut known = self.known.borrow_mut();
        if known.is_none() {
            self.agent.output.note(&format!("task {} context {}", task.id, task.context_id));
        }
        *known = Some((task.id.clone(), task.context_id.clone(), task.state()));
    }

    /// Runs work [`within_limits`], and explains how to continue if they end it.
    pub(crate) async fn limit<T>(
        &self,
        settings: &Settings,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        // On the heap, as it would be in this future and in that one.
        let result = within_limits(settings, "task", Box::pin(work)).await;
        result.map_err(|failure| self.explain(failure))?
    }

    /// Returns whether a task is known.
    pub(crate) fn is_known(&self) -> bool {
        self.known.borrow().is_some()
    }

    /// Adds the task to a failure, if it is known.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let known = self.known.borrow();
        let Some((task_id, context_id, state)) = &*known else { return failure };
        failure
            .with_hint(format!("the task may still run: {}", self.agent.follow(task_id)))
            .with_details(json!({
                "taskId": task_id, "contextId": context_id, "state": state.as_str_name(),
            }))
    }
}

/// Runs work until it is done, `--timeout` expires or a signal arrives. `awaited` is what for.
pub(crate) async fn within_limits<T>(
    settings: &Settings,
    awaited: &str,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let timeout = async {
        match settings.timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        result = work => Ok(result),
        () = timeout => {
            Err(Failure::new(Code::Timeout, format!("timed out waiting for the {awaited}")))
        }
        () = a2a_kit_http::shutdown_signal() => {
            Err(Failure::new(Code::Interrupted, "interrupted"))
        }
    }
}

/// How to wait for a task: `waits_for_auth` continues at AUTH_REQUIRED.
pub(crate) fn wait_options(settings: &Settings, waits_for_auth: bool) -> WaitOptions {
    let options = WaitOptions::default().with_poll(settings.poll);
    if waits_for_auth { options.with_stop_at([TaskState::InputRequired]) } else { options }
}

/// Watches one task and, with `--stream`, prints its events.
pub(crate) struct Watcher<'a> {
    agent: &'a RemoteAgent,
    progress: &'a Progress<'a>,
    options: &'a WaitOptions,
    /// The events as text, if they are printed.
    events: Option<EventText>,
    /// The authorization request that was shown last.
    request: Option<Message>,
    line: ProgressLine,
}

impl<'a> Watcher<'a> {
    /// Creates a watcher that prints nothing.
    pub(crate) fn new(progress: &'a Progress<'a>, options: &'a WaitOptions) -> Self {
        let agent = progress.agent;
        let line = agent.output.progress_line();
        Self { agent, progress, options, events: None, request: None, line }
    }

    /// Sets whether events are printed.
    #[must_use]
    pub(crate) fn with_events(mut self, printed: bool) -> Self {
        let terminal = self.agent.output.terminal;
        self.events =
            printed.then(|| EventText::new(self.agent.output.verbose).with_flow(terminal));
        self
    }

    /// Writes the outcome.
    pub(crate) fn write(&self, text: &mut Text, outcome: &SendOutcome, history: bool) {
        match outcome {
            SendOutcome::Task(task) => output::task(text, task, self.agent.detail(history)),
            SendOutcome::Message(message) => {
                output::message(text, message, self.agent.output.verbose);
            }
        }
    }

    /// Awaits the response to a send, and shows the progress meanwhile.
    pub(crate) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.line.during(work).await
    }

    /// Watches the task until it stops.
    pub(crate) async fn run(&mut self, mut watch: Watch) -> Result<SendOutcome, Failure> {
        let mut messages = 0_usize;
        while let Some(event) = self.line.during(watch.next()).await {
            let event = event.map_err(|error| self.agent.failure(&error))?;
            messages += usize::from(matches!(event.payload(), Some(Payload::Message(_))));
            if let Some(task) = watch.task() {
                self.line.set_state(task.state());
                self.progress.record(task);
                if task.state() == TaskState::AuthRequired
                    && !self.options.stops_at(TaskState::AuthRequired)
                {
                    self.show_request(task, watch.is_polled());
                }
            }
            // Of the polled states, only the last one is printed.
            let stops = event.state().is_some_and(|state| self.options.stops_at(state));
            if let Some(events) = &mut self.events
                && (stops || !watch.is_polled())
            {
                let text = events.event(event.response());
                self.line.set_hidden(!events.at_line_start());
                self.agent.output.result(event.response(), |shown| shown.append(text))?;
            }
        }
        if messages > 1 {
            let hint = match &self.events {
                Some(_) => "",
                None => ": the result is the last one, and --stream prints all",
            };
            self.agent
                .output
                .note(&format!("the agent sent {messages} messages in one stream{hint}"));
        }
        watch.outcome().await.map_err(|error| self.agent.failure(&error))
    }

    /// Shows what authorization a task waits for, once, on stderr.
    fn show_request(&mut self, task: &Task, is_polled: bool) {
        let request = task.status_message().cloned().unwrap_or_default();
        if self.request.as_ref() == Some(&request) {
            return;
        }
        warn_of_state(task, self.agent.output);
        // Printed events include the message.
        if self.events.is_none() || is_polled {
            let text = Text::of(|text| text.parts(&request.parts));
            self.agent.output.diagnostic(text.plain().trim_end());
        }
        self.agent.output.note("waiting for the authorization");
        self.request = Some(request);
    }

    /// Prints the end of a stream of events: the ids and the state again, as text.
    pub(crate) fn end(&mut self, outcome: &SendOutcome) -> Result<(), Failure> {
        if let Some(task) = outcome.task() {
            warn_of_state(task, self.agent.output);
        }
        match &mut self.events {
            Some(events) if !self.agent.output.is_json() => {
                let end = events.end(Some(&self.agent.flags));
                self.agent.output.text(|text| text.append(end))
            }
            _ => Ok(()),
        }
    }
}

/// A failure or a signal may end the command within the text of an artifact.
impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        if let Some(events) = &mut self.events
            && !events.at_line_start()
            && !self.agent.output.is_json()
        {
            // The failure that ended the command is the one to report.
            let end = events.close();
            let _closed = self.agent.output.text(|text| text.append(end));
        }
    }
}

/// Warns that the agent did not do, or has not yet done, what was requested.
pub(crate) fn warn_of_state(task: &Task, output: Output) {
    let state = task.state();
    match state {
        TaskState::Failed
        | TaskState::Rejected
        | TaskState::InputRequired
        | TaskState::AuthRequired => {
            let state = output::state_name(state);
            output.warning(&format!("task {} is {state}", task.id));
        }
        TaskState::Unspecified
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::Completed
        | TaskState::Canceled => {}
    }
}
