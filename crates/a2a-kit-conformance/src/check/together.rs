//! All interfaces of 1.0 together.

use super::definition::{Check, must};
use crate::{
    evidence::Evidence,
    exchange::{state, text},
    step::Step,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    must("R-266", "5.1", "All bindings give the same results").by_all(same_results),
    must("R-225", "4", "All bindings have the same tasks").by_all(same_tasks),
];

fn same_tasks(all: &[&Evidence], verdict: &mut Verdict<'_>) {
    for evidence in all {
        let Some(exchange) = verdict.take(evidence, Step::GetFromOtherInterface) else { continue };
        let asked = text(&exchange.params, "id");
        let Some(task) = exchange.task() else {
            verdict.found(
                exchange,
                format!(
                    "a task of another binding answered {} on {}",
                    exchange.summary(),
                    evidence.binding
                ),
            );
            continue;
        };
        verdict.require(text(task, "id") == asked, exchange, || {
            format!("the task {asked:?} of another binding is {:?} here", text(task, "id"))
        });
    }
    if all.len() < 2 {
        verdict.skip("the card has one interface of 1.0");
    }
}

fn same_results(all: &[&Evidence], verdict: &mut Verdict<'_>) {
    let [first, rest @ ..] = all else { return };
    if rest.is_empty() {
        return verdict.skip("the card has one interface of 1.0");
    }
    for evidence in rest {
        for step in [Step::Send, Step::SendArtifact, Step::SendFailing, Step::SendAsking] {
            let (Ok(one), Ok(other)) = (first.get(step), evidence.get(step)) else { continue };
            if let (Some(one), Some(task)) = (one.task(), other.task()) {
                verdict.require(state(one) == state(task), other, || {
                    format!(
                        "the same text gives a task in {} on {} and in {} on {}",
                        state(one),
                        first.binding,
                        state(task),
                        evidence.binding
                    )
                });
            }
        }
    }
}
