//! The interfaces of the card.

use super::definition::Check;
use crate::{evidence::Evidence, exchange::Answer, step::Step, verdict::Verdict};

pub(super) const CHECKS: &[Check] = &[Check::must(
    "R-342",
    "8.3.1",
    "An interface has the binding and the URL of the card",
    answers,
)];

fn answers<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    let Some(exchange) = verdict.take(evidence, Step::Send) else { return };
    let is_usable = evidence.all().any(|one| !matches!(one.answer, Answer::Unusable(_)));
    verdict.require(is_usable, exchange, || {
        format!("no request to {} has a usable answer: {}", evidence.url, exchange.summary())
    });
}
