//! A task put together from its events.

use a2a_core::v1::{Task, stream_response::Payload};
use a2a_operations::Event;

/// What the events of a stream so far add up to.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    task: Option<Task>,
}

impl Snapshot {
    /// Creates a snapshot of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event. A `Task` replaces everything before it.
    pub fn apply(&mut self, event: &Event) {
        match event.payload() {
            Some(Payload::Task(task)) => self.task = Some(task.clone()),
            Some(Payload::StatusUpdate(update)) => {
                self.of(&update.task_id, &update.context_id).apply_status(update);
            }
            Some(Payload::ArtifactUpdate(update)) => {
                self.of(&update.task_id, &update.context_id).apply_artifact(update);
            }
            Some(Payload::Message(_)) | None => {}
        }
    }

    // Some agents open a stream with an update instead of the task.
    fn of(&mut self, task_id: &str, context_id: &str) -> &mut Task {
        self.task.get_or_insert_with(|| Task {
            id: task_id.to_owned(),
            context_id: context_id.to_owned(),
            ..Task::default()
        })
    }

    /// The task as far as it is known.
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// Takes the task out.
    pub fn into_task(self) -> Option<Task> {
        self.task
    }

    /// Returns whether a task tells nothing that is not known. Its history is not looked at:
    /// how much of it is sent differs from one answer to the next.
    pub(crate) fn knows(&self, task: &Task) -> bool {
        self.task
            .as_ref()
            .is_some_and(|known| known.status == task.status && known.artifacts == task.artifacts)
    }
}
