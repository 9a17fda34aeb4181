//! One stream that resumes after a lost connection.

use std::{mem, sync::Arc, time::Duration};

use a2a_core::{
    Error, ErrorKind, Result, TaskState,
    v1::{
        GetTaskRequest, SendMessageRequest, StreamResponse, SubscribeToTaskRequest,
        stream_response::Payload,
    },
};
use a2a_kit_http::sse::Decoder;
use a2a_kit_operations::{Agent, Call, CallContext, Event, EventId, EventStream, StreamEnd};
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use crate::{ClientEvent, backoff::Backoff, client_event::Observer, snapshot::Snapshot};

/// The agent through which streams are reopened.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) agent: Arc<dyn Agent>,
    /// The time limit of each attempt.
    pub(crate) timeout: Duration,
    pub(crate) observer: Observer,
}

impl Upstream {
    /// Limits the time of a request. A timeout is a lost connection, so that it is retried.
    async fn within<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        let timed_out = |elapsed| Error::unavailable("agent does not respond").with_source(elapsed);
        tokio::time::timeout(self.timeout, request).await.map_err(timed_out)?
    }
}

/// The request that opened a stream, as needed to reopen it.
pub(crate) enum StreamRequest {
    /// A subscription.
    Subscription { context: Box<CallContext>, tenant: String, task_id: String },
    /// A send. It can be retried only with an idempotency key.
    Send { call: Box<Call<SendMessageRequest>> },
}

impl StreamRequest {
    fn context(&self) -> CallContext {
        let mut context = match self {
            Self::Subscription { context, .. } => CallContext::clone(context),
            Self::Send { call } => call.context.clone(),
        };
        context.last_event_id = None;
        context.idempotency_key = None;
        context
    }

    fn tenant(&self) -> &str {
        match self {
            Self::Subscription { tenant, .. } => tenant,
            Self::Send { call } => &call.request.tenant,
        }
    }
}

/// How long an agent may take to close a stream after the task has ended: some send one more
/// `Task`, and a connection whose response was read completely can be reused.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A stream that is reopened when its connection is lost.
pub(crate) struct ResumableStream {
    upstream: Upstream,
    request: StreamRequest,
    backoff: Backoff,
    events: EventStream,
    task_id: Option<String>,
    last_event_id: Option<EventId>,
    /// Whether ids are positions in the log of the task, so that a stream can be resumed after one.
    has_positions: bool,
    /// The last event before this connection was opened; events up to it are replays. Duplicate ids
    /// within one connection are not dropped, as some agents derive ids from the clock.
    replayed_to: Option<EventId>,
    /// Kept only while events have no positions, to detect whether a snapshot is new.
    known: Snapshot,
    stream_end: StreamEnd,
    opened: Instant,
    /// Whether the next event is the first after reopening.
    resumed: bool,
    /// Whether this connection has not delivered an event yet.
    awaits_first_event: bool,
    done: bool,
}

/// How a stream continues after a lost connection.
enum Continuation {
    Events(EventStream),
    /// The task has ended: its final state, if not known yet.
    End(Option<Event>),
}

impl ResumableStream {
    pub(crate) fn new(
        upstream: Upstream,
        request: StreamRequest,
        backoff: Backoff,
        events: EventStream,
    ) -> Self {
        let (task_id, last_event_id) = match &request {
            StreamRequest::Subscription { context, task_id, .. } => {
                (Some(task_id.clone()), context.last_event_id)
            }
            StreamRequest::Send { .. } => (None, None),
        };
        Self {
            upstream,
            request,
            backoff,
            events,
            task_id,
            last_event_id,
            replayed_to: last_event_id,
            has_positions: true,
            known: unknown(),
            stream_end: StreamEnd::Open,
            opened: Instant::now(),
            resumed: false,
            awaits_first_event: true,
            done: false,
        }
    }

