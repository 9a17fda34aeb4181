//! Events of a task, shared by all readers.

use std::{
    cell::RefCell,
    fmt,
    num::NonZeroU64,
    str::FromStr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use a2a_core::v1::{
    Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent,
    stream_response::Payload,
};
use bytes::Bytes;
use prost::Message as _;

/// The position of an event in the log of its task: 1, 2, 3…
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(NonZeroU64);

impl EventId {
    /// The position of a task's first event.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// Creates a position; `None` for 0.
    pub const fn new(position: u64) -> Option<Self> {
        match NonZeroU64::new(position) {
            Some(position) => Some(Self(position)),
            None => None,
        }
    }

    /// The position as a number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The position of the event after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for EventId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.trim().parse().map(Self)
    }
}

/// One event: a cheap handle to the message, its position, and its encodings.
///
/// Each encoding is computed on first use, once for all readers.
///
/// ```
/// use a2a_kit_operations::Event;
///
/// fn print(event: &Event) {
///     if let Some(chunk) = event.artifact_update() {
///         print!("{}", chunk.text());
///     } else if let Some(reason) = event.failure() {
///         eprintln!("failed: {reason}");
///     } else if let Some(message) = event.message() {
///         println!("{}", message.text());
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Event(Arc<Inner>);

/// Maximum length of a text that is written into [`SCRATCH`] and copied, in bytes.
const MAX_SCRATCH: usize = 64 << 10;

thread_local! {
    /// A buffer for encoding, so that none has to grow per event.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Inner {
    id: Option<EventId>,
    response: StreamResponse,
    /// The length as protobuf; 0 until it is computed.
    len: AtomicUsize,
    json: OnceLock<Bytes>,
    protobuf: OnceLock<Bytes>,
}

impl Inner {
    #[inline]
    fn new(id: Option<EventId>, response: StreamResponse) -> Self {
        let (len, json, protobuf) = Default::default();
        Self { id, response, len, json, protobuf }
    }
}

impl Clone for Inner {
    /// Without the encodings.
    fn clone(&self) -> Self {
        Self::new(self.id, self.response.clone())
    }
}

/// Whether a stream may end at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// More events follow.
    Open,
    /// The task waits for its caller.
    Interrupted(TaskState),
    /// No more events can follow: a terminal state, or a message without a task.
    Terminal,
}

macro_rules! event_from {
    ($($message:ident => $payload:ident),+) => {$(
        /// An event without a position in a log.
        impl From<$message> for Event {
            #[inline]
            fn from(message: $message) -> Self {
                Self::new(None, StreamResponse { payload: Some(Payload::$payload(message)) })
            }
        }
    )+};
}

event_from! {
    Message => Message,
    Task => Task,
    TaskArtifactUpdateEvent => ArtifactUpdate,
    TaskStatusUpdateEvent => StatusUpdate
}

impl Event {
    /// Creates an event; `id` is its position in the task's log, if any.
    #[inline]
    pub fn new(id: Option<EventId>, response: StreamResponse) -> Self {
        Self(Arc::new(Inner::new(id, response)))
    }

    /// An event with the whole task.
    pub(crate) fn of_task(id: Option<EventId>, task: Task) -> Self {
        Self::new(id, StreamResponse { payload: Some(Payload::Task(task)) })
    }

    /// The position in the log of the task. An initial `Task` has the position of its newest event;
    /// a message without a task has none.
    pub fn id(&self) -> Option<EventId> {
        self.0.id
    }

    /// The event itself.
    pub fn response(&self) -> &StreamResponse {
        &self.0.response
    }

