//! Errors: their codes, details and form.

use a2a_core::ErrorKind;
use a2a_kit_client::Transport;
use serde_json::Value;

use super::definition::{Check, must, should};
use crate::{
    evidence::Evidence,
    exchange::{ErrorAnswer, Exchange},
    expect,
    step::Step,
    verdict::Verdict,
    wire::UNKNOWN_ROUTE,
};

const JSON: &[Transport] = &[Transport::JsonRpc, Transport::Rest];

pub(super) const CHECKS: &[Check] = &[
    must("R-155", "3.3.2", "Requests that can't succeed get an error").by(some_error),
    must("R-169", "3.3.2", "Errors have a code and a message").by(code_and_message),
    must("R-170", "11.6", "Details of errors have `@type`").by(typed_details).on(JSON),
    must("R-172", "5.4", "A2A errors have the codes of the table").by(codes),
    must("R-173", "11.6", "A2A errors have ErrorInfo with reason and domain")
        .by(error_info)
        .on(&[Transport::Rest, Transport::Grpc]),
    should("R-174", "9.5", "A2A errors have ErrorInfo with reason and domain")
        .by(error_info)
        .on(&[Transport::JsonRpc]),
    must("R-288", "10.6", "A2A errors have details in the status")
        .by(error_info)
        .on(&[Transport::Grpc]),
    must("R-175", "9.5", "JSON-RPC faults have the standard codes")
        .by(standard_codes)
        .on(&[Transport::JsonRpc]),
    should("R-163", "3.3.2", "Errors of parameters name the member").by(names_member),
];

/// The steps whose only right answer is an error, with its kind.
const REFUSED: [(Step, ErrorKind); 11] = [
    (Step::GetUnknown, ErrorKind::TaskNotFound),
    (Step::CancelUnknown, ErrorKind::TaskNotFound),
    (Step::SubscribeUnknown, ErrorKind::TaskNotFound),
    (Step::SendUnknownTask, ErrorKind::TaskNotFound),
    (Step::StreamUnknownTask, ErrorKind::TaskNotFound),
    (Step::SendToTerminal, ErrorKind::UnsupportedOperation),
    (Step::StreamToTerminal, ErrorKind::UnsupportedOperation),
    (Step::SubscribeTerminal, ErrorKind::UnsupportedOperation),
    (Step::CancelTerminal, ErrorKind::TaskNotCancelable),
    (Step::PushCreateUnknownTask, ErrorKind::TaskNotFound),
    (Step::VersionUnknown, ErrorKind::VersionNotSupported),
];

fn some_error(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (step, kind) in REFUSED {
        let Ok(exchange) = evidence.get(step) else { continue };
        verdict.require(!exchange.succeeded(), exchange, || {
            let (operation, answer) = (exchange.operation, exchange.summary());
            format!("{operation} answered {answer} instead of the error {}", kind.codes().reason)
        });
    }
}

/// Every error that was answered.
fn errors(evidence: &Evidence) -> impl Iterator<Item = (Step, &Exchange, &ErrorAnswer)> {
    evidence.steps().filter_map(|(step, exchange)| Some((step, exchange, exchange.error()?)))
}

fn code_and_message(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (_, exchange, error) in errors(evidence) {
        let has_message = error.message.as_deref().is_some_and(|message| !message.is_empty());
        verdict.require(has_message, exchange, || format!("error {} has no message", error.code));
        if exchange.binding != Transport::Grpc {
            let has_code = error.object.get("code").is_some_and(Value::is_i64);
            verdict.require(has_code || error.object.is_null(), exchange, || {
                format!("the error object {} has no number `code`", error.object)
            });
        }
        if exchange.binding == Transport::Rest && exchange.operation != UNKNOWN_ROUTE {
            let in_error = !error.object.is_null()
                && serde_json::from_slice::<Value>(&exchange.response.body)
                    .is_ok_and(|body| body.get("error").is_some_and(Value::is_object));
            let is_stream = exchange.response.media_type() == "text/event-stream";
            verdict.require(in_error || is_stream, exchange, || {
                "the body of an error is no object with the member `error`".to_owned()
            });
        }
    }
}

