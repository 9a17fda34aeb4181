//! Older revisions: a sound core of each.

use a2a_core::{ErrorKind, ProtocolVersion};
use a2a_kit_client::Transport;
use serde_json::Value;

use super::definition::Check;
use crate::{
    evidence::Evidence,
    exchange::{EventStream, Exchange, StreamEnd, is_interrupted, is_terminal, state, text},
    expect,
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
    Check::must("R-462", "0.3 §11.1.2", "Send, get and cancel work", core).in_versions(OLDER),
    Check::must(
        "R-046",
        "0.3 §7.3",
        "The get of an unknown task gives TaskNotFoundError",
        get_unknown,
    )
    .in_versions(OLDER),
    Check::must(
        "R-059",
        "0.3 §7.4",
        "The cancel of a task that has ended gives TaskNotCancelableError",
        cancel_ended,
    )
    .in_versions(OLDER),
    Check::must(
        "R-060",
        "0.3 §7.4",
        "The cancel of an unknown task gives TaskNotFoundError",
        cancel_unknown,
    )
    .in_versions(OLDER),
    Check::must(
        "R-039",
        "0.3 §7.2",
        "A stream ends with `final` when its task ends",
        ends_with_final,
    )
    .in_versions(OLDER),
    Check::must("R-229", "0.3 §6.3", "States have the names of the revision", states)
        .on(&[Transport::JsonRpc, Transport::Rest])
        .in_versions(OLDER),
    Check::must("R-244", "0.3 §6.5", "Objects and parts have their `kind`", kinds)
        .on(JSONRPC)
        .in_versions(KINDS),
    Check::must("R-175", "0.3 §8", "JSON-RPC faults have the standard codes", standard_codes)
        .on(JSONRPC)
        .in_versions(OLDER),
    Check::must("R-302", "0.3 §3.2.3", "Statuses fit the errors", statuses)
        .on(REST)
        .in_versions(V0_3),
    Check::must("R-303", "0.3 §3.2.3", "Answers have the content type application/json", json_type)
        .on(REST)
        .in_versions(V0_3),
    Check::must(
        "R-291",
        "draft §11.1",
        "Answers have the content type application/json",
        json_type,
    )
    .on(REST)
    .in_versions(DRAFT),
    Check::must("R-176", "draft §11.6", "Errors are application/problem+json", problem)
        .on(REST)
        .in_versions(DRAFT),
];

fn core<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if let Some(sent) = verdict.take(evidence, Step::Send) {
        let is_message = sent.result().is_some_and(|result| {
            text(result, "kind") == "message" || result.get("message").is_some()
        });
        verdict.require(sent.task().is_some() || is_message, sent, || {
            format!("the send answered {} instead of a task or a message", sent.summary())
        });
        if let Some(task) = sent.task() {
            verdict
                .require(!text(task, "id").is_empty(), sent, || "the task has no `id`".to_owned());
        }
    }
    if let Some(exchange) = verdict.take(evidence, Step::GetTask) {
        let asked = text(&exchange.params, "id");
        let is_same = exchange.task().is_some_and(|task| text(task, "id") == asked);
        verdict.require(is_same, exchange, || {
            format!("the get of the task {asked:?} answered {}", exchange.summary())
        });
    }
    for step in [Step::GetUnknown, Step::CancelUnknown] {
        let Ok(exchange) = evidence.get(step) else { continue };
        let is_missing = exchange.binding == Transport::JsonRpc
            && exchange.error().is_some_and(|error| error.code == -32601);
        verdict.require(!is_missing, exchange, || {
            format!("the method {} is unknown", exchange.operation)
        });
    }
}

/// Requires the error of a kind; HTTP statuses of older revisions are not fixed.
fn refused<'a>(verdict: &mut Verdict<'a>, exchange: &'a Exchange, kind: ErrorKind) {
    if exchange.binding == Transport::JsonRpc {
        return expect::error(verdict, exchange, kind);
    }
    verdict.require(!exchange.succeeded(), exchange, || {
        format!("{} answered {} instead of an error", exchange.operation, exchange.summary())
    });
}

