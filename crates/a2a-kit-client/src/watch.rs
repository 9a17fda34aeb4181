//! The updates of a task until it stops.

use std::{mem, sync::Arc, time::Duration};

use a2a_core::{
    Error, ErrorKind, Message, Result, Task, TaskState,
    v1::{GetTaskRequest, SubscribeToTaskRequest, stream_response::Payload},
};
use a2a_kit_http::client::TransportError;
use a2a_kit_operations::{Event, EventId, EventStream};
use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::{
    Client, ClientEvent, PollPolicy, SendOutcome, Snapshot, UpdateDelivery, WaitOptions,
    backoff::SHORT_STREAM, unknown_state,
};

/// The longest delay between two polls.
const MAX_DELAY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The longest pause between two subscriptions, if the interval of the polls is not longer.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// How long the stream of a reply is read after it began with an interrupted task, which some agents
/// send as it was before the reply.
const OUTDATED_GRACE: Duration = Duration::from_secs(1);

/// The events of a task until it reaches a state at which its [`WaitOptions`] stop.
///
/// They come from a stream that is resumed after a lost connection, or else from polling: then the
/// events are `Task`s, one whenever the status has changed. A `Task` that equals what is already
/// known is skipped. Dropping it does not cancel the task.
///
/// A stream whose first event is a message should end after it. Some agents send further messages:
/// each is an event, and the last one is the outcome.
///
/// Some agents first send a task that is continued as it was before the message. An interrupted
/// state in the first event of such a send stops the watch only if no other event follows within a
/// second or, without a stream, if the next poll confirms it.
///
/// ```no_run
/// use a2a_kit_client::{Client, WaitOptions};
///
/// # async fn example(client: Client) -> a2a_core::Result<()> {
/// let mut watch = client.send_and_watch("Plan a trip", WaitOptions::default()).await?;
/// while let Some(event) = watch.next().await {
///     if let Some(state) = event?.state() {
///         eprintln!("{state:?}");
///     }
/// }
/// println!("{}", watch.outcome().await?.text());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Watch {
    client: Client,
    options: WaitOptions,
    deadline: Option<Instant>,
    /// `None` until the first event of a send.
    task_id: Option<String>,
    source: Source,
    last_event_id: Option<EventId>,
    snapshot: Snapshot,
    message: Option<Message>,
    is_polled: bool,
    /// Whether the next event is the first one of a send that continues a task.
    is_reply: bool,
    /// When the stream is left if no event follows a task that may be outdated.
    leave_at: Option<Instant>,
    /// The pause before the next subscription after one that ended.
    pause: Duration,
    /// Whether the stream was lost because the agent could not be reached: it may stream again once
    /// it answers.
    was_unreachable: bool,
}

/// Where the next event comes from.
#[derive(Debug)]
enum Source {
    /// The response to a send that returned immediately.
    Response(Box<Event>),
    /// A subscription that is opened at this time.
    Subscription(Instant),
    Stream {
        events: EventStream,
        is_subscription: bool,
        opened: Instant,
    },
    Polling(Poll),
    /// The task has stopped.
    Stopped,
}

#[derive(Clone, Copy, Debug)]
struct Poll {
    at: Instant,
    interval: Duration,
    failures: u32,
}

impl Poll {
    /// The first poll, which is made now.
    fn first(policy: PollPolicy) -> Self {
        Self { at: Instant::now(), interval: policy.interval, failures: 0 }
    }

    /// The next poll, after the interval, which grows.
    fn next(self, policy: PollPolicy) -> Self {
        let interval = self.interval.saturating_mul(2).min(policy.max_interval);
        Self { at: after(self.interval), interval, failures: 0 }
    }
}

impl Watch {
    pub(crate) fn of_task(client: Client, task_id: String, options: WaitOptions) -> Self {
        let now = Instant::now();
        let source = match options.delivery {
            UpdateDelivery::Polling => Source::Polling(Poll::first(options.poll)),
            UpdateDelivery::Any if !client.card().can_stream() => {
                Source::Polling(Poll::first(options.poll))
            }
            UpdateDelivery::Any | UpdateDelivery::Streaming => Source::Subscription(now),
        };
        Self { task_id: Some(task_id), ..Self::new(client, options, source, now) }
    }

