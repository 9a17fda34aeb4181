//! Task states that are not of the protocol.

use a2a_core::{
    Error, ErrorKind, Result, TaskState,
    v1::{TaskStatus, stream_response::Payload},
};
use a2a_kit_operations::Event;

/// In the message of every error about such a state, also of those of the bindings.
const UNKNOWN: &str = "unknown task state";

/// Returns an error if an event has a state that is not of the protocol, which may mean that the
/// task has stopped. Bindings reject unknown names; unknown numbers get here.
pub(crate) fn check(event: &Event) -> Result<()> {
    let status: Option<&TaskStatus> = match event.payload() {
        Some(Payload::Task(task)) => task.status.as_ref(),
        Some(Payload::StatusUpdate(update)) => update.status.as_ref(),
        Some(Payload::ArtifactUpdate(_) | Payload::Message(_)) | None => None,
    };
    match status.map(|status| status.state) {
        Some(state) if TaskState::try_from(state).is_err() => {
            let message = format!("{UNKNOWN} {state}");
            Err(Error::new(ErrorKind::InvalidAgentResponse, message))
        }
        _ => Ok(()),
    }
}

/// Returns whether an error of [`check`], or of a binding, is about such a state.
pub(crate) fn is_cause_of(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidAgentResponse && error.message().contains(UNKNOWN)
}
