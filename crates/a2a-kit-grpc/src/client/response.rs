//! Checks of responses and events. Decoding accepts any number as a state, and drops the members of
//! later versions.

use a2a_core::{
    Error, ErrorKind, Result,
    v1::{SendMessageResponse, StreamResponse, send_message_response::Payload},
};
use a2a_kit_operations::{Event, EventId};

/// Checks an event; `None` for one of an unknown type, whose content was dropped.
///
/// # Errors
///
/// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse) for an unknown task state.
pub fn read_event(id: Option<EventId>, event: StreamResponse) -> Result<Option<Event>> {
    if event.payload.is_none() {
        tracing::debug!("event of an unknown type skipped");
        return Ok(None);
    }
    event.require_known_state()?;
    Ok(Some(Event::new(id, event)))
}

/// Checks the response to a send.
///
/// # Errors
///
/// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse) if it has no content, or an unknown
/// task state.
pub(super) fn require_content(response: &SendMessageResponse) -> Result<()> {
    match &response.payload {
        Some(Payload::Task(task)) => task.require_known_state(),
        Some(Payload::Message(_)) => Ok(()),
        None => Err(Error::new(
            ErrorKind::InvalidAgentResponse,
            "the response has neither a task nor a message",
        )),
    }
}
