//! What changes a task.

use a2a_core::v1::{Message, Task, stream_response::Payload};

use crate::Event;

/// Something that changes a task.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// An event that readers see.
    Event(Event),
    /// A message of the client that enters the history.
    History(Message),
}

impl Change {
    /// Returns whether the stored snapshot has to be written again.
    pub(super) fn needs_snapshot(&self) -> bool {
        match self {
            Self::Event(event) => !matches!(event.payload(), Some(Payload::ArtifactUpdate(_))),
            Self::History(_) => true,
        }
    }

    /// Applies the change to the task.
    pub(super) fn apply(&self, task: &mut Task) {
        match self {
            Self::History(message) => task.history.push(message.clone()),
            Self::Event(event) => match event.payload() {
                Some(Payload::Task(new)) => task.clone_from(new),
                Some(Payload::StatusUpdate(update)) => task.apply_status(update),
                Some(Payload::ArtifactUpdate(update)) => task.apply_artifact(update),
                Some(Payload::Message(_)) | None => {}
            },
        }
    }
}
