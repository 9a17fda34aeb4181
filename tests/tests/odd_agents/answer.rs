//! Unary answers, errors, and methods that are missing.

use a2a_core::{AgentCard, ErrorKind, ProtocolVersion};
use a2a_kit_client::{Client, WaitOptions};
use a2a_tests::odd_agent::{Answer, OddAgent, Wire};
use serde_json::{Value, json};

use crate::{
    seat::{Seat, failed, seats},
    stream::matches,
};

/// An answer to `GetTask`, and the state or the error that it is read as.
struct Row {
    name: &'static str,
    /// The answer to a request with this id; `None` where the wire can't express it.
    answer: fn(Wire, &Value) -> Option<Answer>,
    expected: &'static str,
}

const JSON: &str = "application/json";

fn task(wire: Wire, id: &Value, state: &str) -> String {
    wire.answer(id, &wire.bare_task(&state.into())).to_string()
}

/// An error of JSON-RPC.
fn rpc_error(wire: Wire, id: &Value, error: Value) -> Option<Answer> {
    let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
    matches!(wire, Wire::JsonRpc(_)).then(|| Answer::new(JSON, body.to_string()))
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { name: "byte order mark", expected: "COMPLETED",
        answer: |wire, id| Some(Answer::new(JSON, format!("\u{feff}{}", task(wire, id, "completed")))) },
    Row { name: "lower-case state", expected: "INPUT_REQUIRED",
        answer: |wire, id| Some(Answer::new(JSON, task(wire, id, "input-required"))) },
    Row { name: "TASK_STATE_CANCELLED", expected: "CANCELED",
        answer: |wire, id| Some(Answer::new(JSON, task(wire, id, "TASK_STATE_CANCELLED"))) },
    Row { name: "unknown state", expected: "InvalidAgentResponse: *TASK_STATE_PAUSED",
        answer: |wire, id| Some(Answer::new(JSON, task(wire, id, "TASK_STATE_PAUSED"))) },
    Row { name: "one event as SSE", expected: "WORKING",
        answer: |wire, id| Some(Answer::new("text/event-stream",
            format!(": hi\n\nevent: ping\ndata: {{}}\n\ndata: {}\n\n", task(wire, id, "working")))) },
    Row { name: "SSE as application/json", expected: "WORKING",
        answer: |wire, id| Some(Answer::new(JSON, format!("data: {}\n\n", task(wire, id, "working")))) },
    Row { name: "web page", expected: "InvalidAgentResponse: *<title>Sign in*text/html, page titled \"Sign in",
        answer: |_, _| Some(Answer::new("text/html", "<html>\n<title>Sign in</title></html>")) },
    Row { name: "broken JSON", expected: "InvalidAgentResponse: *{\\\"id\\\": 7,",
        answer: |_, _| Some(Answer::new(JSON, "{\"id\": 7,")) },
    Row { name: "neither result nor error", expected: "InvalidAgentResponse: *\\\"jsonrpc\\\"",
        answer: |wire, id| (wire == Wire::JsonRpc(ProtocolVersion::V1_0)).then(|| Answer::new(JSON,
            json!({"jsonrpc": "2.0", "id": id}).to_string())) },
    Row { name: "empty body", expected: "InvalidAgentResponse: *empty",
        answer: |_, _| Some(Answer::new(JSON, "")) },
    Row { name: "coding that was not asked for", expected: "InvalidAgentResponse: *\"gzip\"",
        answer: |_, _| Some(Answer::new(JSON, &b"\x1f\x8b\x08\0"[..]).with_header("content-encoding", "gzip")) },
    Row { name: "coding of an error", expected: "Unavailable: *502*\"br\"",
        answer: |_, _| Some(Answer::new("text/html", &b"\x1f\x8b\x08\0"[..]).with_status(502).with_header("content-encoding", "br")) },
    Row { name: "code of the agent's own", expected: "*budget is spent*-32050",
        answer: |wire, id| rpc_error(wire, id, json!({"code": -32050, "message": "budget is spent"})) },
    Row { name: "positive code", expected: "*budget is spent*4711",
        answer: |wire, id| rpc_error(wire, id, json!({"code": 4711, "message": "budget is spent"})) },
    Row { name: "error without a message", expected: "Internal: *-32603*",
        answer: |wire, id| rpc_error(wire, id, json!({"code": -32603})) },
    Row { name: "error after a byte order mark", expected: "TaskNotFound: no such task",
        answer: |wire, id| rpc_error(wire, id, json!({"code": -32001, "message": "no such task"}))
            .map(|answer| Answer { body: [&b"\xef\xbb\xbf"[..], &answer.body].concat(), ..answer }) },
    Row { name: "error of FastAPI", expected: "*422*field required",
        answer: |_, _| Some(Answer::new(JSON, r#"{"detail":[{"loc":["body","message"],"msg":"field required"}]}"#).with_status(422)) },
    Row { name: "problem document", expected: "*out of credit",
        answer: |_, _| Some(Answer::new("application/problem+json",
            r#"{"type":"https://example.com/credit","title":"No","status":403,"detail":"out of credit"}"#).with_status(400)) },
    Row { name: "page of a proxy", expected: "Unavailable: *502 Bad Gateway",
        answer: |_, _| Some(Answer::new("text/html", "<html><head><title>502 Bad Gateway</title></head></html>").with_status(502)) },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_the_field_are_read_over_every_wire_and_gateway() {
    let mut faults = Vec::new();
    for row in ROWS {
        for wire in Wire::ALL {
            if (row.answer)(wire, &json!(1)).is_none() {
                continue;
            }
            let agent = OddAgent::start(move |seen| {
                (row.answer)(wire, &seen.id).expect("the wire can express it")
            })
            .await;
            for seat in seats(wire, &agent.url).await {
                let word = got(&seat).await;
                if !matches(&word, row.expected) {
                    faults.push(format!("{} ({}): {word}", row.name, seat.name));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

async fn got(seat: &Seat) -> String {
    match seat.get().await {
        Ok(task) => task.state().as_str_name().replace("TASK_STATE_", ""),
        Err(error) => failed(&error),
    }
}

/// Whether a method streams, in any revision.
fn is_stream(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("stream") || name.contains("subscribe")
}

/// What an agent answers to a streaming method that it does not have.
fn missing(wire: Wire, id: &Value, status: u16) -> Answer {
    match (wire, status) {
        (Wire::JsonRpc(_), 200) => {
            let error = json!({"code": -32601, "message": "Method not found"});
            let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
            Answer::new(JSON, body.to_string())
        }
        _ => Answer::new("text/plain", "no").with_status(status),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn send_without_a_stream_follows_where_the_declared_stream_is_missing() {
    for wire in Wire::ALL {
        for status in [200, 404, 405, 501] {
            if status == 200 && matches!(wire, Wire::Rest(_)) {
                continue;
            }
            let agent = OddAgent::start(move |seen| {
                if is_stream(&seen.name) {
                    return missing(wire, &seen.id, status);
                }
                let result = wire.task(wire.state("COMPLETED"));
                Answer::new(JSON, wire.answer(&seen.id, &result).to_string())
            })
            .await;
            for seat in seats(wire, &agent.url).await {
                let card = AgentCard::new("Odd", "declares a stream").with_streaming(true);
                let client = Client::from_agent(seat.agent, card);
                let options = WaitOptions::default();
                let outcome = client.send_and_watch("hi", options).await;
                let outcome = outcome
                    .unwrap_or_else(|error| panic!("{} {status}: {}", seat.name, failed(&error)));
                let task = outcome.outcome().await.expect("an outcome");
                assert_eq!(task.task().map(|task| task.id.as_str()), Some("t"), "{}", seat.name);
            }
            let sends = agent.seen().iter().filter(|name| !is_stream(name)).count();
            assert_eq!(sends, 3, "{wire:?} {status}: one message each: {:?}", agent.seen());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_is_polled_where_the_declared_subscription_is_missing() {
    for wire in Wire::ALL {
        for status in [200, 404, 405, 501] {
            if status == 200 && matches!(wire, Wire::Rest(_)) {
                continue;
            }
            let agent = OddAgent::start(move |seen| {
                if is_stream(&seen.name) {
                    return missing(wire, &seen.id, status);
                }
                Answer::new(JSON, task(wire, &seen.id, &wire.state("COMPLETED")))
            })
            .await;
            for seat in seats(wire, &agent.url).await {
                let card = AgentCard::new("Odd", "declares a stream").with_streaming(true);
                let client = Client::from_agent(seat.agent, card);
                let task = client.wait("t", WaitOptions::default()).await;
                let task = task
                    .unwrap_or_else(|error| panic!("{} {status}: {}", seat.name, failed(&error)));
                assert!(task.state().is_terminal(), "{} {status}", seat.name);
            }
        }
    }
}

#[test]
fn a_missing_method_has_a_kind_of_its_own_over_http() {
    assert_eq!(ErrorKind::from_http(404), ErrorKind::MethodNotFound);
    assert_eq!(ErrorKind::from_http(405), ErrorKind::MethodNotAllowed);
}
