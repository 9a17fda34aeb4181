//! Subscriptions to tasks.

use a2a_core::ErrorKind;
use serde_json::Value;

use super::definition::{Check, Feature::Streaming, must};
use crate::{
    evidence::Evidence,
    exchange::{StreamEnd, is_terminal, state},
    step::Step,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    must("R-064", "3.1.6", "A subscription starts with the current task")
        .by(task_first)
        .with(Streaming),
    must("R-065", "3.1.6", "A subscription ends when its task ends").by(ends).with(Streaming),
    must("R-066", "3.1.6", "A subscription to a task that has ended is refused")
        .errors(&[Step::SubscribeTerminal], &[ErrorKind::UnsupportedOperation])
        .with(Streaming),
    must("R-067", "3.1.6", "Without streaming, subscriptions are refused")
        .errors(&[Step::SubscribeTerminal], &[ErrorKind::UnsupportedOperation])
        .without(Streaming),
    must("R-068", "3.1.6", "A subscription to an unknown task gives TaskNotFoundError")
        .errors(&[Step::SubscribeUnknown], &[ErrorKind::TaskNotFound])
        .with(Streaming),
    must("R-069", "3.1.6", "A subscription loses no event").by(nothing_lost).with(Streaming),
];

fn task_first(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::Subscribe) else { return };
    let Some(first) = exchange.events().first() else {
        let is_refused = exchange.is_error(ErrorKind::UnsupportedOperation);
        let after = evidence.get(Step::GetAfterCancel).ok().and_then(|after| after.task());
        let was_over = after
            .is_some_and(|task| is_terminal(state(task)) && state(task) != "TASK_STATE_CANCELED");
        if is_refused && was_over {
            return verdict.not_measured("the task ended before it was subscribed to");
        }
        return verdict.wrong_answer(exchange, "the subscription to a task that works");
    };
    verdict.require(first.value.get("task").is_some_and(Value::is_object), exchange, || {
        "the first event of the subscription is no `task`".to_owned()
    });
}

/// Whether the task was seen to end: it was canceled while subscribed.
fn has_ended(evidence: &Evidence) -> bool {
    let after = evidence.get(Step::GetAfterCancel).ok().and_then(|after| after.task());
    after.is_some_and(|task| is_terminal(state(task)))
}

fn ends(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::Subscribe) else { return };
    let Some(stream) = exchange.stream().filter(|stream| !stream.events.is_empty()) else {
        return verdict.not_measured("the subscription has no events");
    };
    if !has_ended(evidence) {
        return verdict.not_measured("the task did not end while it was subscribed to");
    }
    verdict.require(stream.end != StreamEnd::Open, exchange, || {
        "the subscription stays open although its task has ended".to_owned()
    });
    if let StreamEnd::Failed(why) = &stream.end {
        verdict.found(exchange, format!("the subscription broke instead of ending: {why}"));
    }
}

fn nothing_lost(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::Subscribe) else { return };
    if exchange.events().is_empty() || !has_ended(evidence) {
        return verdict.not_measured("the task did not end while it was subscribed to");
    }
    let last = exchange.last_state().unwrap_or("no state");
    verdict.require(is_terminal(last), exchange, || {
        format!("the task ended while it was subscribed to, but the last event is in {last}")
    });
}
