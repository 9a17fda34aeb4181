//! Reading tasks.

use a2a_core::ErrorKind;
use serde_json::Value;

use super::definition::Check;
use crate::{
    evidence::Evidence,
    exchange::{state, text},
    expect,
    step::Step,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    Check::must("R-045", "3.1.3", "GetTask returns the task that is asked for", is_task),
    Check::must("R-046", "3.1.3", "GetTask of an unknown task gives TaskNotFoundError", unknown),
    Check::must("R-063", "3.3.1", "Reading a task does not change it", no_effect),
];

fn is_task<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
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
            None => verdict.found(
                Some(exchange),
                format!("GetTask of a task that exists answered {}", exchange.summary()),
            ),
        }
    }
    // The state at the end of a stream is the state of the task.
    let (Ok(stream), Ok(task)) =
        (evidence.get(Step::Stream), evidence.get(Step::GetTaskAfterStream))
    else {
        return;
    };
    let last = stream.stream().and_then(|stream| {
        stream.events.iter().rev().find_map(|event| event.value.get("statusUpdate"))
    });
    if let (Some(update), Some(task_of_get)) = (last, task.task())
        && crate::exchange::is_terminal(state(update))
    {
        verdict.require(state(update) == state(task_of_get), task, || {
            format!("the stream ended in {} and GetTask says {}", state(update), state(task_of_get))
        });
    }
}

fn unknown<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if let Some(exchange) = verdict.take(evidence, Step::GetUnknown) {
        expect::error(verdict, exchange, ErrorKind::TaskNotFound);
    }
}

fn no_effect<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    let (Some(first), Some(again)) =
        (verdict.take(evidence, Step::GetTask), verdict.take(evidence, Step::GetTaskAgain))
    else {
        return;
    };
    if let (Some(before), Some(after)) = (first.result(), again.result()) {
        verdict.require(before == after, again, || {
            "two reads of a task that has ended differ".to_owned()
        });
    }
}