    pub(crate) fn into_stream(self) -> EventStream {
        EventStream::new(stream::unfold(self, |mut resumable| async move {
            resumable.next().await.map(|item| (item, resumable))
        }))
    }

    async fn next(&mut self) -> Option<Result<Event>> {
        while !self.done {
            let next = self.events.next();
            let item = if self.stream_end == StreamEnd::Terminal {
                tokio::time::timeout(CLOSE_TIMEOUT, next).await.unwrap_or_default()
            } else {
                next.await
            };
            match item {
                Some(Ok(event)) => {
                    if let Some(event) = self.accept(event) {
                        return Some(Ok(event));
                    }
                }
                // An `EventStream` ends without an error only where it may end.
                None => self.done = true,
                Some(Err(_)) if self.is_finished() => self.done = true,
                Some(Err(error)) => match self.reopen(error).await {
                    Ok(Continuation::Events(events)) => {
                        let task_id = self.task_id.clone();
                        self.upstream.observer.emit(|| ClientEvent::Resumed { task_id });
                        self.events = events;
                        self.opened = Instant::now();
                        self.resumed = true;
                        self.awaits_first_event = true;
                        self.replayed_to = self.last_event_id;
                    }
                    Ok(Continuation::End(last)) => {
                        self.done = true;
                        return last.map(Ok);
                    }
                    Err(error) => {
                        self.done = true;
                        return Some(Err(error));
                    }
                },
            }
        }
        None
    }

    /// Returns whether the stream was complete when the connection was lost: the task has ended, or
    /// it requires input, which ends the stream of a send. A task that awaits authorization resumes
    /// by itself.
    fn is_finished(&self) -> bool {
        match (self.stream_end, &self.request) {
            (StreamEnd::Terminal, _) => true,
            (StreamEnd::Interrupted(state), StreamRequest::Send { .. }) => {
                state != TaskState::AuthRequired
            }
            (StreamEnd::Interrupted(_), StreamRequest::Subscription { .. })
            | (StreamEnd::Open, _) => false,
        }
    }

    /// Records an event, and returns it unless it is already known.
    fn accept(&mut self, event: Event) -> Option<Event> {
        let is_first = mem::replace(&mut self.awaits_first_event, false);
        let resumed = mem::take(&mut self.resumed);
        if let Some(id) = event.id() {
            match self.replayed_to {
                // Ids that restart on each connection are not positions.
                Some(last) if is_first && id < last => {
                    self.replayed_to = None;
                    self.last_event_id = None;
                }
                Some(last) if id <= last => return None,
                _ if self.has_positions => self.last_event_id = Some(id),
                _ => {}
            }
        } else if event.task().is_some() && self.last_event_id.is_none() {
            // A snapshot without a position: the ids of events are not positions in its log.
            self.has_positions = false;
        }
        if event.id().is_none()
            && resumed
            && let Some(task) = event.task()
            && self.known.covers(task)
        {
            return None;
        }
        match event.payload() {
            Some(Payload::Task(task)) => self.task_id = Some(task.id.clone()),
            Some(Payload::StatusUpdate(update)) => self.task_id = Some(update.task_id.clone()),
            Some(Payload::ArtifactUpdate(update)) => self.task_id = Some(update.task_id.clone()),
            Some(Payload::Message(_)) | None => {}
        }
        // A task beyond the limit is unknown: its snapshots are then passed on.
        if self.last_event_id.is_none() && self.known.apply(&event).is_err() {
            self.known = unknown();
        }
        self.stream_end = event.stream_end();
        self.backoff.record_progress();
        Some(event)
    }

