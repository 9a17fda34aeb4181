//! Older revisions: a sound core of each.

use a2a_core::{ErrorKind, ProtocolVersion};
use a2a_kit_client::Transport;
use serde_json::Value;

use super::{
    definition::{Check, Feature::Streaming, must},
    errors,
};
use crate::{
    evidence::Evidence,
    exchange::{EventStream, Exchange, StreamEnd, is_settled, state, text},
    step::Step,
    verdict::Verdict,
};

const OLDER: &[ProtocolVersion] = &[
    ProtocolVersion::V0_1,
    ProtocolVersion::V0_2,
    ProtocolVersion::V0_3,
    ProtocolVersion::V1Draft,
];
const KINDS: &[ProtocolVersion] = &[ProtocolVersion::V0_2, ProtocolVersion::V0_3];
const DRAFT: &[ProtocolVersion] = &[ProtocolVersion::V1Draft];
const V0_3: &[ProtocolVersion] = &[ProtocolVersion::V0_3];
const JSONRPC: &[Transport] = &[Transport::JsonRpc];
const REST: &[Transport] = &[Transport::Rest];

pub(super) const CHECKS: &[Check] = &[
    must("R-462", "0.3 §11.1.2", "Send, get and cancel work").by(core).in_versions(OLDER),
    must("R-046", "0.3 §7.3", "The get of an unknown task gives TaskNotFoundError")
        .errors(&[Step::GetUnknown], &[ErrorKind::TaskNotFound])
        .in_versions(OLDER),
    must("R-059", "0.3 §7.4", "The cancel of a task that has ended gives TaskNotCancelableError")
        .errors(&[Step::CancelTerminal], &[ErrorKind::TaskNotCancelable])
        .in_versions(OLDER),
    must("R-060", "0.3 §7.4", "The cancel of an unknown task gives TaskNotFoundError")
        .errors(&[Step::CancelUnknown], &[ErrorKind::TaskNotFound])
        .in_versions(OLDER),
    must("R-039", "0.3 §7.2", "A stream ends with `final` when its task ends")
        .by(ends_with_final)
        .with(Streaming)
        .in_versions(OLDER),
    must("R-229", "0.3 §6.3", "States have the names of the revision")
        .by(states)
        .on(&[Transport::JsonRpc, Transport::Rest])
        .in_versions(OLDER),
    must("R-244", "0.3 §6.5", "Objects and parts have their `kind`")
        .by(kinds)
        .on(JSONRPC)
        .in_versions(KINDS),
    must("R-175", "0.3 §8", "JSON-RPC faults have the standard codes")
        .by(errors::standard_codes)
        .on(JSONRPC)
        .in_versions(OLDER),
    must("R-302", "0.3 §3.2.3", "Statuses fit the errors").by(statuses).on(REST).in_versions(V0_3),
    must("R-303", "0.3 §3.2.3", "Answers have the content type application/json")
        .by(json_type)
        .on(REST)
        .in_versions(V0_3),
    must("R-291", "draft §11.1", "Answers have the content type application/json")
        .by(json_type)
        .on(REST)
        .in_versions(DRAFT),
    must("R-176", "draft §11.6", "Errors are application/problem+json")
        .by(problem)
        .on(REST)
        .in_versions(DRAFT),
    must("R-172", "0.3 §8.2", "A2A errors have the codes of the table")
        .by(errors::codes)
        .on(JSONRPC)
        .in_versions(OLDER),
];

fn core(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    if let Some(sent) = verdict.take(evidence, Step::Send) {
        let is_message = sent.result().is_some_and(|result| {
            text(result, "kind") == "message" || result.get("message").is_some()
        });
        verdict.require(sent.task().is_some() || is_message, sent, || {
            format!("the send answered {} instead of a task or a message", sent.summary())
        });
        if let Some(task) = sent.task() {
            verdict.require(!text(task, "id").is_empty(), sent, || "the task has no `id`");
        }
    }
    if let Some(exchange) = verdict.take(evidence, Step::GetTask) {
        let asked = text(&exchange.params, "id");
        let is_same = exchange.task().is_some_and(|task| text(task, "id") == asked);
        verdict.require(is_same, exchange, || {
            format!("the get of the task {asked:?} answered {}", exchange.summary())
        });
    }
    for exchange in evidence.of_steps(&[Step::GetUnknown, Step::CancelUnknown]) {
        let is_missing = exchange.binding == Transport::JsonRpc
            && exchange.error().is_some_and(|error| error.code == -32601);
        verdict.require(!is_missing, exchange, || {
            format!("the method {} is unknown", exchange.operation)
        });
    }
}

