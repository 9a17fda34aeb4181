//! Streams of messages.

use std::time::Duration;

use a2a_core::ErrorKind;
use a2a_kit_client::Transport;
use serde_json::{Value, json};

use super::definition::{Check, Feature::Streaming, must, should};
use crate::{
    evidence::Evidence,
    exchange::{
        EventStream, Exchange, StreamEnd, is_interrupted, is_terminal, payloads, state, text,
    },
    fold::{Folded, contents},
    step::Step,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    must("R-035", "3.1.2", "A streaming send opens a stream").by(opens).with(Streaming),
    must("R-036", "3.1.2", "A message is the only event of its stream")
        .by(message_only)
        .with(Streaming),
    must("R-037", "3.1.2", "The stream of a task starts with the task")
        .by(task_first)
        .with(Streaming),
    must("R-038", "3.1.2", "After the task, a stream has updates of that task only")
        .by(updates)
        .with(Streaming),
    must("R-039", "3.1.2", "A stream ends when its task ends").by(ends).with(Streaming),
    must("R-040", "3.1.2", "Events are sent while the task works").by(feedback).with(Streaming),
    must("R-041", "3.1.2", "Without the capability, a streaming send is refused")
        .errors(&[Step::Stream], &[ErrorKind::UnsupportedOperation])
        .without(Streaming),
    should("R-042", "11.7", "A stream ends when its task asks for input")
        .by(ends_asking)
        .with(Streaming),
    must("R-212", "3.5.2", "Events are delivered in their order, each once")
        .by(order)
        .with(Streaming),
    must("R-240", "4.2.2", "`append` adds to an artifact that is there").by(append).with(Streaming),
    must("R-082", "4.3.3", "An event has exactly one payload").by(one_payload).with(Streaming),
    must("R-277", "9.4", "Events are JSON-RPC responses with the id of the request")
        .by(framing)
        .with(Streaming)
        .on(&[Transport::JsonRpc]),
    must("R-301", "11.7", "Events hold the stream response alone")
        .by(framing)
        .with(Streaming)
        .on(&[Transport::Rest]),
    must("R-289", "10.7", "Streams of gRPC end with a status")
        .by(grpc_status)
        .with(Streaming)
        .on(&[Transport::Grpc]),
];

/// A stream that lasts this long shows whether its first event came early.
const WORK: Duration = Duration::from_millis(200);

const STREAMS: [Step; 4] =
    [Step::Stream, Step::StreamAsking, Step::StreamMessageAnswer, Step::Subscribe];

/// The streams of sends with at least one event.
fn sent<'a>(
    evidence: &'a Evidence,
    verdict: &mut Verdict<'_>,
) -> Vec<(&'a Exchange, &'a EventStream)> {
    let Some(first) = verdict.take(evidence, Step::Stream) else { return Vec::new() };
    let mut streams = Vec::new();
    let others = evidence.of_steps(&[Step::StreamAsking, Step::StreamMessageAnswer]);
    for exchange in std::iter::once(first).chain(others) {
        match exchange.stream().filter(|stream| !stream.events.is_empty()) {
            Some(stream) => streams.push((exchange, stream)),
            None => {
                verdict.not_measured(format!("the stream has no events: {}", exchange.summary()));
            }
        }
    }
    streams
}

fn opens(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::Stream) else { return };
    verdict.require(!exchange.events().is_empty(), exchange, || {
        let media_type = exchange.response.media_type();
        match (evidence.is_json(), media_type.as_str()) {
            (true, "text/event-stream") | (false, _) => {
                format!("the streaming send has no events: {}", exchange.summary())
            }
            (true, other) => format!(
                "the streaming send answered with the content type {other:?} instead of \
                 text/event-stream"
            ),
        }
    });
}

fn message_only(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, stream) in sent(evidence, verdict) {
        let Some(first) = stream.events.first() else { continue };
        if first.value.get("message").is_none() {
            verdict.not_measured("the stream has a task");
            continue;
        }
        verdict.require(stream.events.len() == 1, exchange, || {
            format!("a stream that starts with a message has {} events", stream.events.len())
        });
    }
}

fn task_first(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, stream) in sent(evidence, verdict) {
        let Some(first) = stream.events.first() else { continue };
        if first.value.get("message").is_some() {
            verdict.not_measured("the stream has a message");
            continue;
        }
        verdict.require(first.value.get("task").is_some_and(Value::is_object), exchange, || {
            format!("the first event of the stream is {} instead of `task`", members(&first.value))
        });
    }
}

fn members(event: &Value) -> String {
    let names: Vec<_> = event.as_object().into_iter().flat_map(|object| object.keys()).collect();
    match names.as_slice() {
        [] => "empty".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}

fn updates(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, stream) in sent(evidence, verdict) {
        let task = stream.events.iter().find_map(|event| event.value.get("task"));
        let Some(task) = task else { continue };
        let (id, context) = (text(task, "id"), text(task, "contextId"));
        for event in stream.events.iter().skip(1) {
            verdict.require(event.value.get("message").is_none(), exchange, || {
                "a stream of a task has a message".to_owned()
            });
            let update = ["statusUpdate", "artifactUpdate"];
            let Some(update) = update.iter().find_map(|name| event.value.get(name)) else {
                continue;
            };
            for (member, of_task) in [("taskId", id), ("contextId", context)] {
                let given = text(update, member);
                verdict.require(given == of_task, exchange, || {
                    format!("an event of a task with the `{member}` {of_task:?} has {given:?}")
                });
            }
        }
    }
}

