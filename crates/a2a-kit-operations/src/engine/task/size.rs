//! The size of a task, and its limits.

use std::fmt;

use a2a_core::{
    Error, ErrorKind, Message, Role,
    v1::{Task, stream_response::Payload},
};
use prost::Message as _;

use super::change::Change;
use crate::TaskLimits;

/// The size of a task, updated incrementally.
#[derive(Debug, Default)]
pub(crate) struct Size {
    messages: usize,
    turns: usize,
    /// Of the history and the metadata, without the status.
    history_bytes: usize,
    /// Of the status message, which enters the history with the next status.
    status_bytes: usize,
    /// By id, oldest first. Few, and searched like the artifacts of the task.
    artifacts: Vec<(String, usize)>,
    artifact_bytes: usize,
}

/// A limit of [`TaskLimits`] that a task would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExceededLimit {
    /// [`TaskLimits::max_messages`].
    Messages,
    /// [`TaskLimits::max_history_bytes`].
    HistoryBytes,
    /// [`TaskLimits::max_artifact_bytes`].
    ArtifactBytes,
    /// [`TaskLimits::max_turns`].
    Turns,
    /// [`TaskLimits::max_journal_bytes`].
    JournalBytes,
}

impl ExceededLimit {
    /// The name of the limit in the settings.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    fn of(self, limits: &TaskLimits) -> usize {
        self.row().1(limits)
    }

    fn row(self) -> (&'static str, fn(&TaskLimits) -> usize) {
        match self {
            Self::Messages => ("max_messages", |limits| limits.max_messages),
            Self::HistoryBytes => ("max_history_bytes", |limits| limits.max_history_bytes),
            Self::ArtifactBytes => ("max_artifact_bytes", |limits| limits.max_artifact_bytes),
            Self::Turns => ("max_turns", |limits| limits.max_turns),
            Self::JournalBytes => ("max_journal_bytes", |limits| limits.max_journal_bytes),
        }
    }

    /// The public reason of a task beyond the limit.
    pub(crate) fn reason(self, limits: &TaskLimits) -> String {
        format!("the task reached its limit {} ({})", self.name(), self.of(limits))
    }

    /// The rejection of a message.
    pub(crate) fn refusal(self, limits: &TaskLimits) -> Error {
        Error::new(ErrorKind::ResourceExhausted, self.reason(limits))
            .with_metadata("limit", self.name())
            .with_metadata("max", self.of(limits).to_string())
    }
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Size {
    pub(crate) fn of(task: &Task) -> Self {
        let mut size = Self::default();
        task.history.iter().for_each(|message| size.add(message));
        size.history_bytes += task.metadata.as_ref().map_or(0, prost::Message::encoded_len);
        size.status_bytes = task.status_message().map_or(0, prost::Message::encoded_len);
        for artifact in &task.artifacts {
            let bytes = artifact.encoded_len();
            size.artifact_bytes += bytes;
            match size.artifact(&artifact.artifact_id) {
                Some(known) => *known += bytes,
                None => size.artifacts.push((artifact.artifact_id.clone(), bytes)),
            }
        }
        size
    }

    fn artifact(&mut self, id: &str) -> Option<&mut usize> {
        let mut artifacts = self.artifacts.iter_mut().rev();
        artifacts.find(|(known, _)| known == id).map(|(_, bytes)| bytes)
    }

    fn add(&mut self, message: &Message) {
        self.messages += 1;
        self.turns += usize::from(message.role() == Role::User);
        self.history_bytes += message.encoded_len();
    }

    pub(crate) fn apply(&mut self, change: &Change) {
        match change {
            Change::Appeared | Change::Journal | Change::Joined(_) => {}
            Change::History(message) => self.add(message),
            Change::Event(event) => match event.payload() {
                Some(Payload::Task(task)) => *self = Self::of(task),
                Some(Payload::StatusUpdate(update)) => {
                    if self.status_bytes > 0 {
                        self.messages += 1;
                        self.history_bytes += self.status_bytes;
                    }
                    let metadata = update.metadata.as_ref();
                    self.history_bytes += metadata.map_or(0, prost::Message::encoded_len);
                    let status = update.status.as_ref();
                    let message = status.and_then(|status| status.message.as_ref());
                    self.status_bytes = message.map_or(0, prost::Message::encoded_len);
                }
                Some(Payload::ArtifactUpdate(update)) => {
                    let Some(artifact) = &update.artifact else { return };
                    let bytes = artifact.encoded_len();
                    let replaced = match self.artifact(&artifact.artifact_id) {
                        Some(known) if update.append => {
                            *known += bytes;
                            0
                        }
                        Some(known) => std::mem::replace(known, bytes),
                        None => {
                            self.artifacts.push((artifact.artifact_id.clone(), bytes));
                            0
                        }
                    };
                    self.artifact_bytes = self.artifact_bytes - replaced + bytes;
                }
                Some(Payload::Message(_)) | None => {}
            },
        }
    }

    /// The limit that an update of the executor would exceed.
    pub(crate) fn exceeded(&self, payload: &Payload, limits: &TaskLimits) -> Option<ExceededLimit> {
        match payload {
            Payload::StatusUpdate(update) => {
                let status = update.status.as_ref();
                let message = status.and_then(|status| status.message.as_ref());
                let more = message.map_or(0, prost::Message::encoded_len)
                    + update.metadata.as_ref().map_or(0, prost::Message::encoded_len);
                self.over(usize::from(message.is_some()), more, limits)
            }
            Payload::ArtifactUpdate(update) => {
                let artifact = update.artifact.as_ref()?;
                let mut known = self.artifacts.iter().rev().filter(|_| !update.append);
                let replaced = known.find(|(id, _)| *id == artifact.artifact_id);
                let replaced = replaced.map_or(0, |(_, bytes)| *bytes);
                let bytes = self.artifact_bytes - replaced + artifact.encoded_len();
                (bytes > limits.max_artifact_bytes).then_some(ExceededLimit::ArtifactBytes)
            }
            Payload::Task(_) | Payload::Message(_) => None,
        }
    }

    /// The limit that client messages, or an answer to them, would exceed.
    pub(crate) fn refuses<'a>(
        &self,
        messages: impl Iterator<Item = &'a Message>,
        limits: &TaskLimits,
    ) -> Option<ExceededLimit> {
        let (mut count, mut bytes) = (0, 0);
        for message in messages {
            count += 1;
            bytes += message.encoded_len();
        }
        if self.turns + count > limits.max_turns {
            return Some(ExceededLimit::Turns);
        }
        // Leaves room for an answer, so that the agent can explain the rejection.
        self.over(count + 1, bytes, limits)
    }

    fn over(&self, messages: usize, bytes: usize, limits: &TaskLimits) -> Option<ExceededLimit> {
        let asked = usize::from(self.status_bytes > 0);
        if messages > 0 && self.messages + asked + messages > limits.max_messages {
            return Some(ExceededLimit::Messages);
        }
        let is_over =
            bytes > 0 && self.history_bytes + self.status_bytes + bytes > limits.max_history_bytes;
        is_over.then_some(ExceededLimit::HistoryBytes)
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Artifact, Part, TaskState,
        v1::{StreamResponse, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent},
    };

    use super::*;
    use crate::Event;

    fn artifact(id: &str, bytes: usize, append: bool) -> Payload {
        let artifact = Artifact::new("a", Part::text("x".repeat(bytes))).with_id(id);
        Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
            artifact: Some(artifact),
            append,
            ..TaskArtifactUpdateEvent::default()
        })
    }

    fn status(text: Option<&str>) -> Payload {
        let status = Some(TaskStatus::now(TaskState::Working, text.map(Message::agent)));
        Payload::StatusUpdate(TaskStatusUpdateEvent { status, ..TaskStatusUpdateEvent::default() })
    }

    #[test]
    fn size_after_changes_is_the_size_of_the_task() {
        let mut task = Task { history: vec![Message::user("one")], ..Task::default() };
        let mut size = Size::of(&task);
        let changes = [
            artifact("a", 100, false),
            artifact("b", 50, true),
            artifact("a", 30, false),
            status(Some("busy")),
            status(None),
            status(Some("still")),
            status(Some("done")),
        ];
        for payload in changes {
            let response = StreamResponse { payload: Some(payload) };
            let change = Change::Event(Event::new(None, response));
            change.apply(&mut task);
            size.apply(&change);
        }
        let change = Change::History(Message::user("two").into());
        change.apply(&mut task);
        size.apply(&change);
        let expected = Size::of(&task);
        assert_eq!((size.messages, size.turns), (4, 2));
        assert_eq!((expected.messages, expected.turns), (4, 2));
        assert_eq!(size.history_bytes, expected.history_bytes);
        assert_eq!(size.status_bytes, expected.status_bytes);
        assert_eq!(size.artifact_bytes, expected.artifact_bytes);
    }

    #[test]
    fn update_beyond_a_limit_names_the_limit() {
        let size = Size::of(&Task { history: vec![Message::user("one")], ..Task::default() });
        let limits = TaskLimits::default().with_max_artifact_bytes(200);
        assert_eq!(size.exceeded(&artifact("a", 100, false), &limits), None);
        let large = artifact("a", 200, false);
        assert_eq!(size.exceeded(&large, &limits), Some(ExceededLimit::ArtifactBytes));
        let limits = TaskLimits::default().with_max_messages(1);
        assert_eq!(size.exceeded(&status(Some("busy")), &limits), Some(ExceededLimit::Messages));
        assert_eq!(size.exceeded(&status(None), &limits), None);
        let two = [Message::user("two")];
        assert_eq!(size.refuses(two.iter(), &limits), Some(ExceededLimit::Messages));
        let limits = TaskLimits::default().with_max_turns(1);
        assert_eq!(size.refuses(two.iter(), &limits), Some(ExceededLimit::Turns));
        let limits = TaskLimits::default().with_max_history_bytes(60);
        let long = [Message::user("x".repeat(60))];
        assert_eq!(size.refuses(long.iter(), &limits), Some(ExceededLimit::HistoryBytes));
    }
}
