//! Faults in the events of a stream.

use std::{collections::VecDeque, future};

use a2a_core::TaskState;
use a2a_kit_operations::{Event, EventStream};
use futures_util::{StreamExt as _, stream};

use super::AgentFault;

/// Changes the stream of a message.
pub(super) fn sent(fault: AgentFault, events: EventStream) -> EventStream {
    match fault {
        AgentFault::StreamWithoutTask => without_task(events),
        AgentFault::StreamStaysOpen => open(events),
        AgentFault::ChunksAreSwapped => swapped(events),
        _ => events,
    }
}

/// Keeps a stream open after a terminal state.
fn open(events: EventStream) -> EventStream {
    let state = (events, false);
    EventStream::new(stream::unfold(state, |(mut events, mut has_ended)| async move {
        match events.next().await {
            Some(event) => {
                let state = event.as_ref().ok().and_then(Event::state);
                has_ended |= state.is_some_and(TaskState::is_terminal);
                Some((event, (events, has_ended)))
            }
            None if has_ended => future::pending().await,
            None => None,
        }
    }))
}

/// Drops the task at the start of a stream.
fn without_task(events: EventStream) -> EventStream {
    EventStream::new(events.enumerate().filter_map(|(index, event)| {
        let is_first_task = index == 0 && event.as_ref().is_ok_and(|event| event.task().is_some());
        future::ready((!is_first_task).then_some(event))
    }))
}

/// Swaps the first two chunks that follow each other.
fn swapped(events: EventStream) -> EventStream {
    let state = (events, VecDeque::new(), false);
    EventStream::new(stream::unfold(state, |(mut events, mut held, mut is_done)| async move {
        if let Some(event) = held.pop_front() {
            return Some((event, (events, held, is_done)));
        }
        let event = events.next().await?;
        if is_done || !event.as_ref().is_ok_and(is_chunk) {
            return Some((event, (events, held, is_done)));
        }
        let Some(next) = events.next().await else {
            return Some((event, (events, held, is_done)));
        };
        if next.as_ref().is_ok_and(is_chunk) {
            is_done = true;
            held.push_back(event);
            return Some((next, (events, held, is_done)));
        }
        held.push_back(next);
        Some((event, (events, held, is_done)))
    }))
}

fn is_chunk(event: &Event) -> bool {
    event.artifact_update().is_some()
}
