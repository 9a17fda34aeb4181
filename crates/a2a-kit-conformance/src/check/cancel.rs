//! Canceling tasks.

use a2a_core::ErrorKind;

use super::definition::{Check, must};
use crate::{
    evidence::Evidence,
    exchange::{state, text},
    expect,
    step::Step,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    must("R-058", "3.1.5", "CancelTask returns the canceled task").by(canceled),
    must("R-059", "3.1.5", "Tasks that have ended get TaskNotCancelableError")
        .errors(&[Step::CancelTerminal], &[ErrorKind::TaskNotCancelable]),
    must("R-060", "3.1.5", "CancelTask of an unknown task gives TaskNotFoundError")
        .errors(&[Step::CancelUnknown], &[ErrorKind::TaskNotFound]),
    must("R-061", "3.3.1", "CancelTask is idempotent").by(idempotent),
];

const CANCELED: &str = "TASK_STATE_CANCELED";

fn canceled(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::Cancel) else { return };
    match exchange.task() {
        Some(task) => {
            let asked = text(&exchange.params, "id");
            verdict.require(text(task, "id") == asked, exchange, || {
                format!("CancelTask of {asked:?} returned the task {:?}", text(task, "id"))
            });
            // The agent may be still stopping; a task that has ended otherwise was not canceled.
            let state = state(task);
            let is_stopping = matches!(state, "TASK_STATE_WORKING" | "TASK_STATE_SUBMITTED");
            verdict.require(state == CANCELED || is_stopping, exchange, || {
                format!("CancelTask answered a task in {state} instead of {CANCELED}")
            });
        }
        None if exchange.is_error(ErrorKind::TaskNotCancelable) => {
            verdict.not_measured("the agent can't cancel the task, or it ended before");
        }
        None => verdict.wrong_answer(exchange, "CancelTask of a task that works"),
    }
}

fn idempotent(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(first) = verdict.take(evidence, Step::Cancel) else { return };
    let Some(again) = verdict.take(evidence, Step::CancelAgain) else { return };
    if first.task().is_none_or(|task| state(task) != CANCELED) {
        return verdict.not_measured("the task was not canceled");
    }
    match again.task() {
        Some(task) => verdict.require(state(task) == CANCELED, again, || {
            format!("the second CancelTask answered a task in {}", state(task))
        }),
        None => {
            expect::error(verdict, again, &[ErrorKind::TaskNotCancelable, ErrorKind::TaskNotFound]);
        }
    }
    if let Some(after) = verdict.take(evidence, Step::GetAfterCancel)
        && let Some(task) = after.task()
    {
        verdict.require(state(task) == CANCELED, after, || {
            format!("the canceled task is in {} afterwards", state(task))
        });
    }
}
