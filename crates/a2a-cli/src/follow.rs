//! How a task is followed until it settles: by its stream while there is one, by polling
//! otherwise.

use std::{cell::RefCell, future::Future, time::Duration};

use a2a_core::{
    Error, ErrorKind, Message, Result as Answer, Task, TaskState,
    v1::{
        GetTaskRequest, StreamResponse, SubscribeToTaskRequest, TaskStatus,
        stream_response::Payload,
    },
};
use a2a_operations::{Event, EventId, EventStream};
use futures_util::StreamExt;
use serde_json::json;

use crate::{
    failure::{Code, Failure},
    output::{self, EventText, Output, TaskDetail},
    settings::Settings,
    target::Target,
};

/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// How many polls in a row may fail.
const MAX_FAULTS: u32 = 5;
/// How long a lost subscription is tried again without success.
const RECONNECT_FOR: Duration = Duration::from_secs(60);

/// What came of a message.
#[derive(Debug)]
pub(crate) enum Outcome {
    Task(Box<Task>),
    Message(Message),
}

/// What is known of a task when waiting for it is given up.
#[derive(Debug, Default)]
pub(crate) struct Progress(RefCell<Option<(String, String, TaskState)>>);

impl Progress {
    fn details(&self) -> Option<serde_json::Value> {
        let known = self.0.borrow();
        let (task_id, context_id, state) = known.as_ref()?;
        Some(json!({
            "taskId": task_id, "contextId": context_id, "state": state.as_str_name(),
        }))
    }

    /// Returns whether a task is known.
    pub(crate) fn is_known(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Adds to a failure which task was waited for, if that is known.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let Some(details) = self.details() else { return failure };
        let task_id = details["taskId"].as_str().unwrap_or_default();
        let hint = format!("the task may go on: a2a task get {}", output::quoted(task_id));
        failure.with_hint(hint).with_details(details)
    }

    fn failure(&self, code: Code, message: &str) -> Failure {
        self.explain(Failure::new(code, message))
    }
}

/// Does work until it is done, `--timeout` is over, or a signal comes.
pub(crate) async fn within_limits<T>(
    settings: &Settings,
    progress: &Progress,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let limit = async {
        match settings.timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        result = work => result,
        () = limit => Err(progress.failure(Code::Timeout, "the time to wait is over")),
        () = crate::signal::received() => {
            Err(progress.failure(Code::Interrupted, "interrupted"))
        }
    }
}

/// Follows one task and, with `--stream`, prints what happens to it.
pub(crate) struct Follower<'a> {
    target: &'a Target,
    settings: &'a Settings,
    output: Output,
    progress: &'a Progress,
    events: EventText,
    /// The task as far as events told.
    task: Option<Task>,
    /// Whether an event told the whole task, and not only changes of it.
    is_whole: bool,
    message: Option<Message>,
    last_event: Option<EventId>,
    waits_for_auth: bool,
}

/// Why a stream was left.
enum End {
    Settled,
    Lost(Error),
}

impl<'a> Follower<'a> {
    pub(crate) fn new(
        target: &'a Target,
        settings: &'a Settings,
        output: Output,
        progress: &'a Progress,
    ) -> Self {
        Self {
            target,
            settings,
            output,
            progress,
            events: EventText::new(output.verbose()),
            task: None,
            is_whole: false,
            message: None,
            last_event: None,
            waits_for_auth: false,
        }
    }

    /// Says whether AUTH_REQUIRED is a reason to go on waiting.
    #[must_use]
    pub(crate) fn keep_waiting_for_auth(mut self, keep: bool) -> Self {
        self.waits_for_auth = keep;
        self
    }

    pub(crate) fn output(&self) -> Output {
        self.output
    }

