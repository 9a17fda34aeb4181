use std::sync::Arc;

use a2a_core::{
    v1::{Task, TaskState},
    well_known::Timestamp,
};
use prost::{Message, length_delimiter_len};

/// Which tasks to list.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TaskQuery {
    /// Only tasks of this conversation.
    pub context_id: Option<String>,
    /// Only tasks in this state.
    pub state: Option<TaskState>,
    /// Only tasks whose status has this time or a later one, both taken in whole milliseconds.
    pub since: Option<Timestamp>,
    /// Only tasks behind this one in the order of the list.
    pub after: Option<PageKey>,
    /// The most tasks to return.
    pub limit: usize,
    /// Size of a page, in bytes as protobuf, beyond which it takes no further task; `None` bounds
    /// it by `limit` alone.
    pub max_bytes: Option<usize>,
    /// What a reader sees of each task. What it does not see is not counted, and a store need not
    /// return it.
    pub shown: Shown,
}

/// What a reader of a list sees of each task. Default: everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The newest messages of the history, at most so many.
    pub history: usize,
    /// Whether the artifacts are shown.
    pub artifacts: bool,
}

impl Default for Shown {
    fn default() -> Self {
        Self { history: usize::MAX, artifacts: true }
    }
}

impl Shown {
    /// The task as it is shown. It is only copied where others hold it too.
    pub fn of(self, task: Arc<Task>) -> Task {
        let skip = self.skipped(&task);
        match Arc::try_unwrap(task) {
            Ok(mut task) => {
                task.history.drain(..skip);
                if !self.artifacts {
                    task.artifacts = Vec::new();
                }
                task
            }
            Err(task) => Task {
                id: task.id.clone(),
                context_id: task.context_id.clone(),
                status: task.status.clone(),
                artifacts: if self.artifacts { task.artifacts.clone() } else { Vec::new() },
                history: task.history[skip..].to_vec(),
                metadata: task.metadata.clone(),
            },
        }
    }

    /// The size of the task as it is shown, in bytes as protobuf.
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

/// The size of a message as a repeated member with a small number.
fn framed_len(message: &impl Message) -> usize {
    let len = message.encoded_len();
    1 + length_delimiter_len(len) + len
}

/// A place in the list of tasks, which goes from the newest status time to the oldest, and from
/// the greatest id to the smallest where times are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKey {
    /// The status time, in milliseconds since 1970.
    pub millis: i64,
    /// The id of the task.
    pub task_id: String,
}

impl PageKey {
    /// The place of a task.
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
#[derive(Clone, Debug, Default)]
pub struct TaskPage {
    /// The tasks, newest status first.
    pub tasks: Vec<Arc<Task>>,
    /// How many tasks the query matches, paging aside: exact, but with [`TaskQuery::since`] a
    /// store may stop to count at 10,000.
    pub total: usize,
    /// Whether more tasks follow.
    pub has_more: bool,
}

#[cfg(test)]
mod tests {
    use a2a_core::{Artifact, Part};

    use super::*;

    #[test]
    fn the_size_of_what_is_shown_is_that_of_its_encoding() {
        let task = Arc::new(Task {
            id: "t".into(),
            artifacts: vec![Artifact::new("long", Part::text("x".repeat(300)))],
            history: ["short", &"y".repeat(20_000), "last"].map(a2a_core::Message::user).into(),
            ..Task::default()
        });
        for history in [0, 1, 2, 3, usize::MAX] {
            for artifacts in [false, true] {
                let shown = Shown { history, artifacts };
                let copied = shown.of(Arc::clone(&task));
                assert_eq!(copied.history.len(), history.min(3));
                assert_eq!(copied.artifacts.len(), usize::from(artifacts));
                assert_eq!(shown.of(Arc::new(Task::clone(&task))), copied);
                assert_eq!(shown.len(&task), copied.encoded_len(), "{shown:?}");
            }
        }
    }
}
