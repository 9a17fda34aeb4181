//! Streams that give back what they hold, and tasks that are counted when nobody reads them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use a2a_core::{
    ErrorKind, Result,
    v1::{GetTaskRequest, SubscribeToTaskRequest, stream_response::Payload},
};
use futures_core::Stream;
use futures_util::StreamExt as _;
use tokio::{runtime::Handle, time::Instant};

use super::{held::Share, works};
use crate::{Agent, Call, CallContext, Event, EventStream, event::Settled};

/// The first pause before a task is asked for again, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// For how long a task counts of which nothing can be learned.
const UNKNOWN: Duration = Duration::from_secs(3600);

/// A stream that holds its place among the open ones, and its task's among those that work.
pub(super) struct Guarded {
    events: Option<EventStream>,
    stream: Option<Share>,
    task: Option<Followed>,
}

impl Guarded {
    pub(super) fn new(events: EventStream, stream: Option<Share>, task: Option<Followed>) -> Self {
        Self { events: Some(events), stream, task }
    }
}

impl From<Guarded> for EventStream {
    fn from(mut guarded: Guarded) -> Self {
        if guarded.stream.is_none()
            && guarded.task.is_none()
            && let Some(events) = guarded.events.take()
        {
            return events;
        }
        Self::new(guarded)
    }
}

impl Stream for Guarded {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(events) = &mut this.events else { return Poll::Ready(None) };
        let item = ready!(events.poll_next_unpin(cx));
        match &item {
            Some(Ok(event)) => {
                if this.task.as_mut().is_some_and(|task| !task.goes_on(event)) {
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

impl Guarded {
    /// The reader is gone or was cut off and the task works on: it counts until it stops.
    fn follow(&mut self) {
        if let Some(task) = self.task.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(task.follow(self.events.take()));
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.stream = None;
        self.follow();
    }
}

/// A task that holds its caller's place until it stops working.
pub(super) struct Followed {
    agent: Arc<dyn Agent>,
    context: CallContext,
    tenant: String,
    /// Known from the first event on.
    task_id: String,
    _share: Share,
}

impl Followed {
    pub(super) fn new(
        agent: Arc<dyn Agent>,
        mut context: CallContext,
        tenant: String,
        share: Share,
    ) -> Self {
        // These are the send's, and mean something else for what is asked here.
        context.last_event_id = None;
        context.idempotency_key = None;
        Self { agent, context, tenant, task_id: String::new(), _share: share }
    }

    pub(super) fn of_task(mut self, task_id: &str) -> Self {
        task_id.clone_into(&mut self.task_id);
        self
    }

    /// Takes in an event, and returns whether the task works on.
    fn goes_on(&mut self, event: &Event) -> bool {
        let task_id = match event.payload() {
            Some(Payload::Task(task)) => &task.id,
            Some(Payload::StatusUpdate(update)) => &update.task_id,
            Some(Payload::ArtifactUpdate(update)) => &update.task_id,
            Some(Payload::Message(_)) | None => "",
        };
        if self.task_id.is_empty() {
            task_id.clone_into(&mut self.task_id);
        }
        event.settled() == Settled::No
    }

    /// Waits until the task stops working.
    pub(super) async fn follow(mut self, events: Option<EventStream>) {
        if let Some(events) = events
            && self.stops(events).await
        {
            return;
        }
        let mut known = Instant::now();
        let mut pause = FIRST_PAUSE;
        while !self.task_id.is_empty() && known.elapsed() < UNKNOWN {
            let request =
                SubscribeToTaskRequest { tenant: self.tenant.clone(), id: self.task_id.clone() };
            let call = Call::with_context(self.context.clone(), request);
            if let Ok(reply) = self.agent.subscribe_to_task(call).await {
                if self.stops(reply.response).await {
                    return;
                }
                known = Instant::now();
            }
            // It has ended, the agent does not stream, or it cannot be reached.
            let request = GetTaskRequest {
                tenant: self.tenant.clone(),
                id: self.task_id.clone(),
                history_length: Some(0),
            };
            match self.agent.get_task(Call::with_context(self.context.clone(), request)).await {
                Ok(reply) if !works(&reply.response) => return,
                Ok(_) => known = Instant::now(),
                Err(error) if error.kind() == ErrorKind::TaskNotFound => return,
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Reads a stream to its end, and returns whether the task has stopped then.
    async fn stops(&mut self, mut events: EventStream) -> bool {
        while let Some(Ok(event)) = events.next().await {
            if !self.goes_on(&event) {
                return true;
            }
        }
        false
    }
}
