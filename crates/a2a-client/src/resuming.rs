//! One stream and its way on after a cut.

use std::{mem, sync::Arc, time::Duration};

use a2a_core::{
    Error, ErrorKind, Result, TaskState,
    v1::{
        GetTaskRequest, SendMessageRequest, StreamResponse, SubscribeToTaskRequest,
        stream_response::Payload,
    },
};
use a2a_operations::{Agent, Call, CallContext, Event, EventId, EventStream, Settled};
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use crate::{policy::Tries, snapshot::Snapshot};

/// What a stream came from, as far as it is needed to open it again.
pub(crate) enum Origin {
    /// A subscription.
    Subscription { context: CallContext, tenant: String, task_id: String },
    /// A send. It can be repeated only if a key joins it with the first one.
    Send { call: Box<Call<SendMessageRequest>> },
}

impl Origin {
    fn context(&self) -> CallContext {
        let mut context = match self {
            Self::Subscription { context, .. } => context.clone(),
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

/// How long an agent may take to end a stream after the task has ended: some send one more
/// `Task`, and a connection that was read to its end can be used again.
const LINGER: Duration = Duration::from_secs(1);

/// A stream that is taken up again when it is cut.
pub(crate) struct Resuming {
    agent: Arc<dyn Agent>,
    origin: Origin,
    tries: Tries,
    events: EventStream,
    task_id: Option<String>,
    last_event_id: Option<EventId>,
    /// The last event when this connection was opened: up to it, the connection repeats. Ids that
    /// come twice within one are no reason to leave an event out, as some agents number them by
    /// the clock.
    repeated: Option<EventId>,
    /// Kept only while events have no positions: then it tells what a new snapshot adds.
    seen: Snapshot,
    settled: Settled,
    opened: Instant,
    /// Whether the next event is the first one after a cut.
    resumed: bool,
    /// Whether no event has come on this connection.
    is_fresh: bool,
    done: bool,
}

/// How a stream goes on after a cut.
enum Next {
    Events(EventStream),
    /// The task has ended: its last state, where that is news.
    End(Option<Event>),
}

impl Resuming {
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        origin: Origin,
        tries: Tries,
        events: EventStream,
    ) -> Self {
        let (task_id, last_event_id) = match &origin {
            Origin::Subscription { context, task_id, .. } => {
                (Some(task_id.clone()), context.last_event_id)
            }
            Origin::Send { .. } => (None, None),
        };
        Self {
            agent,
            origin,
            tries,
            events,
            task_id,
            last_event_id,
            repeated: last_event_id,
            seen: Snapshot::new(),
            settled: Settled::No,
            opened: Instant::now(),
            resumed: false,
            is_fresh: true,
            done: false,
        }
    }

    pub(crate) fn into_stream(self) -> EventStream {
        EventStream::new(stream::unfold(self, |mut resuming| async move {
            resuming.next().await.map(|item| (item, resuming))
        }))
    }

    async fn next(&mut self) -> Option<Result<Event>> {
        while !self.done {
            let next = self.events.next();
            let item = if self.settled == Settled::Finally {
                tokio::time::timeout(LINGER, next).await.unwrap_or_default()
            } else {
                next.await
            };
            match item {
                Some(Ok(event)) => {
                    if let Some(event) = self.accept(event) {
                        return Some(Ok(event));
                    }
                }
                // The stream's own law: it ended where it may end.
                None => self.done = true,
                Some(Err(_)) if self.is_finished() => self.done = true,
                Some(Err(error)) => match self.reopen(error).await {
                    Ok(Next::Events(events)) => {
                        self.events = events;
                        self.opened = Instant::now();
                        self.resumed = true;
                        self.is_fresh = true;
                        self.repeated = self.last_event_id;
                    }
                    Ok(Next::End(last)) => {
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

    /// Returns whether nothing was lost when the connection broke just now: the task has ended,
    /// or it asked for an answer and the stream of a send is over with that. What waits for an
    /// authorization goes on by itself.
    fn is_finished(&self) -> bool {
        match (self.settled, &self.origin) {
            (Settled::Finally, _) => true,
            (Settled::Interrupted(state), Origin::Send { .. }) => state != TaskState::AuthRequired,
            (Settled::Interrupted(_), Origin::Subscription { .. }) | (Settled::No, _) => false,
        }
    }

    /// Notes what an event tells, and returns it if it is news.
    fn accept(&mut self, event: Event) -> Option<Event> {
        self.is_fresh = false;
        let resumed = mem::take(&mut self.resumed);
        if let Some(id) = event.id() {
            match self.repeated {
                // Ids that begin anew on each connection are no positions.
                Some(last) if resumed && id < last => {
                    self.repeated = None;
                    self.last_event_id = None;
                }
                Some(last) if id <= last => return None,
                _ => self.last_event_id = Some(id),
            }
        } else if resumed
            && let Some(task) = event.task()
            && self.seen.knows(task)
        {
            return None;
        }
        match event.payload() {
            Some(Payload::Task(task)) => self.task_id = Some(task.id.clone()),
            Some(Payload::StatusUpdate(update)) => self.task_id = Some(update.task_id.clone()),
            Some(Payload::ArtifactUpdate(update)) => self.task_id = Some(update.task_id.clone()),
            Some(Payload::Message(_)) | None => {}
        }
        if self.last_event_id.is_none() {
            self.seen.apply(&event);
        }
        self.settled = event.settled();
        self.tries.reset();
        Some(event)
    }

    /// Finds a way to go on after `error`, or returns the error to end with.
    async fn reopen(&mut self, mut error: Error) -> Result<Next> {
        self.tries.held(self.opened.elapsed());
        // Some agents open a stream only to refuse it inside.
        if mem::take(&mut self.resumed)
            && is_refusal(&error)
            && let Some(task_id) = self.task_id.clone()
        {
            error = match self.read_end(&task_id, error).await {
                Ok(next) => return Ok(next),
                Err(again) => again,
            };
        }
        // A stream that was open ends like this when what opened it has run out; the next one is
        // opened with something fresh.
        let mut has_run_out = error.kind() == ErrorKind::Unauthenticated && !self.is_fresh;
        loop {
            let is_passing = error.is_transient() || mem::take(&mut has_run_out);
            if !is_passing || !self.can_reopen() {
                return Err(error);
            }
            self.tries.pause(error).await?;
            error = match self.try_reopen().await {
                Ok(next) => return Ok(next),
                Err(again) => again,
            };
        }
    }

    fn can_reopen(&self) -> bool {
        match (&self.task_id, &self.origin) {
            (Some(id), _) => !id.is_empty(),
            (None, Origin::Send { call }) => call.context.idempotency_key.is_some(),
            (None, Origin::Subscription { .. }) => false,
        }
    }

    async fn try_reopen(&mut self) -> Result<Next> {
        let Some(task_id) = self.task_id.clone() else {
            return match &self.origin {
                Origin::Send { call } => {
                    let reply = self.agent.send_streaming_message((**call).clone()).await?;
                    Ok(Next::Events(reply.response))
                }
                Origin::Subscription { .. } => Err(Error::unavailable("the task is not known")),
            };
        };
        let mut context = self.origin.context();
        context.last_event_id = self.last_event_id;
        let tenant = self.origin.tenant();
        let request = SubscribeToTaskRequest { tenant: tenant.into(), id: task_id.clone() };
        match self.agent.subscribe_to_task(Call::with_context(context, request)).await {
            Ok(reply) => Ok(Next::Events(reply.response)),
            Err(refused) if is_refusal(&refused) => self.read_end(&task_id, refused).await,
            Err(error) => Err(error),
        }
    }

    /// Reads a task that can't be subscribed to, and returns it if that is because it has ended.
    async fn read_end(&mut self, task_id: &str, refused: Error) -> Result<Next> {
        let request = GetTaskRequest {
            tenant: self.origin.tenant().to_owned(),
            id: task_id.to_owned(),
            ..GetTaskRequest::default()
        };
        let call = Call::with_context(self.origin.context(), request);
        let task = match self.agent.get_task(call).await {
            Ok(reply) => reply.response,
            Err(error) if error.is_transient() => return Err(error),
            Err(_) => return Err(refused),
        };
        if !task.state().is_settled() {
            return Err(refused);
        }
        if self.last_event_id.is_none() && self.seen.knows(&task) {
            return Ok(Next::End(None));
        }
        let task = Arc::unwrap_or_clone(task);
        let last = StreamResponse { payload: Some(Payload::Task(task)) };
        Ok(Next::End(Some(Event::new(None, last))))
    }
}

/// Returns whether an agent may refuse like this to be asked for the events of a task that has
/// ended; some do as if there were no such task.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnsupportedOperation | ErrorKind::TaskNotFound | ErrorKind::MethodNotFound
    )
}