fn typed_details(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (_, exchange, error) in errors(evidence) {
        for detail in &error.details {
            verdict.require(detail.get("@type").is_some_and(Value::is_string), exchange, || {
                format!("a detail of error {} has no `@type`", error.code)
            });
        }
    }
}

/// The kind that an error has: by its reason, or as the answer to a step.
fn kind_of(step: Step, exchange: &Exchange, error: &ErrorAnswer) -> Option<ErrorKind> {
    let by_reason = error.reason.as_deref().and_then(ErrorKind::from_reason);
    let by_step = REFUSED.iter().find(|(refused, _)| *refused == step).map(|(_, kind)| *kind);
    by_reason.or(by_step.filter(|kind| expect::is(error, exchange.binding, *kind)))
}

/// Returns whether a kind is one of the nine of the protocol.
fn is_a2a(kind: ErrorKind) -> bool {
    (-32009..=-32001).contains(&kind.codes().jsonrpc) && kind != ErrorKind::UnsupportedMediaType
}

pub(super) fn codes(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (step, exchange, error) in errors(evidence) {
        let Some(kind) = kind_of(step, exchange, error).filter(|kind| is_a2a(*kind)) else {
            continue;
        };
        let codes = kind.codes();
        let expected = expect::code(kind, exchange.binding);
        let (what, given) = match exchange.binding {
            Transport::JsonRpc => ("the code", error.code),
            Transport::Rest => ("HTTP status", exchange.response.status.into()),
            Transport::Grpc => ("the gRPC status", error.code),
        };
        verdict.require(given == expected, exchange, || {
            format!("{} has {what} {given} instead of {expected}", codes.reason)
        });
        if exchange.binding == Transport::Rest {
            let code = error.object.get("code").and_then(Value::as_i64);
            verdict.require(code == Some(expected), exchange, || {
                format!("{} has `code` {code:?} instead of {expected}", codes.reason)
            });
            let name = error.object.get("status").and_then(Value::as_str);
            verdict.require(name == Some(codes.status), exchange, || {
                format!("{} has `status` {name:?} instead of {:?}", codes.reason, codes.status)
            });
        }
    }
    // An error in spite of the status of success.
    for exchange in evidence.all().filter(|exchange| exchange.binding == Transport::Rest) {
        if exchange.error().is_some()
            && (200..300).contains(&exchange.response.status)
            && exchange.response.media_type() != "text/event-stream"
        {
            verdict
                .found(exchange, format!("an error has HTTP status {}", exchange.response.status));
        }
    }
}

fn error_info(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (step, exchange, error) in errors(evidence) {
        let Some((_, kind)) = REFUSED.iter().find(|(refused, _)| *refused == step) else {
            continue;
        };
        verdict.require(error.reason.is_some(), exchange, || {
            format!("error {} ({}) has no ErrorInfo", error.code, kind.codes().reason)
        });
        if error.reason.is_some() {
            let domain = error.domain.as_deref().unwrap_or_default();
            verdict.require(domain == "a2a-protocol.org", exchange, || {
                format!("ErrorInfo has the domain {domain:?} instead of \"a2a-protocol.org\"")
            });
        }
    }
}

pub(super) fn standard_codes(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (step, kind) in [
        (Step::NotJson, ErrorKind::ParseError),
        (Step::NotARequest, ErrorKind::InvalidRequest),
        (Step::WrongJsonRpcVersion, ErrorKind::InvalidRequest),
        (Step::UnknownMethod, ErrorKind::MethodNotFound),
        (Step::SendNothing, ErrorKind::InvalidParams),
    ] {
        if let Some(exchange) = verdict.take(evidence, step) {
            expect::jsonrpc_code(verdict, exchange, kind);
        }
    }
}

fn names_member(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for step in [Step::SendWithoutParts, Step::SendNothing] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        let Some(error) = exchange.error() else { continue };
        let violations = |detail: &Value| detail.pointer("/fieldViolations/0").is_some();
        let has_violations = error.details.iter().any(violations);
        verdict.require(has_violations, exchange, || {
            "the error has no google.rpc.BadRequest that names the member".to_owned()
        });
    }
}
