//! The codes of errors in older revisions.

use a2a_core::{ErrorKind, ProtocolVersion};
use a2a_kit_client::Transport;

use super::definition::Check;
use crate::{evidence::Evidence, expect, step::Step, verdict::Verdict};

pub(super) const CHECKS: &[Check] =
    &[Check::must("R-172", "0.3 §8.2", "A2A errors have the codes of the table", codes)
        .on(&[Transport::JsonRpc])
        .in_versions(&[
            ProtocolVersion::V0_1,
            ProtocolVersion::V0_2,
            ProtocolVersion::V0_3,
            ProtocolVersion::V1Draft,
        ])];

fn codes<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    for (step, kind) in [
        (Step::GetUnknown, ErrorKind::TaskNotFound),
        (Step::CancelUnknown, ErrorKind::TaskNotFound),
        (Step::CancelTerminal, ErrorKind::TaskNotCancelable),
    ] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        // An error of another kind is for the check of the operation.
        let Some(error) =
            exchange.error().filter(|error| expect::is(error, exchange.binding, kind))
        else {
            continue;
        };
        let codes = kind.codes();
        verdict.require(error.code == i64::from(codes.jsonrpc), exchange, || {
            format!("{} has the code {} instead of {}", codes.reason, error.code, codes.jsonrpc)
        });
    }
}
