//! JSON-RPC: the envelope of requests, and the answers in envelopes.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{framing, http::Captured};
use crate::exchange::{Answer, ErrorAnswer, Event};

/// The body of a request.
pub(super) fn body(method: &str, params: &Value, id: &Value) -> Bytes {
    let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
    if !params.is_null() {
        request["params"] = params.clone();
    }
    request.to_string().into()
}

/// What a captured response says.
pub(super) fn of_captured(captured: &Captured, id: &Value) -> Answer {
    framing::answer(captured, answer, |stream, envelope, at| {
        stream.framing.extend(envelope_faults(&envelope, id));
        match (envelope.get("result"), envelope.get("error")) {
            (_, Some(object)) if !object.is_null() => {
                stream.error = Some(ErrorAnswer::read(object));
            }
            // A null error is reported as a fault of the envelope.
            (Some(result), _) => stream.events.push(Event { value: result.clone(), at }),
            (None, _) => {}
        }
    })
}

/// What the body of a unary response says.
pub(crate) fn answer(status: u16, body: &[u8]) -> Answer {
    let envelope: Value = match serde_json::from_slice(body) {
        Ok(envelope) => envelope,
        Err(error) if (400..600).contains(&status) => {
            // A fault of the transport, such as a missing credential.
            let message = format!("HTTP {status} without a JSON-RPC error: {error}");
            return Answer::Error(ErrorAnswer {
                code: i64::from(status),
                message: Some(message),
                ..Default::default()
            });
        }
        Err(error) => return Answer::Unusable(format!("HTTP {status}, and no JSON: {error}")),
    };
    match (envelope.get("result"), envelope.get("error")) {
        (_, Some(object)) if object.is_object() => Answer::Error(ErrorAnswer::read(object)),
        (Some(result), _) => Answer::Result(result.clone()),
        // Servers leave out `result` when there is nothing to say.
        _ if envelope.get("jsonrpc").is_some() => Answer::Result(Value::Null),
        _ => Answer::Unusable(format!("HTTP {status}, and no JSON-RPC response")),
    }
}

/// What is wrong with the envelope of an event.
fn envelope_faults(envelope: &Value, id: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if envelope.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        faults.push("an event lacks `\"jsonrpc\": \"2.0\"`".to_owned());
    }
    if envelope.get("id") != Some(id) {
        let found = envelope.get("id").map_or_else(|| "no id".to_owned(), Value::to_string);
        faults.push(format!("an event has {found} instead of the id of the request, {id}"));
    }
    if envelope.get("result").is_some() == envelope.get("error").is_some() {
        faults.push("an event has not exactly one of `result` and `error`".to_owned());
    }
    faults
}
