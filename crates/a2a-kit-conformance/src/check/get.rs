//! Reading tasks and their history.

use a2a_core::ErrorKind;
use serde_json::Value;

use super::definition::{Check, must};
use crate::{
    evidence::Evidence,
    exchange::{Exchange, is_terminal, state, text},
    step::Step,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    must("R-045", "3.1.3", "GetTask returns the task that is asked for").by(is_task),
    must("R-046", "3.1.3", "GetTask of an unknown task gives TaskNotFoundError")
        .errors(&[Step::GetUnknown], &[ErrorKind::TaskNotFound]),
    must("R-063", "3.3.1", "Reading a task does not change it").by(no_effect),
    must("R-029", "3.2.4", "`historyLength` n gives the newest n messages").by(newest),
];

fn is_task(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for step in [Step::GetTask, Step::GetArtifactTask, Step::GetTaskAfterStream] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        let asked = text(&exchange.params, "id");
        match exchange.task() {
            Some(task) => {
                verdict.require(text(task, "id") == asked, exchange, || {
                    format!("GetTask of {asked:?} returned the task {:?}", text(task, "id"))
                });
                let artifacts = task.get("artifacts").and_then(Value::as_array);
                let has_artifacts = artifacts.is_some_and(|artifacts| !artifacts.is_empty());
                verdict.require(step != Step::GetArtifactTask || has_artifacts, exchange, || {
                    "the task has no artifacts, although the answer to its message had".to_owned()
                });
            }
            None => verdict.wrong_answer(exchange, "GetTask of a task that exists"),
        }
    }
    // The state at the end of a stream is the state of the task.
    let (Ok(stream), Ok(task)) =
        (evidence.get(Step::Stream), evidence.get(Step::GetTaskAfterStream))
    else {
        return;
    };
    let last = stream.events().iter().rev().find_map(|event| event.value.get("statusUpdate"));
    if let (Some(update), Some(task_of_get)) = (last, task.task())
        && is_terminal(state(update))
    {
        verdict.require(state(update) == state(task_of_get), task, || {
            format!("the stream ended in {} and GetTask says {}", state(update), state(task_of_get))
        });
    }
}

fn no_effect(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let (Some(first), Some(again)) =
        (verdict.take(evidence, Step::GetTask), verdict.take(evidence, Step::GetTaskAgain))
    else {
        return;
    };
    if let (Some(before), Some(after)) = (first.result(), again.result()) {
        verdict.require(before == after, again, || "two reads of a task that has ended differ");
    }
}

fn messages(exchange: &Exchange) -> &[Value] {
    let history = exchange.task().and_then(|task| task.get("history"));
    history.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn newest(evidence: &Evidence, verdict: &mut Verdict<'_>) {
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