fn ends(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, stream) in sent(evidence, verdict) {
        let state = exchange.last_state().unwrap_or("no state");
        let is_message = stream.events.iter().any(|event| event.value.get("message").is_some());
        if is_terminal(state) || is_message {
            verdict.require(stream.end != StreamEnd::Open, exchange, || {
                format!("the stream stays open although its task is in {state}")
            });
            if let StreamEnd::Failed(why) = &stream.end {
                verdict.found(exchange, format!("the stream broke instead of ending: {why}"));
            }
            let last = stream.events.last();
            let is_after = last.is_some_and(|event| event.value.get("artifactUpdate").is_some());
            verdict.require(is_message || !is_after, exchange, || {
                format!("the stream has events after {state}")
            });
        } else if stream.end == StreamEnd::Closed
            && !is_interrupted(state)
            && stream.error.is_none()
        {
            let message =
                format!("the stream ended in {state}, which is neither an end nor a pause");
            verdict.found(exchange, message);
        } else {
            verdict.not_measured(format!("the task of the stream is in {state}"));
        }
    }
}

fn feedback(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, stream) in sent(evidence, verdict) {
        let (Some(first), Some(last)) = (stream.events.first(), stream.events.last()) else {
            continue;
        };
        if exchange.elapsed < WORK || last.at < WORK {
            verdict.not_measured(
                "the task ended at once: name a text with several events with --prompt-for stream=…",
            );
            continue;
        }
        // All at once, after the work, is no stream.
        verdict.require(first.at < last.at.mul_f32(0.9), exchange, || {
            let (first, last) = (first.at.as_secs_f32(), last.at.as_secs_f32());
            format!(
                "the first event came after {first:.1} s of {last:.1} s, together with the last"
            )
        });
    }
}

fn ends_asking(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::StreamAsking) else { return };
    let Some(stream) = exchange.stream() else { return };
    if exchange.last_state() != Some("TASK_STATE_INPUT_REQUIRED") {
        return verdict.not_measured("the task of the stream did not ask for input");
    }
    verdict.require(stream.end != StreamEnd::Open, exchange, || {
        "the stream stays open although its task asks for input".to_owned()
    });
}

fn order(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, stream) in sent(evidence, verdict) {
        for pair in stream.events.windows(2) {
            // Equal chunks may follow each other; whether they add up is judged below.
            let is_chunk = pair[0].value.pointer("/artifactUpdate/append") == Some(&json!(true));
            let is_repeated = !is_chunk && pair[0].value == pair[1].value;
            verdict.require(!is_repeated, exchange, || "an event was delivered twice");
        }
        let updates = stream.events.iter().filter_map(|event| event.value.get("statusUpdate"));
        let states: Vec<_> = updates.map(state).collect();
        let is_late = states.iter().rev().skip(1).any(|state| is_terminal(state));
        verdict.require(!is_late, exchange, || {
            format!("a terminal state is followed by another one: {}", states.join(", "))
        });
    }
    let (Ok(stream), Ok(task)) =
        (evidence.get(Step::Stream), evidence.get(Step::GetTaskAfterStream))
    else {
        return;
    };
    let Some(stored) = task.task().filter(|_| stream.stream().is_some()) else { return };
    let folded = Folded::of(stream.events().iter().map(|event| &event.value));
    let stored = stored.get("artifacts").and_then(Value::as_array).cloned().unwrap_or_default();
    let (in_stream, in_task) = (contents(&folded.artifacts), contents(&stored));
    verdict.require(in_stream == in_task, stream, || {
        format!(
            "the artifacts of the stream add up to {} and GetTask has {}",
            shortened(&Value::Object(in_stream.clone())),
            shortened(&Value::Object(in_task.clone()))
        )
    });
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    let short: String = text.chars().take(120).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

fn append(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, stream) in sent(evidence, verdict) {
        let has_artifacts =
            stream.events.iter().any(|event| event.value.get("artifactUpdate").is_some());
        if !has_artifacts {
            verdict.not_measured("the stream has no artifact");
            continue;
        }
        let folded = Folded::of(stream.events.iter().map(|event| &event.value));
        verdict.measured();
        for fault in folded.faults {
            verdict.found(exchange, fault);
        }
    }
}

fn one_payload(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.of_steps(&STREAMS) {
        for event in exchange.events() {
            let count = payloads(&event.value);
            verdict.require(count == 1, exchange, || {
                format!(
                    "an event has {count} of `task`, `message`, `statusUpdate` and \
                     `artifactUpdate`, but {}",
                    members(&event.value)
                )
            });
        }
    }
}

fn framing(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.of_steps(&STREAMS) {
        let Some(stream) = exchange.stream() else {
            let has_events = [&b"data:"[..], b"id:", b"event:", b":"]
                .iter()
                .any(|start| exchange.response.body.starts_with(start));
            if has_events {
                verdict.media_type(exchange, "an event stream", "text/event-stream");
            } else {
                verdict.not_measured(format!("the stream answered {}", exchange.summary()));
            }
            continue;
        };
        verdict.measured();
        for fault in &stream.framing {
            verdict.found(exchange, fault.clone());
        }
        if exchange.binding == Transport::Rest {
            let has_envelope =
                stream.events.iter().any(|event| event.value.get("jsonrpc").is_some());
            verdict.require(!has_envelope, exchange, || {
                "an event is a JSON-RPC response, which HTTP+JSON does not have".to_owned()
            });
        }
    }
}

fn grpc_status(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, stream) in sent(evidence, verdict) {
        if stream.end != StreamEnd::Closed {
            verdict.not_measured("the stream did not end");
            continue;
        }
        let has_status = exchange.response.trailers.contains_key("grpc-status")
            || exchange.response.headers.contains_key("grpc-status");
        verdict.require(has_status, exchange, || "the stream has no `grpc-status`");
    }
}