    /// Unwraps the event, cloning it only if it is shared.
    pub fn into_response(self) -> StreamResponse {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => inner.response,
            Err(shared) => shared.response.clone(),
        }
    }

    /// An event without a position in a log.
    #[cfg(all(feature = "engine", any(test, feature = "testing")))]
    pub(crate) fn of(payload: Payload) -> Self {
        Self::new(None, StreamResponse { payload: Some(payload) })
    }

    /// The position and the content, of a copy if the event is shared.
    #[cfg(feature = "engine")]
    pub(crate) fn make_mut(&mut self) -> (&mut Option<EventId>, &mut Option<Payload>) {
        let inner = Arc::make_mut(&mut self.0);
        (&mut inner.id, &mut inner.response.payload)
    }

    /// The content of the event; `None` if it is empty.
    pub fn payload(&self) -> Option<&Payload> {
        self.0.response.payload.as_ref()
    }

    /// The task, if the event is one.
    pub fn task(&self) -> Option<&Task> {
        self.0.response.task()
    }

    /// The status update, if the event is one.
    pub fn status_update(&self) -> Option<&TaskStatusUpdateEvent> {
        self.0.response.status_update()
    }

    /// The artifact or its chunk, if the event is one.
    pub fn artifact_update(&self) -> Option<&TaskArtifactUpdateEvent> {
        self.0.response.artifact_update()
    }

    /// The message of the event: one without a task, or the message of a status.
    pub fn message(&self) -> Option<&Message> {
        self.0.response.message()
    }

    /// The state of the task, if the event has a status.
    pub fn state(&self) -> Option<TaskState> {
        self.0.response.state()
    }

    /// The reason of the agent, if the task is FAILED or REJECTED; empty if it gave none.
    pub fn failure(&self) -> Option<String> {
        self.0.response.failure()
    }

    /// The text of the event: that of the artifact chunk, or of [`message`](Self::message); of a
    /// whole task, that of its artifacts.
    pub fn text(&self) -> String {
        self.0.response.text()
    }

    /// The id of the task; `None` for a message without one.
    pub fn task_id(&self) -> Option<&str> {
        self.0.response.task_id()
    }

    /// Returns whether a stream may end at this event.
    pub fn stream_end(&self) -> StreamEnd {
        if let Some(Payload::Message(_)) = self.payload() {
            return StreamEnd::Terminal;
        }
        match self.state() {
            Some(state) if state.is_terminal() => StreamEnd::Terminal,
            Some(state) if state.is_interrupted() => StreamEnd::Interrupted(state),
            _ => StreamEnd::Open,
        }
    }

    /// The `StreamResponse` as ProtoJSON on one line.
    pub fn json(&self) -> Bytes {
        let encode = |text: &mut Vec<u8>| {
            text.clear();
            match a2a_core::json::write(text, &self.0.response) {
                Ok(()) if text.len() > MAX_SCRATCH => Bytes::from(std::mem::take(text)),
                Ok(()) => Bytes::copy_from_slice(text),
                // Map keys are strings and numbers are finite, so encoding cannot fail; readers
                // ignore an empty object.
                Err(_) => Bytes::from_static(b"{}"),
            }
        };
        self.0.json.get_or_init(|| SCRATCH.with_borrow_mut(encode)).clone()
    }

    /// The length of the `StreamResponse` as protobuf, in bytes.
    pub(crate) fn encoded_len(&self) -> usize {
        let known = self.0.len.load(Ordering::Relaxed);
        if known > 0 {
            return known;
        }
        let len = self.0.response.encoded_len();
        self.0.len.store(len, Ordering::Relaxed);
        len
    }

    /// The `StreamResponse` as protobuf.
    pub fn protobuf(&self) -> Bytes {
        self.0.protobuf.get_or_init(|| self.0.response.encode_to_vec().into()).clone()
    }

    /// Sets the protobuf for others that hold the event, if any.
    pub(crate) fn share_protobuf(&self, encoded: impl FnOnce() -> Bytes) {
        if Arc::strong_count(&self.0) > 1 {
            self.0.protobuf.get_or_init(encoded);
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("id", &self.0.id).field("response", &self.0.response).finish()
    }
}
