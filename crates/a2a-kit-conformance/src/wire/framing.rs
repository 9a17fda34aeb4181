//! Event streams of JSON documents, and faults of their framing.

use std::time::Duration;

use serde_json::Value;

use super::{
    http::{Captured, CapturedEvents},
    sse::RawEvent,
};
use crate::exchange::{Answer, EventStream, StreamEnd};

/// What a response says: `unary` reads its body, and `add` adds the document of an event to a stream.
pub(super) fn answer(
    captured: &Captured,
    unary: fn(u16, &[u8]) -> Answer,
    add: impl Fn(&mut EventStream, Value, Duration),
) -> Answer {
    let Some(events) = &captured.events else {
        return match &captured.failure {
            Some(why) => Answer::Unusable(why.clone()),
            None => unary(captured.response.status, &captured.response.body),
        };
    };
    let end = match (&events.end, &captured.failure) {
        (StreamEnd::Closed, Some(why)) => StreamEnd::Failed(why.clone()),
        (end, _) => end.clone(),
    };
    let mut stream = EventStream { end, framing: faults(events), ..EventStream::default() };
    for (event, at) in &events.events {
        match serde_json::from_slice(&event.joined()) {
            Ok(document) => add(&mut stream, document, *at),
            Err(error) => stream.framing.push(not_json(event, &error)),
        }
    }
    Answer::Events(stream)
}

/// Faults of the framing of an event stream.
fn faults(events: &CapturedEvents) -> Vec<String> {
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
fn not_json(event: &RawEvent, error: &serde_json::Error) -> String {
    match event.data.len() {
        1 => format!("the data of an event is not JSON: {error}"),
        lines => format!(
            "an event has {lines} data lines that are not one JSON document: \
             is there a blank line between events? ({error})"
        ),
    }
}