    pub(crate) fn of_send(
        client: Client,
        events: EventStream,
        options: WaitOptions,
        started: Instant,
    ) -> Self {
        let source = Source::Stream { events, is_subscription: false, opened: Instant::now() };
        Self::new(client, options, source, started)
    }

    pub(crate) fn of_outcome(
        client: Client,
        outcome: SendOutcome,
        options: WaitOptions,
        started: Instant,
    ) -> Self {
        let event = match outcome {
            SendOutcome::Task(task) => Event::from(task),
            SendOutcome::Message(message) => Event::from(message),
        };
        Self::new(client, options, Source::Response(Box::new(event)), started)
    }

    fn new(client: Client, options: WaitOptions, source: Source, started: Instant) -> Self {
        Self {
            deadline: options.timeout.and_then(|timeout| started.checked_add(timeout)),
            pause: options.poll.pause(),
            snapshot: Snapshot::new()
                .with_max_bytes(client.max_task_bytes)
                .with_artifacts(options.artifacts),
            options,
            task_id: None,
            source,
            last_event_id: None,
            message: None,
            is_polled: false,
            is_reply: false,
            leave_at: None,
            was_unreachable: false,
            client,
        }
    }

    /// Sets whether the sent message continues a task.
    pub(crate) fn with_reply(mut self, is_reply: bool) -> Self {
        self.is_reply = is_reply;
        self
    }

    /// Waits for the next event; `None` once the task has stopped, or after an error.
    ///
    /// # Errors
    ///
    /// The error that ended the stream or, where the task is polled, the error of the last poll;
    /// [`ErrorKind::DeadlineExceeded`] when [`WaitOptions::timeout`] has expired;
    /// [`ErrorKind::InvalidAgentResponse`] for a task state that is not of the protocol, and for a
    /// task that exceeds [`ClientBuilder::max_task_bytes`](crate::ClientBuilder::max_task_bytes).
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Result<Event>> {
        let item = match self.deadline {
            None => self.advance().await,
            Some(deadline) => match timeout_at(deadline, self.advance()).await {
                Ok(item) => item,
                // The agent has answered, and only leaves its stream open.
                Err(_elapsed) if self.message.is_some() => None,
                Err(elapsed) => Some(Err(self.timed_out().with_source(elapsed))),
            },
        };
        if matches!(item, None | Some(Err(_))) {
            self.source = Source::Stopped;
        }
        item
    }

    /// The task so far; `None` before the first event of a task.
    pub fn task(&self) -> Option<&Task> {
        self.snapshot.task()
    }

    /// Returns whether the last event was obtained by polling.
    pub fn is_polled(&self) -> bool {
        self.is_polled
    }

    /// Reads the remaining events and returns the outcome. A task whose stream never contained all
    /// of it is fetched.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next); [`ErrorKind::InvalidAgentResponse`] if there was no event.
    pub async fn outcome(mut self) -> Result<SendOutcome> {
        while let Some(event) = self.next().await {
            event?;
        }
        if let Some(message) = self.message {
            return Ok(SendOutcome::Message(message));
        }
        if !self.snapshot.is_complete()
            && let Some(task_id) = self.snapshot.task().map(|task| task.id.clone())
            && let Ok(complete) = self.client.get(task_id).await
        {
            self.snapshot.apply(&event_of(complete))?;
        }
        self.snapshot
            .into_task()
            .map(SendOutcome::Task)
            .ok_or_else(|| Error::new(ErrorKind::InvalidAgentResponse, "no task and no message"))
    }