    /// Reopens the stream after `error`, or returns the error to end with.
    async fn reopen(&mut self, mut error: Error) -> Result<Continuation> {
        self.backoff.record_stream(self.opened.elapsed(), error.retry_after());
        // Some agents open a stream and then reject it with an error event.
        if mem::take(&mut self.resumed)
            && is_rejection(&error)
            && let Some(task_id) = self.task_id.clone()
        {
            error = match self.fetch_final_state(&task_id, error).await {
                Ok(next) => return Ok(next),
                Err(error) => error,
            };
        }
        // An open stream ends as unauthenticated when its credential expires; the next one is
        // opened with a renewed credential.
        let mut has_expired =
            error.kind() == ErrorKind::Unauthenticated && !self.awaits_first_event;
        if self.backoff.gives_up_on_streams() {
            return Err(error);
        }
        loop {
            let is_transient = error.is_transient() || mem::take(&mut has_expired);
            if !is_transient || !self.can_reopen() {
                return Err(error);
            }
            let (observer, task_id) = (&self.upstream.observer, &self.task_id);
            let report = |attempt, delay, error| {
                let task_id = task_id.clone();
                observer.emit(|| ClientEvent::Reconnecting { task_id, attempt, delay, error });
            };
            self.backoff.wait(error, report).await?;
            error = match self.try_reopen().await {
                Ok(next) => return Ok(next),
                Err(error) => error,
            };
        }
    }

    fn can_reopen(&self) -> bool {
        match (&self.task_id, &self.request) {
            (Some(id), _) => !id.is_empty(),
            (None, StreamRequest::Send { call }) => call.context.idempotency_key.is_some(),
            (None, StreamRequest::Subscription { .. }) => false,
        }
    }

    async fn try_reopen(&mut self) -> Result<Continuation> {
        let Some(task_id) = self.task_id.clone() else {
            return match &self.request {
                StreamRequest::Send { call } => {
                    let reply =
                        self.upstream.agent.send_streaming_message((**call).clone()).await?;
                    Ok(Continuation::Events(reply.response))
                }
                StreamRequest::Subscription { .. } => Err(Error::unavailable("unknown task")),
            };
        };
        let mut context = self.request.context();
        context.last_event_id = self.last_event_id;
        let tenant = self.request.tenant();
        let request = SubscribeToTaskRequest { tenant: tenant.into(), id: task_id.clone() };
        let call = Call::from_parts(context, request);
        match self.upstream.within(self.upstream.agent.subscribe_to_task(call)).await {
            Ok(reply) => Ok(Continuation::Events(reply.response)),
            Err(rejected) if is_rejection(&rejected) => {
                self.fetch_final_state(&task_id, rejected).await
            }
            Err(error) => Err(error),
        }
    }

    /// Fetches a task whose subscription was rejected, and returns its state if it has ended.
    async fn fetch_final_state(&mut self, task_id: &str, rejected: Error) -> Result<Continuation> {
        let request = GetTaskRequest {
            tenant: self.request.tenant().to_owned(),
            id: task_id.to_owned(),
            ..GetTaskRequest::default()
        };
        let call = Call::from_parts(self.request.context(), request);
        let task = match self.upstream.within(self.upstream.agent.get_task(call)).await {
            Ok(reply) => reply.response,
            Err(error) if error.is_transient() => return Err(error),
            Err(_) => return Err(rejected),
        };
        if !task.state().is_settled() {
            return Err(rejected);
        }
        if self.last_event_id.is_none() && self.known.covers(&task) {
            return Ok(Continuation::End(None));
        }
        let task = Arc::unwrap_or_clone(task);
        let last = StreamResponse { payload: Some(Payload::Task(task)) };
        Ok(Continuation::End(Some(Event::new(None, last))))
    }
}

/// The state of a stream of which nothing is known. Larger tasks than one event can contain need not
/// be known.
fn unknown() -> Snapshot {
    Snapshot::new().with_max_bytes(Decoder::DEFAULT_LIMIT)
}

/// Returns whether an agent may reject a subscription to an ended task with this error; some report
/// the task as not found.
fn is_rejection(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnsupportedOperation | ErrorKind::TaskNotFound | ErrorKind::MethodNotFound
    )
}
