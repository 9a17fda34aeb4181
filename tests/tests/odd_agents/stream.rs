//! Event streams.

use a2a_core::ProtocolVersion;
use a2a_kit_compat::ServerOptions;
use a2a_kit_gateway::Forward;
use a2a_tests::odd_agent::{Answer, OddAgent, Wire};
use serde_json::{Value, json};

use crate::seat::{Seat, gateway, seats};

/// A piece of a stream.
enum Piece {
    /// A result, in the envelope of the wire.
    Event(Value),
    /// Bytes as they are.
    Raw(Vec<u8>),
}

use Piece::Event;

fn raw(text: &str) -> Piece {
    Piece::Raw(text.as_bytes().to_vec())
}

/// A behaviour of agents.
struct Row {
    name: &'static str,
    content_type: &'static str,
    /// The stream; `None` where the wire can't express it.
    stream: fn(Wire) -> Option<Vec<Piece>>,
    /// A word for each event; the last may be a part of an error.
    expected: &'static [&'static str],
}

const SSE: &str = "text/event-stream";
const DONE: &[&str] = &["task WORKING", "status COMPLETED"];

fn begin(wire: Wire) -> Piece {
    Event(wire.task(wire.state("WORKING")))
}

fn end(wire: Wire) -> Piece {
    Event(wire.update(wire.state("COMPLETED")))
}

/// A whole stream with something between its events.
fn between(wire: Wire, piece: Piece) -> Option<Vec<Piece>> {
    Some(vec![begin(wire), piece, end(wire)])
}

/// A whole stream whose last event has this spelling of a state.
fn ends_at(wire: Wire, state: &str) -> Option<Vec<Piece>> {
    Some(vec![begin(wire), Event(wire.update(state))])
}

