//! The headers of a call.

use a2a_core::{Operation, ProtocolVersion};
use a2a_operations::CallContext;
use http::{HeaderMap, HeaderValue, header::ACCEPT};

use crate::{media, parameters};

/// Returns the headers of a call: its service parameters, in revision 1.0, and the answers that
/// the client reads.
///
/// A position to go on from is sent with a subscription alone, a key of idempotency with what
/// it names: a send.
pub fn call_headers(operation: Operation, mut context: CallContext) -> HeaderMap {
    context.version = ProtocolVersion::V1_0;
    if operation != Operation::SubscribeToTask {
        context.last_event_id = None;
    }
    if !matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage) {
        context.idempotency_key = None;
    }
    let mut headers = HeaderMap::new();
    parameters::write(&context, &mut headers);
    let accept = if operation.is_streaming() {
        // A refusal is JSON. `application/json` is what every known server tests for.
        HeaderValue::from_static("text/event-stream, application/json")
    } else {
        media::JSON
    };
    headers.insert(ACCEPT, accept);
    headers
}
