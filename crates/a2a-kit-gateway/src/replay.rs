//! Answering from a recording.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    AgentCard, Error, ErrorKind, Operation, Request, Result, Task,
    v1::{
        ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse,
        TaskPushNotificationConfig,
    },
};
use a2a_kit_operations::{Agent, AgentMethod, Call, EventId, EventStream, Reply, intercept_agent};
use futures_util::stream;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep_until};

use crate::{
    owned::is_of_task,
    recording::{Answer, Outcome, RecordedCall, Recording},
    redact::Redact,
    request_key::RequestKey,
};

/// An agent that answers from a [`Recording`].
///
/// A request gets the response of the recorded call of the same operation with the same request;
/// the id of its message may differ. If there are several, each call gets the next one, and the
/// last one is repeated, so that a client that polls sees the recorded states. A message without an
/// identical request gets the response to the recorded message with the same parts and task.
/// Without such a call, the answer is an error of kind [`TaskNotFound`](ErrorKind::TaskNotFound)
/// for operations on a task, else [`InvalidParams`](ErrorKind::InvalidParams).
///
/// A recorded error is returned as an error, and a stream whose recording ends early ends in an
/// error of kind [`Unavailable`](ErrorKind::Unavailable). Responses and events take the recorded
/// time, unless [`immediately`](Self::immediately) was called.
#[derive(Clone)]
pub struct Replay {
    calls: Arc<HashMap<RequestKey, Answers>>,
    /// Messages by parts and task.
    messages: Arc<HashMap<RequestKey, RequestKey>>,
    keeps_time: bool,
}

/// The recorded calls with the same request, and how many of them were replayed.
#[derive(Debug)]
struct Answers {
    calls: Vec<Arc<RecordedCall>>,
    replayed: AtomicUsize,
}

impl Answers {
    fn next(&self) -> Option<Arc<RecordedCall>> {
        let last = self.calls.len().checked_sub(1)?;
        // Saturates, so that the last call is repeated however many there are.
        let count = self.replayed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            Some(count.saturating_add(1))
        });
        let index = count.unwrap_or(last).min(last);
        self.calls.get(index).cloned()
    }
}

impl Replay {
    /// Creates an agent that answers from a recording.
    pub fn new(recording: Recording) -> Self {
        let mut messages = HashMap::new();
        let mut calls = HashMap::new();
        for (key, recorded) in recording.calls {
            if let Some(message) = key.of_message() {
                messages.entry(message).or_insert_with(|| key.clone());
            }
            let recorded = recorded.into_iter().map(Arc::new).collect();
            calls.insert(key, Answers { calls: recorded, replayed: AtomicUsize::new(0) });
        }
        Self { calls: Arc::new(calls), messages: Arc::new(messages), keeps_time: true }
    }

    /// Answers without the recorded delays.
    #[must_use]
    pub fn immediately(mut self) -> Self {
        self.keeps_time = false;
        self
    }

    fn find(&self, operation: Operation, request: &impl Redact) -> Result<Arc<RecordedCall>> {
        let key = RequestKey::new(operation, request.redacted().as_deref());
        let key = key.map_err(Error::internal)?;
        let of_message = || self.calls.get(self.messages.get(&key.of_message()?)?);
        let answers = self.calls.get(&key).or_else(of_message);
        answers.and_then(Answers::next).ok_or_else(|| {
            let is_of_task = is_of_task(operation);
            let kind = if is_of_task { ErrorKind::TaskNotFound } else { ErrorKind::InvalidParams };
            let name = operation.name();
            Error::new(kind, format!("the recording has no call of {name} with this request"))
        })
    }

    async fn intercept<R: Request + Redact, T: Replayed>(
        &self,
        operation: Operation,
        call: Call<R>,
        _next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let start = self.keeps_time.then(Instant::now);
        let recorded = self.find(operation, &call.request)?;
        let Some(Outcome { after, result }) = &recorded.outcome else {
            return Err(Error::unavailable("the recording ends before the response"));
        };
        let last_event_id = call.context.last_event_id;
        let playback = Playback { call: Arc::clone(&recorded), start, last_event_id };
        playback.wait_until(*after).await;
        let answer = result.as_ref().map_err(copy)?;
        let response = T::replayed(playback, answer)?;
        let mut reply = Reply::new(response);
        reply.activated = answer.activated.iter().map(String::as_str).collect();
        Ok(reply)
    }
}

impl Agent for Replay {
    intercept_agent!(intercept);
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("requests", &self.calls.len())
            .field("keeps_time", &self.keeps_time)
            .finish_non_exhaustive()
    }
}

/// A recorded call that is replayed.
struct Playback {
    call: Arc<RecordedCall>,
    /// When the replayed call began; `None` if nothing waits.
    start: Option<Instant>,
    last_event_id: Option<EventId>,
}

impl Playback {
    async fn wait_until(&self, after: Duration) {
        if let Some(time) = self.start.and_then(|start| start.checked_add(after)) {
            sleep_until(time).await;
        }
    }
}

/// The same error, without its source.
fn copy(error: &Error) -> Error {
    let copy = Error::new(error.kind(), error.message().to_owned());
    error.metadata().iter().fold(copy, |copy, (name, value)| copy.with_metadata(name, value))
}

/// A response that can be created from a recorded call.
trait Replayed: Sized {
    fn replayed(playback: Playback, answer: &Answer) -> Result<Self>;
}

fn read<T: DeserializeOwned>(answer: &Answer) -> Result<T> {
    let body = answer.body.as_ref().map_or("null", |body| body.get());
    serde_json::from_str(body).map_err(|error| {
        Error::new(ErrorKind::Internal, "the recorded response is not valid").with_source(error)
    })
}

macro_rules! replayed_from_json {
    ($($response:ty),* $(,)?) => {
        $(
            impl Replayed for $response {
                fn replayed(_: Playback, answer: &Answer) -> Result<Self> {
                    read(answer)
                }
            }
        )*
    };
}

replayed_from_json! {
    AgentCard,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    SendMessageResponse,
    TaskPushNotificationConfig,
    (),
}

impl Replayed for Arc<Task> {
    fn replayed(_: Playback, answer: &Answer) -> Result<Self> {
        read(answer).map(Self::new)
    }
}

impl Replayed for EventStream {
    fn replayed(playback: Playback, _: &Answer) -> Result<Self> {
        // A reader that resumes gets what it has not seen.
        let is_seen = |event: Option<EventId>| event.is_some() && event <= playback.last_event_id;
        let events = playback.call.events.iter();
        let first = events.take_while(|recorded| is_seen(recorded.event.id())).count();
        Ok(Self::new(stream::unfold((playback, first), |(playback, index)| async move {
            let call = &playback.call;
            if let Some(recorded) = call.events.get(index) {
                playback.wait_until(recorded.after).await;
                let event = recorded.event.clone();
                return Some((Ok(event), (playback, index + 1)));
            }
            // Where the recorded stream was cut, `EventStream` adds an error.
            let interruption = call.interruption.as_ref().filter(|_| index == call.events.len())?;
            let error = copy(interruption);
            Some((Err(error), (playback, index + 1)))
        })))
    }
}
