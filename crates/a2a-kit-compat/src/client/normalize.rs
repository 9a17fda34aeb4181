//! Normalizes responses of older revisions: the start and end of event streams, and the length of
//! histories.

use std::{future::ready, sync::Arc};

use a2a_core::{
    Result, TaskState,
    v1::{StreamResponse, Task, TaskStatus, send_message_response, stream_response::Payload},
};
use a2a_kit_operations::{Event, EventStream};
use futures_util::{StreamExt as _, stream};

use crate::{AnyRequest, AnyResponse};

/// Drops the `final` status update that older revisions send after a terminal task. It repeats the
/// status of the task and has no event id, so readers that count ids would see a gap.
pub(crate) fn without_repeated_status(events: EventStream) -> EventStream {
    let mut last_status: Option<TaskStatus> = None;
    EventStream::new(events.filter(move |item| {
        let event = item.as_ref().ok();
        let is_repeated = match event.and_then(Event::payload) {
            Some(Payload::StatusUpdate(update)) => {
                last_status.is_some()
                    && last_status == update.status
                    && event.and_then(Event::id).is_none()
            }
            _ => false,
        };
        last_status = event.and_then(Event::task).and_then(|task| task.status.clone());
        ready(!is_repeated)
    }))
}

/// Makes a stream start with a `Task`, as 1.0 requires: older agents may start with an update.
pub(crate) fn starting_with_task(events: EventStream) -> EventStream {
    let mut is_first = true;
    EventStream::new(events.flat_map(move |item| {
        let items = match item {
            Ok(event) if std::mem::take(&mut is_first) => with_task(event),
            item => vec![item],
        };
        stream::iter(items)
    }))
}

fn with_task(event: Event) -> Vec<Result<Event>> {
    let task = match event.payload() {
        Some(Payload::StatusUpdate(update)) => {
            let task = Task {
                id: update.task_id.clone(),
                context_id: update.context_id.clone(),
                status: update.status.clone(),
                metadata: update.metadata.clone(),
                ..Task::default()
            };
            // The task contains everything in the update, and replaces it.
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
    vec![Ok(task_event(None, task)), Ok(event)]
}

fn task_event(id: Option<a2a_kit_operations::EventId>, task: Task) -> Event {
    Event::new(id, StreamResponse { payload: Some(Payload::Task(task)) })
}

/// The requested history length; `None` leaves it to the agent.
///
/// Agents of 0.2 and 0.3 treat the length 0 as unset, and return the whole history.
pub(crate) fn requested_history(request: &AnyRequest) -> Option<usize> {
    let length = match request {
        AnyRequest::SendMessage(request) => request.configuration.as_ref()?.history_length,
        AnyRequest::GetTask(request) => request.history_length,
        AnyRequest::ListTasks(request) => request.history_length,
        _ => None,
    };
    // The agent rejects negative lengths.
    usize::try_from(length?).ok()
}

/// Truncates the history of the tasks in a response.
pub(crate) fn limit_history(response: &mut AnyResponse, limit: Option<usize>) {
    let exceeds = |task: &Task| limit.is_some_and(|limit| task.history.len() > limit);
    match response {
        AnyResponse::Sent(sent) => {
            if let Some(send_message_response::Payload::Task(task)) = &mut sent.payload {
                task.limit_history(limit);
            }
        }
        AnyResponse::Task(task) if exceeds(task) => Arc::make_mut(task).limit_history(limit),
        AnyResponse::Tasks(page) => {
            page.tasks.iter_mut().for_each(|task| task.limit_history(limit));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::TaskStatusUpdateEvent;
    use a2a_kit_operations::EventId;

    use super::*;

    fn status(state: TaskState) -> Option<TaskStatus> {
        Some(TaskStatus { state: state.into(), ..TaskStatus::default() })
    }

    fn task(id: u64, state: TaskState) -> Event {
        task_event(EventId::new(id), Task { status: status(state), ..Task::default() })
    }

    fn update(id: u64, state: TaskState) -> Event {
        let update = TaskStatusUpdateEvent { status: status(state), ..Default::default() };
        let payload = Some(Payload::StatusUpdate(update));
        Event::new(EventId::new(id), StreamResponse { payload })
    }

    async fn left(events: Vec<Event>) -> Vec<Option<EventId>> {
        let events = EventStream::new(stream::iter(events.into_iter().map(Ok)));
        without_repeated_status(events).map(|item| item.unwrap().id()).collect().await
    }

    #[tokio::test]
    async fn repeated_final_status_is_dropped() {
        let (working, done) = (TaskState::Working, TaskState::Completed);
        let ids = |ids: &[u64]| ids.iter().map(|id| EventId::new(*id)).collect::<Vec<_>>();
        assert_eq!(left(vec![task(7, done), update(0, done)]).await, ids(&[7]));
        // Updates with an event id or another status are kept.
        let (began, ended) = (task(1, working), update(3, done));
        let events = vec![began, update(2, working), ended];
        assert_eq!(left(events).await, ids(&[1, 2, 3]));
        assert_eq!(left(vec![task(1, working), update(0, done)]).await, ids(&[1, 0]));
        assert_eq!(left(vec![update(0, done), update(0, done)]).await, ids(&[0, 0]));
    }
}