    /// How much of a task is printed.
    pub(crate) fn detail(&self, history: bool) -> TaskDetail<'_> {
        TaskDetail { verbose: self.output.verbose(), history, agent: Some(self.target.flags()) }
    }

    /// Follows a stream to the end of the task, by other means where it is lost.
    pub(crate) async fn follow(&mut self, stream: EventStream) -> Result<Outcome, Failure> {
        let End::Lost(error) = self.read(stream).await? else { return self.outcome().await };
        let Some(task_id) = self.task.as_ref().map(|task| task.id.clone()) else {
            return Err(self.target.failure(&error));
        };
        self.output.note("the stream was lost: subscribing again");
        if let Ok(stream) = self.subscribe(&task_id).await
            && let End::Settled = self.read(stream).await?
        {
            return self.outcome().await;
        }
        self.output.note("polling instead");
        self.poll(&task_id, Duration::ZERO).await
    }

    /// Follows a task by subscription alone, and subscribes again whenever that is lost.
    pub(crate) async fn resubscribe(&mut self, task_id: &str) -> Result<Outcome, Failure> {
        let mut pause = self.settings.poll_interval;
        let mut lost_since = None;
        loop {
            let error = match self.subscribe(task_id).await {
                Ok(stream) => {
                    let before = self.last_event;
                    match self.read(stream).await? {
                        End::Settled => return self.outcome().await,
                        End::Lost(error) => {
                            if self.last_event != before {
                                lost_since = None;
                                pause = self.settings.poll_interval;
                            }
                            error
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::UnsupportedOperation => {
                    // The task may have ended: then it is the result.
                    let task =
                        self.get(task_id).await.map_err(|_later| self.target.failure(&error))?;
                    if !self.stops_at(task.state()) {
                        return Err(self.target.failure(&error));
                    }
                    return self.whole(task);
                }
                Err(error) if error.is_transient() => error,
                Err(error) => return Err(self.target.failure(&error)),
            };
            let since = *lost_since.get_or_insert_with(tokio::time::Instant::now);
            if self.settings.timeout.is_none() && since.elapsed() >= RECONNECT_FOR {
                return Err(self.target.failure(&error));
            }
            self.output.note("the stream was lost: subscribing again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Goes on from the task that answered a send which did not wait.
    pub(crate) async fn poll_from(&mut self, task: Task) -> Result<Outcome, Failure> {
        self.noticed(&task.id, &task.context_id, task.state());
        if self.stops_at(task.state()) {
            return self.whole(task);
        }
        let task_id = task.id.clone();
        if self.settings.stream {
            self.print(&StreamResponse { payload: Some(Payload::Task(task)) })?;
        }
        self.poll(&task_id, self.settings.poll_interval).await
    }

    /// Asks for the task again and again until it settles.
    pub(crate) async fn poll(
        &mut self,
        task_id: &str,
        first_pause: Duration,
    ) -> Result<Outcome, Failure> {
        let mut pause = first_pause;
        let mut faults = 0;
        loop {
            tokio::time::sleep(pause).await;
            match self.get(task_id).await {
                Ok(task) => {
                    faults = 0;
                    pause = self.settings.poll_interval;
                    self.noticed(&task.id, &task.context_id, task.state());
                    if self.stops_at(task.state()) {
                        return self.whole(task);
                    }
                }
                Err(error) if error.is_transient() && faults + 1 < MAX_FAULTS => {
                    faults += 1;
                    let doubled = pause.max(self.settings.poll_interval) * 2;
                    pause = error.retry_after().unwrap_or(doubled).min(MAX_PAUSE);
                }
                Err(error) => return Err(self.target.failure(&error)),
            }
        }
    }

    /// Takes a message that is the whole answer.
    pub(crate) fn message(&mut self, message: Message) -> Result<Outcome, Failure> {
        if self.settings.stream {
            self.print(&StreamResponse { payload: Some(Payload::Message(message.clone())) })?;
        }
        Ok(Outcome::Message(message))
    }

    /// Keeps what is known of the task, and tells its ids as soon as they are known.
    pub(crate) fn noticed(&self, task_id: &str, context_id: &str, state: TaskState) {
        let mut known = self.progress.0.borrow_mut();
        if known.is_none() {
            self.output.note(&format!("task {task_id} context {context_id}"));
        }
        *known = Some((task_id.to_owned(), context_id.to_owned(), state));
    }

    /// Prints what follows the last event in text.
    pub(crate) fn end_of_stream(&self, outcome: &Outcome) -> Result<(), Failure> {
        if let Outcome::Task(task) = outcome {
            self.warn_of(task);
        }
        if self.output.is_json() {
            return Ok(());
        }
        self.output.text(&self.events.end(Some(self.target.flags())))
    }

    /// Says on stderr that the agent did not, or not yet, do what was asked.
    pub(crate) fn warn_of(&self, task: &Task) {
        warn_of(self.output, task);
    }

    async fn subscribe(&self, task_id: &str) -> Answer<EventStream> {
        let request = SubscribeToTaskRequest { id: task_id.to_owned(), ..Default::default() };
        let mut call = self.target.call(request);
        call.context.last_event_id = self.last_event;
        Ok(self.target.agent().subscribe_to_task(call).await?.response)
    }

    async fn get(&self, task_id: &str) -> Answer<Task> {
        let request = GetTaskRequest { id: task_id.to_owned(), ..GetTaskRequest::default() };
        let answer = self.target.agent().get_task(self.target.call(request));
        let task = self.target.in_time(answer).await?.response;
        Ok(std::sync::Arc::unwrap_or_clone(task))
    }

    async fn read(&mut self, mut stream: EventStream) -> Result<End, Failure> {
        while let Some(item) = stream.next().await {
            let event = match item {
                Ok(event) => event,
                Err(error) => return Ok(End::Lost(error)),
            };
            if self.take(event)? {
                return Ok(End::Settled);
            }
        }
        if self.message.is_some()
            || self.task.as_ref().is_some_and(|task| self.stops_at(task.state()))
        {
            return Ok(End::Settled);
        }
        Ok(End::Lost(Error::unavailable("the stream ended before the task settled")))
    }

    /// Takes an event and returns whether the stream may be left.
    fn take(&mut self, event: Event) -> Result<bool, Failure> {
        self.last_event = event.id().or(self.last_event);
        let response = event.into_response();
        let news = self.apply(&response);
        if self.settings.stream && news {
            self.print(&response)?;
        }
        Ok(match &response.payload {
            Some(Payload::Message(_)) => self.task.is_none(),
            Some(Payload::Task(_) | Payload::StatusUpdate(_)) => {
                self.task.as_ref().is_some_and(|task| self.stops_at(task.state()))
            }
            Some(Payload::ArtifactUpdate(_)) | None => false,
        })
    }

    /// Adds an event to what is known and returns whether it tells something new.
    fn apply(&mut self, response: &StreamResponse) -> bool {
        match &response.payload {
            Some(Payload::Task(task)) => {
                let known = self.task.replace(task.clone());
                self.is_whole = true;
                self.noticed(&task.id, &task.context_id, task.state());
                known.as_ref() != Some(task)
            }
            Some(Payload::Message(message)) => {
                self.message = Some(message.clone());
                true
            }
            Some(Payload::StatusUpdate(update)) => {
                let state =
                    update.status.as_ref().map_or(TaskState::Unspecified, TaskStatus::state);
                self.noticed(&update.task_id, &update.context_id, state);
                self.known(&update.task_id, &update.context_id).apply_status(update);
                true
            }
            Some(Payload::ArtifactUpdate(update)) => {
                self.known(&update.task_id, &update.context_id).apply_artifact(update);
                true
            }
            None => false,
        }
    }

    fn known(&mut self, task_id: &str, context_id: &str) -> &mut Task {
        self.task.get_or_insert_with(|| Task {
            id: task_id.to_owned(),
            context_id: context_id.to_owned(),
            ..Task::default()
        })
    }

    async fn outcome(&mut self) -> Result<Outcome, Failure> {
        if let Some(message) = self.message.take() {
            return Ok(Outcome::Message(message));
        }
        match self.task.take() {
            Some(task) if self.is_whole => Ok(Outcome::Task(Box::new(task))),
            // Only changes were told: the rest has to be asked for.
            Some(task) => {
                let whole = self.get(&task.id).await;
                Ok(Outcome::Task(Box::new(whole.unwrap_or(task))))
            }
            None => Err(Failure::protocol(
                ErrorKind::InvalidAgentResponse,
                "the stream ended without a task or a message",
            )),
        }
    }

    /// Takes a settled task that was asked for; it is the last line of a stream.
    fn whole(&mut self, task: Task) -> Result<Outcome, Failure> {
        self.noticed(&task.id, &task.context_id, task.state());
        if self.settings.stream {
            self.print(&StreamResponse { payload: Some(Payload::Task(task.clone())) })?;
        }
        Ok(Outcome::Task(Box::new(task)))
    }

    fn print(&mut self, response: &StreamResponse) -> Result<(), Failure> {
        let text = self.events.event(response);
        self.output.result(response, || text)
    }

    /// Returns whether waiting ends at a state.
    fn stops_at(&self, state: TaskState) -> bool {
        state.is_settled() && !(self.waits_for_auth && state == TaskState::AuthRequired)
    }
}

/// Says on stderr that the agent did not, or not yet, do what was asked.
pub(crate) fn warn_of(output: Output, task: &Task) {
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
