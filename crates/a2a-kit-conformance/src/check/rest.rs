//! The HTTP+JSON binding.

use a2a_kit_client::Transport;
use serde_json::Value;

use super::definition::{Check, must, should};
use crate::{
    evidence::Evidence, exchange::Exchange, step::Step, verdict::Verdict, wire::UNKNOWN_ROUTE,
};

const REST: &[Transport] = &[Transport::Rest];

pub(super) const CHECKS: &[Check] = &[
    should("R-292", "11.1", "Answers have the content type application/a2a+json")
        .by(content_type)
        .on(REST),
    must("R-293", "11.3", "Operations have their paths and verbs").by(routes).on(REST),
    must("R-300", "11.4", "Bodies are JSON with the structure of the proto").by(bodies).on(REST),
];

/// Answers that are neither the streams asked for nor without a body.
fn unary(evidence: &Evidence) -> impl Iterator<Item = &Exchange> {
    evidence.all().filter(|exchange| {
        !exchange.is_streamed()
            && exchange.response.status != 0
            && !exchange.response.body.is_empty()
            && exchange.operation != UNKNOWN_ROUTE
    })
}

fn content_type(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in unary(evidence) {
        verdict.media_type(exchange, "an answer", "application/a2a+json");
    }
}

fn routes(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.of_steps(&[
        Step::Send,
        Step::Stream,
        Step::GetTask,
        Step::List,
        Step::Cancel,
        Step::CancelTerminal,
        Step::Subscribe,
        Step::PushCreate,
        Step::PushList,
        Step::PushDelete,
    ]) {
        // Without ErrorInfo, these tell that the route does not exist.
        let is_missing = matches!(exchange.response.status, 404 | 405 | 501)
            && exchange.error().is_none_or(|error| error.reason.is_none());
        verdict.require(!is_missing, exchange, || {
            let route = exchange.request.line.split('?').next().unwrap_or_default();
            format!("{route} does not exist: HTTP {}", exchange.response.status)
        });
    }
    for (step, what, expected) in [
        (Step::UnknownMethod, "an unknown route", 404),
        (Step::NotJson, "a body that is no JSON", 400),
    ] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        let status = exchange.response.status;
        verdict.require(status == expected, exchange, || {
            format!("{what} has HTTP status {status} instead of {expected}")
        });
    }
}

fn bodies(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in unary(evidence) {
        let media_type = exchange.response.media_type();
        verdict.require(media_type.ends_with("json"), exchange, || {
            format!("a body has the content type {media_type:?}, which is no JSON")
        });
        let is_json = serde_json::from_slice::<Value>(&exchange.response.body).is_ok();
        verdict.require(is_json, exchange, || "a body is no JSON");
        let has_envelope = exchange.result().is_some_and(|result| result.get("jsonrpc").is_some());
        verdict.require(!has_envelope, exchange, || {
            "a body is a JSON-RPC response, which HTTP+JSON does not have".to_owned()
        });
    }
    for exchange in evidence.of_step(Step::Stream) {
        if exchange.response.body.starts_with(b"data:") {
            verdict.media_type(exchange, "an event stream", "text/event-stream");
        }
    }
}
