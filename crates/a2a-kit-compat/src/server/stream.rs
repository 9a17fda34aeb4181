//! Event streams of older revisions: where they end, and with which event.

use a2a_core::{
    ProtocolVersion, Result, TaskState,
    v1::{TaskStatusUpdateEvent, stream_response::Payload},
};
use a2a_kit_operations::{Event, EventStream, StreamEnd};
use futures_util::{StreamExt as _, stream};

use crate::v0_1::EventSplitter;

/// Returns whether an event is the last (`final`) one of a stream of the revision.
pub(crate) fn is_last(revision: ProtocolVersion, event: &Event) -> bool {
    match (event.stream_end(), revision) {
        (StreamEnd::Open, _) => false,
        (StreamEnd::Terminal, _) => true,
        // In the draft, streams stay open while a task waits for authorization.
        (StreamEnd::Interrupted(state), ProtocolVersion::V1Draft | ProtocolVersion::V1_0) => {
            state == TaskState::InputRequired
        }
        (StreamEnd::Interrupted(_), _) => true,
    }
}

/// Returns whether a stream of the revision ends at an event. Some agents stream several messages;
/// in 0.1, a message is the status of a completed task.
fn ends_at(revision: ProtocolVersion, event: &Event) -> bool {
    let is_message = matches!(event.payload(), Some(Payload::Message(_)));
    is_last(revision, event) && (!is_message || revision == ProtocolVersion::V0_1)
}

/// Ends a stream where the revision ends it. If its last event is a `Task`, a status event is
/// added: clients of these revisions wait for a `final` one.
pub(crate) fn end_stream(revision: ProtocolVersion, events: EventStream) -> EventStream {
    let items = stream::unfold(Some(events), move |events| async move {
        let mut events = events?;
        let item = events.next().await?;
        let (batch, continues) = match item {
            Err(error) => (vec![Err(error)], false),
            Ok(event) if ends_at(revision, &event) => (with_final_status(revision, event), false),
            Ok(event) => (vec![Ok(event)], true),
        };
        Some((stream::iter(batch), continues.then_some(events)))
    });
    EventStream::new(items.flatten())
}

/// Splits the events of a stream into events that 0.1 can represent: artifacts by index, an ended
/// task as its artifacts and its status.
pub(crate) fn split_events(mut splitter: EventSplitter, events: EventStream) -> EventStream {
    EventStream::new(events.flat_map(move |item| {
        let items = match item {
            Err(error) => vec![Err(error)],
            Ok(event) => {
                let id = event.id();
                let split = splitter.split(event.into_response());
                let last = split.len().saturating_sub(1);
                // Only the last one has the event id: a reader that resumes earlier gets all again.
                let with_id =
                    |(index, response)| Ok(Event::new(id.filter(|_| index == last), response));
                split.into_iter().enumerate().map(with_id).collect()
            }
        };
        stream::iter(items)
    }))
}

fn with_final_status(revision: ProtocolVersion, event: Event) -> Vec<Result<Event>> {
    // In 0.1, a task in a stream is already a status event.
    let task = event.task().filter(|_| revision != ProtocolVersion::V0_1);
    let status = task.map(|task| {
        Event::from(TaskStatusUpdateEvent {
            task_id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: task.status.clone(),
            metadata: None,
        })
    });
    std::iter::once(event).chain(status).map(Ok).collect()
}