    async fn advance(&mut self) -> Option<Result<Event>> {
        loop {
            let leave_at = self.leave_at;
            let item = match &mut self.source {
                Source::Stopped => return None,
                Source::Response(_) => self.take_response(),
                Source::Subscription(at) => {
                    sleep_until(*at).await;
                    self.subscribe().await
                }
                Source::Stream { events, .. } => match next_until(events, leave_at).await {
                    Some(Some(Ok(event))) => self.accept(event),
                    // The task was not outdated.
                    None | Some(None | Some(Err(_))) if leave_at.is_some() => {
                        self.source = Source::Stopped;
                        Ok(None)
                    }
                    Some(Some(Err(error))) => self.lose_stream(error).map(|()| None),
                    None | Some(None) => {
                        self.end_stream();
                        Ok(None)
                    }
                },
                Source::Polling(poll) => {
                    sleep_until(poll.at).await;
                    self.poll().await
                }
            };
            if let Some(item) = item.transpose() {
                return Some(item);
            }
        }
    }

    fn take_response(&mut self) -> Result<Option<Event>> {
        let policy = self.options.poll;
        let polling = Source::Polling(Poll::first(policy).next(policy));
        let Source::Response(event) = mem::replace(&mut self.source, polling) else {
            return Ok(None);
        };
        let event = self.accept(*event)?;
        if self.message.is_some() {
            self.source = Source::Stopped;
        }
        Ok(event)
    }

    async fn subscribe(&mut self) -> Result<Option<Event>> {
        let id = self.task_id.clone().unwrap_or_default();
        let mut call = self.client.call(SubscribeToTaskRequest { id, ..Default::default() });
        call.context.last_event_id = self.last_event_id;
        match self.client.agent_of(self.options.delivery).subscribe_to_task(call).await {
            Ok(reply) => {
                let (events, opened) = (reply.response, Instant::now());
                self.source = Source::Stream { events, is_subscription: true, opened };
                Ok(None)
            }
            // Agents that stream reject subscriptions to tasks that have ended.
            Err(error)
                if self.options.delivery == UpdateDelivery::Streaming
                    && self.client.card().can_stream()
                    && error.kind() == ErrorKind::UnsupportedOperation =>
            {
                match self.get().await {
                    Ok(task) if self.options.stops_at(task.state()) => self.accept_polled(task),
                    _ => Err(error),
                }
            }
            Err(error) => self.lose_stream(error).map(|()| None),
        }
    }

    /// Continues by polling after a stream was lost, or returns the error: one about a state that
    /// this client does not know would only be repeated, or hidden by an older state.
    fn lose_stream(&mut self, error: Error) -> Result<()> {
        if self.options.delivery == UpdateDelivery::Streaming
            || self.task_id.is_none()
            || unknown_state::is_cause_of(&error)
        {
            return Err(error);
        }
        self.was_unreachable = TransportError::of(&error).is_some_and(TransportError::is_connect);
        let task_id = self.task_id.clone();
        self.client.observer.emit(|| ClientEvent::FellBackToPolling { task_id, error });
        self.source = Source::Polling(Poll::first(self.options.poll));
        Ok(())
    }

    /// Continues after a stream that ended without an error, at an interrupted state: that of a
    /// send always does, a subscription only to some agents.
    fn end_stream(&mut self) {
        let Source::Stream { is_subscription, opened, .. } = self.source else { return };
        let now = Instant::now();
        if opened.elapsed() >= SHORT_STREAM {
            self.pause = self.options.poll.pause();
        }
        self.source = match self.options.delivery {
            _ if self.message.is_some() || self.task_id.is_none() => Source::Stopped,
            _ if !is_subscription => Source::Subscription(now),
            UpdateDelivery::Streaming => self.next_subscription(),
            UpdateDelivery::Any | UpdateDelivery::Polling => {
                Source::Polling(Poll::first(self.options.poll))
            }
        };
    }

    /// A subscription after a pause, which grows.
    fn next_subscription(&mut self) -> Source {
        let pause = self.pause;
        self.pause = pause.saturating_mul(2).min(MAX_PAUSE).max(pause);
        Source::Subscription(after(pause))
    }