/// The rows of streams that are read to their end.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { name: "empty data", content_type: SSE, expected: DONE,
        stream: |wire| between(wire, raw("data:\n\ndata\n\ndata: \n\n")) },
    Row { name: "named keep-alive", content_type: SSE, expected: DONE,
        stream: |wire| between(wire, raw(
            "event: ping\ndata: {}\n\nevent: ping\ndata: ping\n\nevent: ping\n\nevent: heartbeat\ndata:\n\n")) },
    Row { name: "named keep-alive with members", content_type: SSE, expected: DONE,
        stream: |wire| between(wire, raw("event: ping\ndata: {\"time\":\"2026-01-01T00:00:00Z\"}\n\n")) },
    Row { name: "named keep-alive first", content_type: SSE, expected: DONE,
        stream: |wire| Some(vec![raw("event: connected\ndata: {\"ok\":true}\n\n"), begin(wire), end(wire)]) },
    Row { name: "event of the name message", content_type: SSE, expected: DONE,
        stream: |wire| Some(vec![begin(wire), raw("event: message\n"), end(wire)]) },
    Row { name: "comments, retry and lone ids", content_type: SSE, expected: DONE,
        stream: |wire| between(wire, raw(": ping\n\nretry: 10\n\nid: 7\n\n:\n\n")) },
    Row { name: "[DONE] before the last event", content_type: SSE, expected: DONE,
        stream: |wire| between(wire, raw("data: [DONE]\n\n")) },
    Row { name: "[DONE] at the end", content_type: SSE, expected: DONE,
        stream: |wire| Some(vec![begin(wire), end(wire), raw("data: [DONE]\n\n")]) },
    Row { name: "null as a result", content_type: SSE, expected: DONE,
        stream: |wire| between(wire, Event(Value::Null)) },
    Row { name: "unknown member of the union", content_type: SSE, expected: DONE,
        stream: |wire| between(wire, Event(match wire.event(&Value::Null, &wire.task("x")) {
            text if String::from_utf8_lossy(&text).contains("\"kind\"") => json!({"kind": "reasoning-update", "taskId": "t", "text": "hm"}),
            _ => json!({"reasoningUpdate": {"text": "hm"}}),
        })) },
    Row { name: "notification of JSON-RPC", content_type: SSE, expected: DONE,
        stream: |wire| match wire {
            Wire::JsonRpc(_) => between(wire, raw("data: {\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n\n")),
            Wire::Rest(_) => None,
        } },
    Row { name: "byte order mark before the stream", content_type: SSE, expected: DONE,
        stream: |wire| Some(vec![raw("\u{feff}"), begin(wire), end(wire)]) },
    Row { name: "byte order mark before the JSON of an event", content_type: SSE, expected: DONE,
        stream: |wire| Some(vec![begin(wire), raw("data: \u{feff}\n"), end(wire)]) },
    Row { name: "SSE as application/json", content_type: "application/json", expected: DONE,
        stream: |wire| Some(vec![begin(wire), end(wire)]) },
    Row { name: "SSE as text/plain, with a comment first", content_type: "text/plain; charset=utf-8", expected: DONE,
        stream: |wire| Some(vec![raw(": hello\n\n"), begin(wire), end(wire)]) },
    Row { name: "SSE as application/octet-stream, with an id first", content_type: "application/octet-stream", expected: DONE,
        stream: |wire| Some(vec![raw("id: x\n"), begin(wire), end(wire)]) },
    Row { name: "lower-case state", content_type: SSE, expected: DONE,
        stream: |wire| Some(vec![Event(wire.task("working")), Event(wire.update("completed"))]) },
    Row { name: "name of the proto", content_type: SSE, expected: DONE,
        stream: |wire| Some(vec![Event(wire.task("TASK_STATE_WORKING")), Event(wire.update("TASK_STATE_COMPLETED"))]) },
    Row { name: "state without its prefix", content_type: SSE, expected: DONE,
        stream: |wire| Some(vec![Event(wire.task("WORKING")), Event(wire.update("Completed"))]) },
    Row { name: "canceled", content_type: SSE, expected: &["task WORKING", "status CANCELED"],
        stream: |wire| ends_at(wire, "canceled") },
    Row { name: "cancelled", content_type: SSE, expected: &["task WORKING", "status CANCELED"],
        stream: |wire| ends_at(wire, "cancelled") },
    Row { name: "TASK_STATE_CANCELLED", content_type: SSE, expected: &["task WORKING", "status CANCELED"],
        stream: |wire| ends_at(wire, "TASK_STATE_CANCELLED") },
    Row { name: "input-required", content_type: SSE, expected: &["task WORKING", "status INPUT_REQUIRED"],
        stream: |wire| ends_at(wire, "input-required") },
    Row { name: "auth_required", content_type: SSE, expected: &["task WORKING", "status AUTH_REQUIRED"],
        stream: |wire| ends_at(wire, "auth_required") },
    Row { name: "real TASK_STATE_UNSPECIFIED", content_type: SSE, expected: &["task WORKING", "status UNSPECIFIED", "status COMPLETED"],
        stream: |wire| between(wire, Event(wire.update("TASK_STATE_UNSPECIFIED"))) },
    Row { name: "unknown state", content_type: SSE, expected: &["task WORKING", "InvalidAgentResponse: *TASK_STATE_PAUSED"],
        stream: |wire| between(wire, Event(wire.update("TASK_STATE_PAUSED"))) },
    Row { name: "unknown state first", content_type: SSE, expected: &["InvalidAgentResponse: *\"paused\""],
        stream: |wire| Some(vec![Event(wire.task("paused")), end(wire)]) },
    Row { name: "unknown number of a state", content_type: SSE, expected: &["task WORKING", "InvalidAgentResponse: *state*42"],
        stream: |wire| between(wire, Event(wire.update(42))) },
    Row { name: "two messages", content_type: SSE, expected: &["message AGENT one", "message AGENT two"],
        stream: |wire| Some(vec![
            Event(wire.message(wire.agent_role(), "one")?),
            Event(wire.message(wire.agent_role(), "two")?),
        ]) },
    Row { name: "lower-case role", content_type: SSE, expected: &["message AGENT one"],
        stream: |wire| Some(vec![Event(wire.message("agent", "one")?)]) },
    Row { name: "unknown role", content_type: SSE, expected: &["message AGENT one"],
        stream: |wire| Some(vec![Event(wire.message("assistant", "one")?)]) },
    Row { name: "line breaks in Base64", content_type: SSE, expected: &["task WORKING", "raw [255, 239, 190, 1]", "status COMPLETED"],
        stream: |wire| between(wire, Event(wire.artifact(wire.file_part("/++\r\n+AQ=\n=\n")))) },
    Row { name: "URL-safe Base64 without padding", content_type: SSE, expected: &["task WORKING", "raw [255, 239, 190, 1]", "status COMPLETED"],
        stream: |wire| between(wire, Event(wire.artifact(wire.file_part("_---AQ")))) },
    Row { name: "lone surrogates", content_type: SSE, expected: &["task WORKING", "text a\u{fffd}b\u{fffd}", "status COMPLETED"],
        stream: |wire| {
            let event = wire.event(&json!(1), &wire.artifact(wire.text_part("a@b#")));
            let text = String::from_utf8(event).ok()?;
            between(wire, raw(&text.replace('@', "\\ud83d").replace('#', "\\uDE00")))
        } },
    Row { name: "invalid UTF-8", content_type: SSE, expected: &["task WORKING", "text a\u{fffd}b", "status COMPLETED"],
        stream: |wire| {
            let mut event = wire.event(&json!(1), &wire.artifact(wire.text_part("a@b")));
            let at = event.iter().position(|byte| *byte == b'@')?;
            event[at] = 0xff;
            between(wire, Piece::Raw(event))
        } },
    Row { name: "broken JSON", content_type: SSE, expected: &["task WORKING", "InvalidAgentResponse: *{\\\"broken"],
        stream: |wire| between(wire, raw("data: {\"broken\n\n")) },
    Row { name: "web page instead of a stream", content_type: "text/html; charset=utf-8", expected: &["InvalidAgentResponse: *<title>Sign in*text/html*titled"],
        stream: |_| Some(vec![raw("<html><title>Sign in</title></html>")]) },
    Row { name: "coding that was not asked for", content_type: "text/event-stream\r\ncontent-encoding: gzip", expected: &["InvalidAgentResponse: *gzip"],
        stream: |_| Some(vec![raw("\u{1f}\u{8b}\u{8}")]) },
];