fn get_unknown<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if let Some(exchange) = verdict.take(evidence, Step::GetUnknown) {
        refused(verdict, exchange, ErrorKind::TaskNotFound);
    }
}

fn cancel_unknown<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if let Some(exchange) = verdict.take(evidence, Step::CancelUnknown) {
        refused(verdict, exchange, ErrorKind::TaskNotFound);
    }
}

fn cancel_ended<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if let Some(exchange) = verdict.take(evidence, Step::CancelTerminal) {
        refused(verdict, exchange, ErrorKind::TaskNotCancelable);
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

fn ends_with_final<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if !evidence.facts.streaming {
        return verdict.skip("the card does not declare streaming");
    }
    let Some(exchange) = verdict.take(evidence, Step::Stream) else { return };
    let Some((_, stream)) = stream(evidence) else {
        return verdict
            .found(Some(exchange), format!("the stream has no events: {}", exchange.summary()));
    };
    verdict.measured();
    for fault in &stream.framing {
        verdict.found(Some(exchange), fault.clone());
    }
    let updates: Vec<_> = stream.events.iter().filter_map(|event| update(&event.value)).collect();
    let Some(last) = updates.last() else {
        return verdict.not_measured("the stream has no status update");
    };
    let is_final =
        |update: &Value| update.get("final").and_then(Value::as_bool).unwrap_or_default();
    let settled = is_terminal(state(last)) || is_interrupted(state(last));
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

fn states<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    const KEBAB: [&str; 9] = [
        "submitted",
        "working",
        "completed",
        "failed",
        "canceled",
        "input-required",
        "rejected",
        "auth-required",
        "unknown",
    ];
    let is_proto = evidence.binding == Transport::Rest && evidence.version == ProtocolVersion::V0_3;
    let is_draft = evidence.version == ProtocolVersion::V1Draft;
    let tasks = evidence.all().filter_map(|exchange| Some((exchange, exchange.task()?)));
    let events = stream(evidence).into_iter().flat_map(|(exchange, stream)| {
        stream.events.iter().filter_map(move |event| Some((exchange, update(&event.value)?)))
    });
    for (exchange, value) in tasks.chain(events) {
        let state = state(value);
        let is_known = match (is_proto, state) {
            (true, state) => state.starts_with("TASK_STATE_") || KEBAB.contains(&state),
            (false, "cancelled") => is_draft,
            (false, state) => KEBAB.contains(&state),
        };
        verdict.require(is_known, exchange, || {
            format!("`state` is {state:?}, which is no state of the revision")
        });
    }
}

fn kinds<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
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

fn standard_codes<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    for (step, kind) in [
        (Step::UnknownMethod, ErrorKind::MethodNotFound),
        (Step::NotJson, ErrorKind::ParseError),
        (Step::SendNothing, ErrorKind::InvalidParams),
    ] {
        if let Some(exchange) = verdict.take(evidence, step) {
            expect::jsonrpc_code(verdict, exchange, &[kind]);
        }
    }
}

fn statuses<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    for step in [Step::GetUnknown, Step::CancelUnknown, Step::CancelTerminal] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        let status = exchange.response.status;
        verdict.require((400..600).contains(&status), exchange, || {
            format!("an error has HTTP status {status}")
        });
    }
}

fn json_type<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    for exchange in evidence.all() {
        let has_answer = exchange.result().is_some() || exchange.stream().is_some();
        if exchange.is_streamed() || !has_answer {
            continue;
        }
        let media_type = exchange.response.media_type();
        verdict.require(media_type == "application/json", exchange, || {
            format!("an answer has the content type {media_type:?} instead of application/json")
        });
    }
}

fn problem<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    for step in [Step::GetUnknown, Step::CancelTerminal] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        let media_type = exchange.response.media_type();
        verdict.require(media_type == "application/problem+json", exchange, || {
            format!(
                "an error has the content type {media_type:?} instead of application/problem+json"
            )
        });
    }
}
