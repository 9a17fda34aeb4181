//! The length of the history.

use serde_json::Value;

use super::definition::Check;
use crate::{
    evidence::Evidence,
    exchange::{Exchange, text},
    step::Step,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] =
    &[Check::must("R-029", "3.2.4", "`historyLength` n gives the newest n messages", newest)];

fn messages(exchange: &Exchange) -> &[Value] {
    let history = exchange.task().and_then(|task| task.get("history"));
    history.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn newest<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    for (all, one) in
        [(Step::GetTask, Step::GetHistoryOne), (Step::GetResumed, Step::GetResumedHistoryOne)]
    {
        let Some(all) = verdict.take(evidence, all) else { continue };
        let Some(one) = verdict.take(evidence, one) else { continue };
        let ([.., _, newest], [given, ..]) = (messages(all), messages(one)) else {
            verdict.not_measured("no task has a history of several messages");
            continue;
        };
        let (newest, given) = (text(newest, "messageId"), text(given, "messageId"));
        verdict.require(given == newest, one, || {
            format!(
                "with `historyLength` 1, the message {given:?} was returned instead of the newest, \
                 {newest:?}"
            )
        });
    }
}
