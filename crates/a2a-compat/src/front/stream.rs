//! Streams as older revisions have them: where they end, and with which event.

use a2a_core::{
    ProtocolVersion, Result, TaskState,
    v1::{StreamResponse, Task, TaskStatusUpdateEvent, stream_response::Payload},
};
use a2a_operations::{Event, EventStream, StreamEnd};
use futures_util::{StreamExt as _, stream};

use crate::v0_1::Unfolding;

/// Returns whether a stream of the revision ends at the event, which is then its `final` one.
pub(crate) fn is_last(revision: ProtocolVersion, event: &Event) -> bool {
    match (event.stream_end(), revision) {
        (StreamEnd::Open, _) => false,
        (StreamEnd::Terminal, _) => true,
        // The draft waits for an authorization with its stream open.
        (StreamEnd::Interrupted(state), ProtocolVersion::V1Draft | ProtocolVersion::V1_0) => {
            state == TaskState::InputRequired
        }
        (StreamEnd::Interrupted(_), _) => true,
    }
}

/// Ends a stream where the revision ends it. A stream whose last event is a `Task` gets a status
/// event behind it: clients of these revisions wait for one that is `final`.
pub(crate) fn ended(revision: ProtocolVersion, events: EventStream) -> EventStream {
    let items = stream::unfold(Some(events), move |events| async move {
        let mut events = events?;
        let item = events.next().await?;
        let (batch, goes_on) = match item {
            Err(error) => (vec![Err(error)], false),
            Ok(event) if is_last(revision, &event) => (with_final_status(revision, event), false),
            Ok(event) => (vec![Ok(event)], true),
        };
        Some((stream::iter(batch), goes_on.then_some(events)))
    });
    EventStream::new(items.flatten())
}

/// Makes each event of a stream such that 0.1 can say it alone: artifacts by their position, an
/// ended task as its artifacts and its status.
pub(crate) fn unfolded(events: EventStream) -> EventStream {
    let mut unfolding = Unfolding::new();
    EventStream::new(events.flat_map(move |item| {
        let items = match item {
            Err(error) => vec![Err(error)],
            Ok(event) => {
                let id = event.id();
                let unfolded = unfolding.unfold(event.into_response());
                let last = unfolded.len().saturating_sub(1);
                // The position stands on the last of them: whoever is cut before gets all again.
                let with_id =
                    |(index, response)| Ok(Event::new(id.filter(|_| index == last), response));
                unfolded.into_iter().enumerate().map(with_id).collect()
            }
        };
        stream::iter(items)
    }))
}

fn with_final_status(revision: ProtocolVersion, event: Event) -> Vec<Result<Event>> {
    // In 0.1 a task on a stream is a status event already.
    let status = match event.task() {
        Some(task) if revision != ProtocolVersion::V0_1 => Some(status_of(task)),
        _ => None,
    };
    let mut events = vec![Ok(event)];
    events.extend(status.map(Ok));
    events
}

fn status_of(task: &Task) -> Event {
    let update = TaskStatusUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone(),
        status: task.status.clone(),
        metadata: None,
    };
    Event::new(None, StreamResponse { payload: Some(Payload::StatusUpdate(update)) })
}
