//! The events of a stream, and assertions on them.

use std::fmt;

use a2a_core::{Artifact, Error, Message, Task, TaskState, v1::stream_response::Payload};
use a2a_kit_client::Snapshot;
use a2a_kit_operations::{Event, StreamEnd};

use super::DEFAULT_TIMEOUT;
use crate::Events;

/// Maximum number of events in a transcript.
const MAX_EVENTS: usize = 100_000;

/// The events of a stream up to its end. `Display` shows one line per event.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    events: Vec<Event>,
    snapshot: Snapshot,
    error: Option<String>,
}

/// Reads a stream to its end: of a send also to the first interrupted state.
///
/// # Panics
///
/// If no event comes for [`DEFAULT_TIMEOUT`], or more than 100,000 do. A stream that ends with an error is
/// returned with [it](Transcript::error).
pub async fn collect(mut events: Events) -> Transcript {
    let mut transcript = Transcript::default();
    loop {
        match tokio::time::timeout(DEFAULT_TIMEOUT, events.next()).await {
            Ok(Some(Ok(event))) => {
                let is_over = matches!(event.stream_end(), StreamEnd::Interrupted(_));
                transcript.push(event);
                if is_over {
                    return transcript;
                }
            }
            Ok(Some(Err(error))) => transcript.error = Some(describe_error(&error)),
            Ok(None) => return transcript,
            Err(_) => panic!("no event for {DEFAULT_TIMEOUT:?}, after:\n{transcript}"),
        }
        assert!(transcript.events.len() < MAX_EVENTS, "more than {MAX_EVENTS} events");
    }
}

impl Transcript {
    pub(super) fn push(&mut self, event: Event) {
        if let Err(error) = self.snapshot.apply(&event) {
            self.error = Some(describe_error(&error));
        }
        self.events.push(event);
    }

    /// The events, in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The states of the task, without repetitions.
    pub fn states(&self) -> Vec<TaskState> {
        let mut states: Vec<_> = self.events.iter().filter_map(Event::state).collect();
        states.dedup();
        states
    }

    /// The task as the events describe it; `None` if the response was a message.
    pub fn task(&self) -> Option<&Task> {
        self.snapshot.task()
    }

    /// The text of the response: of the message, or of all artifacts, else of the status.
    pub fn text(&self) -> String {
        if let Some(Payload::Message(message)) = self.events.last().and_then(Event::payload) {
            return message.text();
        }
        let Some(task) = self.task() else { return String::new() };
        match task.status_message() {
            Some(message) if task.artifacts.is_empty() => message.text(),
            _ => task.text(),
        }
    }

    /// The text of the artifact with this name; `None` if there is none.
    pub fn artifact(&self, name: &str) -> Option<String> {
        let mut artifacts = self.task()?.artifacts.iter();
        artifacts.find(|artifact| artifact.name == name).map(Artifact::text)
    }

    /// The error that ended the stream.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Checks the states, without repetitions.
    ///
    /// # Panics
    ///
    /// If they differ.
    #[track_caller]
    pub fn assert_states(&self, expected: impl AsRef<[TaskState]>) -> &Self {
        let (states, expected) = (self.states(), expected.as_ref());
        assert!(states == expected, "states are {states:?}, expected {expected:?}, in:\n{self}");
        self
    }

    /// Checks the [text](Self::text) of the response.
    ///
    /// # Panics
    ///
    /// If it differs.
    #[track_caller]
    pub fn assert_text(&self, expected: impl AsRef<str>) -> &Self {
        let (text, expected) = (self.text(), expected.as_ref());
        assert!(text == expected, "the text is {text:?}, expected {expected:?}, in:\n{self}");
        self
    }

    /// Checks the text of the status, such as that of [`TaskUpdater::complete`]; empty without one.
    ///
    /// [`TaskUpdater::complete`]: crate::TaskUpdater::complete
    ///
    /// # Panics
    ///
    /// If it differs.
    #[track_caller]
    pub fn assert_status_text(&self, expected: impl AsRef<str>) -> &Self {
        let text = self.task().map(Task::status_text).unwrap_or_default();
        let expected = expected.as_ref();
        assert!(text == expected, "the status is {text:?}, expected {expected:?}, in:\n{self}");
        self
    }

    /// Checks the text of an artifact.
    ///
    /// # Panics
    ///
    /// If there is no artifact with this name, or its text differs.
    #[track_caller]
    pub fn assert_artifact(&self, name: &str, expected: impl AsRef<str>) -> &Self {
        let (text, expected) = (self.artifact(name), Some(expected.as_ref()));
        assert!(
            text.as_deref() == expected,
            "the text of artifact {name:?} is {text:?}, expected {expected:?}, in:\n{self}"
        );
        self
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.events.is_empty() {
            writeln!(f, "  (no events)")?;
        }
        for event in &self.events {
            writeln!(f, "  {}", describe(event))?;
        }
        self.error.iter().try_for_each(|error| writeln!(f, "  error: {error}"))
    }
}

/// Describes an event on one line.
fn describe(event: &Event) -> String {
    let state = |state: TaskState| state.as_str_name().trim_start_matches("TASK_STATE_").to_owned();
    match event.payload() {
        Some(Payload::Task(task)) => {
            format!("task {}, {} artifacts", state(task.state()), task.artifacts.len())
        }
        Some(Payload::Message(message)) => format!("message {:?}", message.text()),
        Some(Payload::StatusUpdate(update)) => {
            let message = update.status.as_ref().and_then(|status| status.message.as_ref());
            let text = message.map(Message::text).unwrap_or_default();
            format!("status {} {text:?}", state(event.state().unwrap_or_default()))
        }
        Some(Payload::ArtifactUpdate(update)) => {
            let (name, text) = update
                .artifact
                .as_ref()
                .map(|one| (one.name.as_str(), one.text()))
                .unwrap_or_default();
            let append = if update.append { ", append" } else { "" };
            let last = if update.last_chunk { ", last chunk" } else { "" };
            format!("artifact {name:?} {text:?}{append}{last}")
        }
        None => "empty event".into(),
    }
}

pub(super) fn describe_error(error: &Error) -> String {
    format!("{:?}: {error}", error.kind())
}
