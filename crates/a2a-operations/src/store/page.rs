use std::sync::Arc;

use a2a_core::{
    v1::{Task, TaskState},
    well_known::Timestamp,
};

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