async fn start(row: &'static Row, wire: Wire) -> Option<OddAgent> {
    (row.stream)(wire)?;
    Some(
        OddAgent::start(move |seen| {
            let mut body = Vec::new();
            for piece in (row.stream)(wire).into_iter().flatten() {
                match piece {
                    Event(result) => body.extend(wire.event(&seen.id, &result)),
                    Piece::Raw(bytes) => body.extend(bytes),
                }
            }
            Answer::new(row.content_type, body)
        })
        .await,
    )
}

/// Compares a word with a pattern in which `*` stands for any text, and which may end early.
pub(crate) fn matches(word: &str, pattern: &str) -> bool {
    if !pattern.contains('*') {
        return word == pattern;
    }
    let mut rest = word;
    pattern.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_the_field_are_read_over_every_wire_and_gateway() {
    let mut faults = Vec::new();
    for row in ROWS {
        for wire in Wire::ALL {
            let Some(agent) = start(row, wire).await else { continue };
            for seat in seats(wire, &agent.url).await {
                let words = seat.stream().await;
                let is_expected = words.len() == row.expected.len()
                    && words.iter().zip(row.expected).all(|(word, want)| matches(word, want));
                if !is_expected {
                    faults.push(format!("{} ({}): {words:?}", row.name, seat.name));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_one_stream_reach_callers_of_older_revisions_through_a_gateway() {
    let wire = Wire::JsonRpc(ProtocolVersion::V1_0);
    let row = ROWS.iter().find(|row| row.name == "two messages").expect("the row");
    let agent = start(row, wire).await.expect("an agent");
    let forward = || Forward::new(wire.client(&agent.url));
    let options = ServerOptions::default;
    let json_rpc = gateway(a2a_kit_compat::server::jsonrpc(forward(), options())).await;
    let rest = gateway(a2a_kit_compat::server::rest(forward(), options())).await;
    for (older, url) in [
        (Wire::JsonRpc(ProtocolVersion::V0_3), json_rpc),
        (Wire::Rest(ProtocolVersion::V0_3), rest),
    ] {
        let seat = Seat { name: format!("{older:?}"), agent: older.client(&url) };
        assert_eq!(seat.stream().await, row.expected, "{}", seat.name);
    }
}
