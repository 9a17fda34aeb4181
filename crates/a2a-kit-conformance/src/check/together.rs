//! All interfaces of 1.0 together.

use super::definition::Check;
use crate::{
    evidence::Evidence,
    exchange::{state, text},
    step::Step,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    Check::together("R-266", "5.1", "All bindings give the same results", same_results),
    Check::together("R-225", "4", "All bindings have the same tasks", same_tasks),
];

fn same_tasks<'a>(all: &[&'a Evidence], verdict: &mut Verdict<'a>) {
    for evidence in all {
        let Some(exchange) = verdict.take(evidence, Step::GetFromOtherInterface) else { continue };
        let asked = text(&exchange.params, "id");
        let Some(task) = exchange.task() else {
            verdict.found(
                Some(exchange),
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

fn same_results<'a>(all: &[&'a Evidence], verdict: &mut Verdict<'a>) {
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