    async fn poll(&mut self) -> Result<Option<Event>> {
        let result = self.get().await;
        let policy = self.options.poll;
        let Source::Polling(poll) = &mut self.source else { return Ok(None) };
        match result {
            Ok(task) => {
                *poll = poll.next(policy);
                if mem::take(&mut self.was_unreachable) {
                    self.source = self.next_subscription();
                }
                self.accept_polled(task)
            }
            Err(error) if error.is_transient() && poll.failures + 1 < policy.max_failures => {
                poll.failures += 1;
                let delay = policy.failure_delay(poll.failures, error.retry_after());
                tracing::debug!(failures = poll.failures, ?delay, %error, "poll failed");
                poll.at = after(delay);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    // A future that borrowed the stream would not be `Send`.
    fn get(&self) -> impl Future<Output = Result<Arc<Task>>> + Send + use<> {
        let agent = self.client.watched.clone();
        let id = self.task_id.clone().unwrap_or_default();
        let call = self.client.call(GetTaskRequest { id, ..GetTaskRequest::default() });
        async move { Ok(agent.get_task(call).await?.response) }
    }

    /// Records a polled task, and returns it as an event if its status has changed.
    fn accept_polled(&mut self, task: Arc<Task>) -> Result<Option<Event>> {
        let is_known = self.task().is_some_and(|known| known.status == task.status);
        if is_known && !self.options.stops_at(task.state()) {
            return Ok(None);
        }
        let event = self.accept(event_of(task))?;
        self.is_polled = true;
        Ok(event)
    }

    /// Records an event, and returns it unless it is already known.
    fn accept(&mut self, event: Event) -> Result<Option<Event>> {
        unknown_state::check(&event)?;
        if event.id().is_some() {
            self.last_event_id = event.id();
        }
        self.is_polled = false;
        if let Some(task) = event.task().filter(|task| self.task() == Some(task)) {
            if self.options.stops_at(task.state()) {
                self.source = Source::Stopped;
            }
            return Ok(None);
        }
        self.snapshot.apply(&event)?;
        if let Some(task) = self.snapshot.task() {
            self.task_id = Some(task.id.clone());
        }
        let stops = match event.payload() {
            Some(Payload::Message(message)) => {
                // The stream ends after it, but some agents send more: a task before, or further
                // messages.
                self.message = Some(message.clone());
                false
            }
            _ => event.state().is_some_and(|state| self.options.stops_at(state)),
        };
        self.leave_at = None;
        let is_first_of_reply = mem::take(&mut self.is_reply);
        let may_be_outdated =
            is_first_of_reply && event.task().is_some_and(|task| !task.state().is_terminal());
        if stops && may_be_outdated {
            self.leave_at = Some(after(OUTDATED_GRACE));
        } else if stops {
            self.source = Source::Stopped;
        }
        Ok(Some(event))
    }

    fn timed_out(&self) -> Error {
        let timeout = self.options.timeout.unwrap_or_default();
        let state = self.task().map_or(TaskState::Unspecified, Task::state).as_str_name();
        let task_id = self.task_id.as_deref().unwrap_or("(unknown)");
        let message = format!("task {task_id} did not stop within {timeout:?} (state: {state})");
        Error::new(ErrorKind::DeadlineExceeded, message)
    }
}

fn event_of(task: Arc<Task>) -> Event {
    Arc::unwrap_or_clone(task).into()
}

/// The next event, or `None` if there is none until a time.
async fn next_until(
    events: &mut EventStream,
    time: Option<Instant>,
) -> Option<Option<Result<Event>>> {
    match time {
        None => Some(events.next().await),
        Some(time) => timeout_at(time, events.next()).await.ok(),
    }
}

/// The time after a delay, which is limited so that it can be represented.
fn after(delay: Duration) -> Instant {
    Instant::now() + delay.min(MAX_DELAY)
}

#[cfg(test)]
mod pace_tests;
#[cfg(test)]
mod tests;
