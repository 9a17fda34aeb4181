//! The envelope of JSON-RPC.

use a2a_core::ProtocolVersion;
use a2a_kit_client::Transport;
use serde_json::Value;

use super::definition::{Check, must};
use crate::{evidence::Evidence, exchange::Exchange, step::Step, verdict::Verdict};

const JSONRPC: &[Transport] = &[Transport::JsonRpc];

/// Every revision has the same envelope.
const ALL: &[ProtocolVersion] = &[
    ProtocolVersion::V0_1,
    ProtocolVersion::V0_2,
    ProtocolVersion::V0_3,
    ProtocolVersion::V1Draft,
    ProtocolVersion::V1_0,
];

pub(super) const CHECKS: &[Check] = &[
    must("R-274", "9.1", "Answers have the content type application/json")
        .by(content_type)
        .on(JSONRPC)
        .in_versions(ALL),
    must("R-278", "9.4.1", "Results of sends and streams are wrappers").by(wrappers).on(JSONRPC),
    must("R-279", "9.5", "Errors are objects with code and message")
        .by(error_object)
        .on(JSONRPC)
        .in_versions(ALL),
    must("R-280", "9.1", "`jsonrpc` is \"2.0\"").by(version).on(JSONRPC).in_versions(ALL),
    must("R-281", "9.1", "The `id` of the request is echoed").by(id).on(JSONRPC).in_versions(ALL),
    must("R-283", "9.1", "A response has exactly one of `result` and `error`")
        .by(one_member)
        .on(JSONRPC)
        .in_versions(ALL),
    must("R-276", "9.1", "Methods have the names of the operations").by(methods).on(JSONRPC),
];

/// Unary responses with their envelopes.
fn envelopes(evidence: &Evidence) -> impl Iterator<Item = (&Exchange, Value)> {
    evidence.all().filter(|exchange| exchange.stream().is_none()).filter_map(|exchange| {
        let envelope: Value = serde_json::from_slice(&exchange.response.body).ok()?;
        // A fault of the transport may have another body.
        let is_of_transport = exchange.response.status >= 400 && envelope.get("jsonrpc").is_none();
        (envelope.is_object() && !is_of_transport).then_some((exchange, envelope))
    })
}

fn content_type(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.all().filter(|exchange| exchange.response.status == 200) {
        let expected =
            if exchange.is_streamed() { "text/event-stream" } else { "application/json" };
        verdict.media_type(exchange, &format!("the answer to {}", exchange.operation), expected);
    }
}

fn wrappers(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.all().filter(|exchange| exchange.operation == "SendMessage") {
        let Some(result) = exchange.result() else { continue };
        let is_wrapper = ["task", "message"].iter().any(|name| result.get(name).is_some());
        verdict.require(is_wrapper, exchange, || {
            "the result of SendMessage is no object with `task` or `message`".to_owned()
        });
    }
}

fn error_object(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, envelope) in envelopes(evidence) {
        // A null error beside a result is one member too many, which another check reports.
        let Some(error) = envelope.get("error").filter(|error| !error.is_null()) else { continue };
        verdict.require(error.get("code").is_some_and(Value::is_i64), exchange, || {
            "`error.code` is no integer".to_owned()
        });
        verdict.require(error.get("message").is_some_and(Value::is_string), exchange, || {
            "`error.message` is no string".to_owned()
        });
    }
}

fn version(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, envelope) in envelopes(evidence) {
        let is_2_0 = envelope.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        verdict.require(is_2_0, exchange, || "a response lacks `\"jsonrpc\": \"2.0\"`");
    }
}

fn id(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, envelope) in envelopes(evidence) {
        let Some(id) = &exchange.id else { continue };
        verdict.require(envelope.get("id") == Some(id), exchange, || {
            let found = envelope.get("id").map_or_else(|| "no id".to_owned(), Value::to_string);
            format!("a response has {found} instead of the id of the request, {id}")
        });
    }
}

fn one_member(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, envelope) in envelopes(evidence) {
        let (result, error) = (envelope.get("result").is_some(), envelope.get("error").is_some());
        verdict.require(result != error, exchange, || match result {
            true => "a response has both `result` and `error`",
            false => "a response has neither `result` nor `error`",
        });
    }
}

fn methods(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.of_steps(&[Step::Send, Step::GetTask, Step::List]) {
        let is_unknown = exchange.error().is_some_and(|error| error.code == -32601);
        verdict.require(!is_unknown, exchange, || {
            format!("the method {} is unknown", exchange.operation)
        });
    }
}
