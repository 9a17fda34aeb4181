//! A task assembled from its events.

use a2a_core::v1::{Task, stream_response::Payload};
use a2a_kit_operations::Event;

/// The task as described by the events of a stream so far.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    task: Option<Task>,
    is_complete: bool,
}

impl Snapshot {
    /// Creates an empty snapshot.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies an event. A `Task` replaces the previous state.
    pub fn apply(&mut self, event: &Event) {
        match event.payload() {
            Some(Payload::Task(task)) => {
                self.task = Some(task.clone());
                self.is_complete = true;
            }
            Some(Payload::StatusUpdate(update)) => {
                self.task_mut(&update.task_id, &update.context_id).apply_status(update);
            }
            Some(Payload::ArtifactUpdate(update)) => {
                self.task_mut(&update.task_id, &update.context_id).apply_artifact(update);
            }
            Some(Payload::Message(_)) | None => {}
        }
    }

    // Some agents open a stream with an update instead of the task.
    fn task_mut(&mut self, task_id: &str, context_id: &str) -> &mut Task {
        self.task.get_or_insert_with(|| Task {
            id: task_id.to_owned(),
            context_id: context_id.to_owned(),
            ..Task::default()
        })
    }

    /// The task so far; `None` before the first event of a task.
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// Returns whether an event contained the whole task, and not only updates of it.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the task.
    pub fn into_task(self) -> Option<Task> {
        self.task
    }

    /// Returns whether status and artifacts equal those of `task`. The history is ignored: its
    /// length differs between responses.
    pub(crate) fn matches(&self, task: &Task) -> bool {
        self.task
            .as_ref()
            .is_some_and(|known| known.status == task.status && known.artifacts == task.artifacts)
    }
}
