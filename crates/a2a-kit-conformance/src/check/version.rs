//! Negotiation of versions.

use a2a_core::ErrorKind;

use super::definition::Check;
use crate::{evidence::Evidence, expect, step::Step, verdict::Verdict};

pub(super) const CHECKS: &[Check] = &[
    Check::must("R-142", "3.6.2", "Other versions get VersionNotSupportedError", unknown),
    Check::must("R-143", "3.6.2", "A missing version is read as 0.3", missing),
    Check::must("R-146", "3.6", "Patch numbers don't influence negotiation", patch),
];

fn unknown<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if let Some(exchange) = verdict.take(evidence, Step::VersionUnknown) {
        expect::error(verdict, exchange, ErrorKind::VersionNotSupported);
    }
}

fn missing<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
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

fn patch<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    let Some(exchange) = verdict.take(evidence, Step::VersionPatch) else { return };
    let is_refused = exchange
        .error()
        .is_some_and(|error| expect::is(error, exchange.binding, ErrorKind::VersionNotSupported));
    verdict.require(!is_refused, exchange, || {
        "`A2A-Version: 1.0.7` was refused: only major and minor count".to_owned()
    });
}
