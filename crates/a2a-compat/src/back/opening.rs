//! Streams that do not begin with a task.

use a2a_core::{
    Result, TaskState,
    v1::{StreamResponse, Task, TaskStatus, stream_response::Payload},
};
use a2a_operations::{Event, EventStream};
use futures_util::{StreamExt as _, stream};

/// Makes a stream begin with a `Task`, as 1.0 has it: older agents may begin with an update.
pub(crate) fn opened(events: EventStream) -> EventStream {
    let mut is_first = true;
    EventStream::new(events.flat_map(move |item| {
        let items = match item {
            Ok(event) if std::mem::take(&mut is_first) => open(event),
            item => vec![item],
        };
        stream::iter(items)
    }))
}

fn open(event: Event) -> Vec<Result<Event>> {
    let opening = match event.payload() {
        Some(Payload::StatusUpdate(update)) => {
            let task = Task {
                id: update.task_id.clone(),
                context_id: update.context_id.clone(),
                status: update.status.clone(),
                metadata: update.metadata.clone(),
                ..Task::default()
            };
            // The update says no more than that, so the task stands in its place.
            return vec![Ok(task_event(event.id(), task))];
        }
        Some(Payload::ArtifactUpdate(update)) => Task {
            id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            status: Some(TaskStatus { state: TaskState::Working.into(), ..TaskStatus::default() }),
            ..Task::default()
        },
        Some(Payload::Task(_) | Payload::Message(_)) | None => return vec![Ok(event)],
    };
    vec![Ok(task_event(None, opening)), Ok(event)]
}

fn task_event(id: Option<a2a_operations::EventId>, task: Task) -> Event {
    Event::new(id, StreamResponse { payload: Some(Payload::Task(task)) })
}
