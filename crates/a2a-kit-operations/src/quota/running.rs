//! Permits of open streams and running tasks.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use a2a_core::{
    ErrorKind, Result, Task,
    v1::{GetTaskRequest, SubscribeToTaskRequest, stream_response::Payload},
};
use futures_core::Stream;
use futures_util::StreamExt as _;
use tokio::{runtime::Handle, time::Instant};

use crate::{Agent, Call, CallContext, Event, EventStream, caller_counts::Count, event::StreamEnd};

/// The delay before a task is polled again, doubled each time.
const MIN_POLL_DELAY: Duration = Duration::from_millis(100);
/// The maximum delay between polls.
const MAX_POLL_DELAY: Duration = Duration::from_secs(10);
/// How long an unreachable task counts as running.
const MAX_UNKNOWN: Duration = Duration::from_secs(3600);

/// A stream with its permit, and the permit of its task.
struct CountedStream {
    events: Option<EventStream>,
    stream: Option<Count>,
    task: Option<RunningTask>,
}

/// Holds the permits while a stream is read.
pub(super) fn counted(
    events: EventStream,
    stream: Option<Count>,
    task: Option<RunningTask>,
) -> EventStream {
    if stream.is_none() && task.is_none() {
        return events;
    }
    events.wrap(|events| CountedStream { events: Some(events), stream, task })
}

impl Stream for CountedStream {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(events) = &mut this.events else { return Poll::Ready(None) };
        let item = ready!(events.poll_next_unpin(cx));
        match &item {
            Some(Ok(event)) => {
                if this.task.as_mut().is_some_and(|task| !task.is_working(event)) {
                    this.task = None;
                }
            }
            Some(Err(_)) => {}
            None => {
                this.events = None;
                this.stream = None;
                this.follow();
            }
        }
        Poll::Ready(item)
    }
}

impl CountedStream {
    /// The reader is gone and the task is still running: count it until it stops.
    fn follow(&mut self) {
        if let Some(task) = self.task.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(task.follow(self.events.take()));
        }
    }
}

impl Drop for CountedStream {
    fn drop(&mut self) {
        self.stream = None;
        self.follow();
    }
}

/// A running task with its permit.
pub(super) struct RunningTask {
    agent: Arc<dyn Agent>,
    context: CallContext,
    tenant: String,
    /// Known from the first event on.
    task_id: String,
    _permit: Count,
}

impl RunningTask {
    pub(super) fn new(
        agent: Arc<dyn Agent>,
        mut context: CallContext,
        tenant: String,
        permit: Count,
    ) -> Self {
        // These belong to the send, and have another meaning in the calls made here.
        context.last_event_id = None;
        context.idempotency_key = None;
        Self { agent, context, tenant, task_id: String::new(), _permit: permit }
    }

    pub(super) fn of_task(mut self, task_id: &str) -> Self {
        task_id.clone_into(&mut self.task_id);
        self
    }

    /// Processes an event, and returns whether the task is still running.
    fn is_working(&mut self, event: &Event) -> bool {
        let task_id = match event.payload() {
            Some(Payload::Task(task)) => &task.id,
            Some(Payload::StatusUpdate(update)) => &update.task_id,
            Some(Payload::ArtifactUpdate(update)) => &update.task_id,
            Some(Payload::Message(_)) | None => "",
        };
        if self.task_id.is_empty() {
            task_id.clone_into(&mut self.task_id);
        }
        event.stream_end() == StreamEnd::Open
    }

    /// Waits until the task stops.
    pub(super) async fn follow(mut self, events: Option<EventStream>) {
        if let Some(events) = events
            && self.stops(events).await
        {
            return;
        }
        let mut known = Instant::now();
        let mut pause = MIN_POLL_DELAY;
        while !self.task_id.is_empty() && known.elapsed() < MAX_UNKNOWN {
            let request =
                SubscribeToTaskRequest { tenant: self.tenant.clone(), id: self.task_id.clone() };
            let call = Call::from_parts(self.context.clone(), request);
            if let Ok(reply) = self.agent.subscribe_to_task(call).await {
                if self.stops(reply.response).await {
                    return;
                }
                known = Instant::now();
            }
            // The task has ended, or the agent does not stream or is unreachable.
            let request = GetTaskRequest {
                tenant: self.tenant.clone(),
                id: self.task_id.clone(),
                history_length: Some(0),
            };
            match self.agent.get_task(Call::from_parts(self.context.clone(), request)).await {
                Ok(reply) if !is_working(&reply.response) => return,
                Ok(_) => known = Instant::now(),
                Err(error) if error.kind() == ErrorKind::TaskNotFound => return,
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_POLL_DELAY);
        }
    }

    /// Reads a stream to its end, and returns whether the task has stopped.
    async fn stops(&mut self, mut events: EventStream) -> bool {
        while let Some(Ok(event)) = events.next().await {
            if !self.is_working(&event) {
                return true;
            }
        }
        false
    }
}

/// Returns whether a task continues without further input.
pub(super) fn is_working(task: &Task) -> bool {
    !task.state().is_settled()
}
