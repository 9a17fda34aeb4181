//! The interfaces of the card, and negotiation of versions.

use a2a_core::ErrorKind;

use super::definition::{Check, must};
use crate::{evidence::Evidence, exchange::Answer, step::Step, verdict::Verdict};

pub(super) const CHECKS: &[Check] = &[
    must("R-342", "8.3.1", "An interface has the binding and the URL of the card").by(answers),
    must("R-142", "3.6.2", "Other versions get VersionNotSupportedError")
        .errors(&[Step::VersionUnknown], &[ErrorKind::VersionNotSupported]),
    must("R-143", "3.6.2", "A missing version is read as 0.3").by(missing),
    must("R-146", "3.6", "Patch numbers don't influence negotiation").by(patch),
];

fn answers(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::Send) else { return };
    let is_usable = evidence.all().any(|one| !matches!(one.answer, Answer::Unusable(_)));
    verdict.require(is_usable, exchange, || {
        format!("no request to {} has a usable answer: {}", evidence.url, exchange.summary())
    });
}

fn missing(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::VersionMissing) else { return };
    // As 0.3, the request has an unknown method or malformed members; or 0.3 is not served.
    verdict.require(!exchange.succeeded(), exchange, || {
        format!(
            "a message of 1.0 without `A2A-Version`, which means 0.3, was answered with {} \
             as if it were 1.0",
            exchange.summary()
        )
    });
}

fn patch(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::VersionPatch) else { return };
    let is_refused = exchange.is_error(ErrorKind::VersionNotSupported);
    verdict.require(!is_refused, exchange, || {
        "`A2A-Version: 1.0.7` was refused: only major and minor count".to_owned()
    });
}
