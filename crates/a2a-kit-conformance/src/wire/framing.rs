//! Faults of the framing of event streams.

use super::{http::CapturedEvents, sse::RawEvent};

/// Faults of the framing of an event stream.
pub(super) fn faults(events: &CapturedEvents) -> Vec<String> {
    let mut faults = Vec::new();
    for line in &events.stray {
        faults.push(format!("a line is neither a field nor a comment: {line}"));
    }
    for (event, _) in &events.events {
        if !event.is_terminated {
            faults.push("an event is not ended by a blank line".to_owned());
        }
    }
    faults
}

/// The fault of an event whose data is not JSON.
pub(super) fn not_json(event: &RawEvent, error: &serde_json::Error) -> String {
    match event.data.len() {
        1 => format!("the data of an event is not JSON: {error}"),
        lines => format!(
            "an event has {lines} data lines that are not one JSON document: \
             is there a blank line between events? ({error})"
        ),
    }
}