/// The status update of an event: bare, or wrapped.
fn update(event: &Value) -> Option<&Value> {
    let wrapped = event.get("statusUpdate").or_else(|| event.get("status_update"));
    wrapped.or_else(|| {
        (event.get("status").is_some() && text(event, "kind") != "task").then_some(event)
    })
}

fn stream(evidence: &Evidence) -> Option<(&Exchange, &EventStream)> {
    let exchange = evidence.get(Step::Stream).ok()?;
    Some((exchange, exchange.stream().filter(|stream| !stream.events.is_empty())?))
}

fn ends_with_final(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::Stream) else { return };
    let Some((_, stream)) = stream(evidence) else {
        return verdict
            .found(exchange, format!("the stream has no events: {}", exchange.summary()));
    };
    verdict.measured();
    for fault in &stream.framing {
        verdict.found(exchange, fault.clone());
    }
    let updates: Vec<_> = stream.events.iter().filter_map(|event| update(&event.value)).collect();
    let Some(last) = updates.last() else {
        return verdict.not_measured("the stream has no status update");
    };
    let is_final =
        |update: &Value| update.get("final").and_then(Value::as_bool).unwrap_or_default();
    let settled = is_settled(state(last));
    verdict.require(!settled || is_final(last), exchange, || {
        format!("the last status update, in {}, lacks `\"final\": true`", state(last))
    });
    verdict.require(!updates.iter().rev().skip(1).any(|update| is_final(update)), exchange, || {
        "a status update before the last has `\"final\": true`".to_owned()
    });
    verdict.require(!settled || stream.end != StreamEnd::Open, exchange, || {
        format!("the stream stays open although its task is in {}", state(last))
    });
}

fn states(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    const KEBAB: &str = "submitted working completed failed canceled input-required rejected \
        auth-required unknown";
    let is_kebab = |state: &str| KEBAB.split(' ').any(|known| known == state);
    let is_proto = evidence.binding == Transport::Rest && evidence.version == ProtocolVersion::V0_3;
    let is_draft = evidence.version == ProtocolVersion::V1Draft;
    let tasks = evidence.all().filter_map(|exchange| Some((exchange, exchange.task()?)));
    let events = stream(evidence).into_iter().flat_map(|(exchange, stream)| {
        stream.events.iter().filter_map(move |event| Some((exchange, update(&event.value)?)))
    });
    for (exchange, value) in tasks.chain(events) {
        let state = state(value);
        let is_known = match (is_proto, state) {
            (true, state) => state.starts_with("TASK_STATE_") || is_kebab(state),
            (false, "cancelled") => is_draft,
            (false, state) => is_kebab(state),
        };
        verdict.require(is_known, exchange, || {
            format!("`state` is {state:?}, which is no state of the revision")
        });
    }
}

fn kinds(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    if let Some((exchange, result)) = verdict.result(evidence, Step::Send) {
        let kind = text(result, "kind");
        verdict.require(matches!(kind, "task" | "message"), exchange, || {
            format!("the result has the `kind` {kind:?} instead of \"task\" or \"message\"")
        });
    }
    let Some((exchange, stream)) = stream(evidence) else { return };
    for event in &stream.events {
        let kind = text(&event.value, "kind");
        let is_known = matches!(kind, "task" | "message" | "status-update" | "artifact-update");
        verdict.require(is_known, exchange, || format!("an event has the `kind` {kind:?}"));
        let parts = event.value.pointer("/artifact/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            let kind = text(part, "kind");
            verdict.require(matches!(kind, "text" | "file" | "data"), exchange, || {
                format!("a part has the `kind` {kind:?}")
            });
        }
    }
}

fn statuses(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for step in [Step::GetUnknown, Step::CancelUnknown, Step::CancelTerminal] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        let status = exchange.response.status;
        verdict.require((400..600).contains(&status), exchange, || {
            format!("an error has HTTP status {status}")
        });
    }
}

fn json_type(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.all() {
        let has_answer = exchange.result().is_some() || exchange.stream().is_some();
        if exchange.is_streamed() || !has_answer {
            continue;
        }
        verdict.media_type(exchange, "an answer", "application/json");
    }
}

fn problem(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for step in [Step::GetUnknown, Step::CancelTerminal] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        verdict.media_type(exchange, "an error", "application/problem+json");
    }
}
