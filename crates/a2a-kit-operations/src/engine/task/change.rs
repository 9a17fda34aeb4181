//! Changes to a task.

use std::sync::Arc;

use a2a_core::{
    TaskState,
    v1::{Message, Task, part::Content, stream_response::Payload},
};

use crate::{Event, EventId};

/// A change to a task.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The task becomes visible: its first event.
    Appeared,
    /// An event for readers.
    Event(Event),
    /// A client message, added to the history.
    History(Arc<Message>),
    /// The journal has to be stored.
    Journal,
    /// The adjacent text parts of this artifact become one, without an event.
    Joined(Box<Join>),
}

impl Change {
    /// Returns whether the stored snapshot has to be rewritten.
    pub(crate) fn needs_snapshot(&self) -> bool {
        match self {
            Self::Event(event) => !matches!(event.payload(), Some(Payload::ArtifactUpdate(_))),
            Self::Appeared | Self::History(_) => true,
            // What joins parts is stored with the next status.
            Self::Journal | Self::Joined(_) => false,
        }
    }

    /// The new state, if the change sets one.
    pub(crate) fn state(&self) -> Option<TaskState> {
        match self {
            Self::Appeared => Some(TaskState::Submitted),
            Self::Event(event) => event.state(),
            Self::History(_) | Self::Journal | Self::Joined(_) => None,
        }
    }

    /// Makes it the change as stored, where `task` is the task before it. An update gets the ids of
    /// the task.
    pub(crate) fn make_event(&mut self, task: &Task) {
        match self {
            Self::Appeared => {
                *self = Self::Event(Event::of_task(Some(EventId::FIRST), task.clone()));
            }
            Self::Event(event) => set_ids(event, task),
            Self::History(_) | Self::Journal | Self::Joined(_) => {}
        }
    }

    /// Applies the change to the task without a copy.
    pub(super) fn move_to(self, task: &mut Task) {
        match self {
            Self::Appeared | Self::Journal => {}
            Self::Joined(join) => join.apply(task),
            Self::History(message) => task.history.push(Arc::unwrap_or_clone(message)),
            Self::Event(mut event) => {
                if let Some(payload) = event.make_mut().1.take() {
                    task.apply_event(payload);
                }
            }
        }
    }

    /// Applies the change to the task.
    pub(crate) fn apply(&self, task: &mut Task) {
        match self {
            Self::Appeared | Self::Journal => {}
            Self::Joined(join) => join.apply(task),
            Self::History(message) => task.history.push(Message::clone(message)),
            Self::Event(event) => match event.payload() {
                Some(Payload::Task(new)) => task.clone_from(new),
                Some(Payload::StatusUpdate(update)) => task.apply_status(update),
                Some(Payload::ArtifactUpdate(update)) => task.apply_artifact(update),
                Some(Payload::Message(_)) | None => {}
            },
        }
    }
}

/// The adjacent text parts of an artifact become one, if they differ in nothing but their text. Behind
/// one pointer, like the other changes.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) artifact_id: String,
}

impl Join {
    #[cold]
    #[inline(never)]
    fn apply(&self, task: &mut Task) {
        let mut artifacts = task.artifacts.iter_mut();
        let artifact = artifacts.find(|one| one.artifact_id == self.artifact_id);
        let Some(artifact) = artifact else { return };
        artifact.parts.dedup_by(|part, before| {
            let is_alike = part.filename == before.filename
                && part.media_type == before.media_type
                && part.metadata == before.metadata;
            match (&part.content, &mut before.content) {
                (Some(Content::Text(more)), Some(Content::Text(text))) if is_alike => {
                    text.push_str(more);
                    true
                }
                _ => false,
            }
        });
    }
}

/// Sets the ids of the task in an update.
fn set_ids(event: &mut Event, task: &Task) {
    let (task_id, context_id) = match event.make_mut().1 {
        Some(Payload::StatusUpdate(update)) => (&mut update.task_id, &mut update.context_id),
        Some(Payload::ArtifactUpdate(update)) => (&mut update.task_id, &mut update.context_id),
        Some(Payload::Task(_) | Payload::Message(_)) | None => return,
    };
    set(task_id, &task.id);
    set(context_id, &task.context_id);
}

/// Growing an empty text would take twice as long.
#[inline]
fn set(text: &mut String, id: &String) {
    if text.is_empty() { *text = id.clone() } else { text.clone_from(id) }
}

/// A copy of a task with changes applied.
pub(crate) fn applied<'a>(task: &Task, changes: impl Iterator<Item = &'a Change>) -> Task {
    let mut task = Task::clone(task);
    changes.for_each(|change| change.apply(&mut task));
    task
}
