use std::sync::Arc;

use a2a_core::{
    v1::{Task, TaskState},
    well_known::Timestamp,
};
use derive_setters::Setters;
use prost::{Message, length_delimiter_len};

/// Which tasks to list.
#[derive(Clone, Debug, Default, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct TaskQuery {
    /// Only tasks of this context.
    pub context_id: Option<String>,
    /// Only tasks in this state.
    pub state: Option<TaskState>,
    /// Only tasks with a status time at or after this one, both truncated to milliseconds.
    pub since: Option<Timestamp>,
    /// Only tasks after this key in list order.
    pub after: Option<PageKey>,
    /// Maximum number of tasks.
    #[setters(into = false)]
    pub limit: usize,
    /// Maximum size of a page, in bytes as protobuf; `None` limits it by `limit` alone.
    pub max_bytes: Option<usize>,
    /// The view of each task. What it leaves out is not counted, and a store need not return it.
    pub view: TaskView,
}

/// The part of each task that a list returns. Default: everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct TaskView {
    /// Maximum number of history messages, newest first.
    pub history: usize,
    /// Whether artifacts are included.
    pub artifacts: bool,
}

impl Default for TaskView {
    fn default() -> Self {
        Self { history: usize::MAX, artifacts: true }
    }
}

impl TaskView {
    /// Reduces a task to the view. The task is cloned only if it is shared.
    pub fn apply(self, task: Arc<Task>) -> Task {
        let skip = self.skipped(&task);
        match Arc::try_unwrap(task) {
            Ok(mut task) => {
                task.history.drain(..skip);
                if !self.artifacts {
                    task.artifacts = Vec::new();
                }
                task
            }
            Err(task) => self.copy(&task),
        }
    }

    /// A copy of a task, reduced to the view.
    pub(crate) fn copy(self, task: &Task) -> Task {
        Task {
            id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: task.status.clone(),
            artifacts: if self.artifacts { task.artifacts.clone() } else { Vec::new() },
            history: task.history[self.skipped(task)..].to_vec(),
            metadata: task.metadata.clone(),
        }
    }

    /// The whole task, but of its history at most the newest messages.
    pub(crate) fn of_history(limit: Option<usize>) -> Self {
        Self::default().with_history(limit.unwrap_or(usize::MAX))
    }

    /// The size of a task in this view, in bytes as protobuf.
    pub fn len(self, task: &Task) -> usize {
        let hidden: usize = task.history[..self.skipped(task)].iter().map(framed_len).sum();
        let artifacts: usize =
            if self.artifacts { 0 } else { task.artifacts.iter().map(framed_len).sum() };
        task.encoded_len().saturating_sub(hidden + artifacts)
    }

    fn skipped(self, task: &Task) -> usize {
        task.history.len().saturating_sub(self.history)
    }
}

/// The size of a message as a repeated field with a one-byte tag.
pub(crate) fn framed_len(message: &impl Message) -> usize {
    let len = message.encoded_len();
    1 + length_delimiter_len(len) + len
}

/// A position in list order: by status time, newest first, then by id, greatest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageKey {
    /// The status time, in milliseconds since 1970.
    pub millis: i64,
    /// The id of the task.
    pub task_id: String,
}

impl PageKey {
    /// The key of a task by its status time, in milliseconds since 1970, and its id.
    pub fn new(millis: i64, task_id: impl Into<String>) -> Self {
        Self { millis, task_id: task_id.into() }
    }

    /// The key of a task.
    pub fn of(task: &Task) -> Self {
        Self { millis: Self::millis_of(task), task_id: task.id.clone() }
    }

    /// The status time of a task, in milliseconds since 1970; 0 without one.
    pub fn millis_of(task: &Task) -> i64 {
        let time = task.status.as_ref().and_then(|status| status.timestamp);
        time.map_or(0, Timestamp::as_millis)
    }
}

/// A page of a list.
#[derive(Clone, Debug, Default, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct TaskPage {
    /// The tasks, newest status first.
    pub tasks: Vec<Arc<Task>>,
    /// The number of matching tasks on all pages: exact, except that with [`TaskQuery::since`] a
    /// store may stop counting at 10,000.
    pub total: usize,
    /// Whether more tasks follow.
    pub has_more: bool,
}

#[cfg(test)]
mod tests {
    use a2a_core::{Artifact, Part};

    use super::*;

    #[test]
    fn view_size_equals_its_encoded_size() {
        let task = Arc::new(Task {
            id: "t".into(),
            artifacts: vec![Artifact::new("long", Part::text("x".repeat(300)))],
            history: ["short", &"y".repeat(20_000), "last"].map(a2a_core::Message::user).into(),
            ..Task::default()
        });
        for history in [0, 1, 2, 3, usize::MAX] {
            for artifacts in [false, true] {
                let view = TaskView { history, artifacts };
                let copied = view.apply(Arc::clone(&task));
                assert_eq!(copied.history.len(), history.min(3));
                assert_eq!(copied.artifacts.len(), usize::from(artifacts));
                assert_eq!(view.apply(Arc::new(Task::clone(&task))), copied);
                assert_eq!(view.len(&task), copied.encoded_len(), "{view:?}");
            }
        }
    }
}
