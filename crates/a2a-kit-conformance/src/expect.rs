//! Expected errors.

use a2a_core::{ErrorKind, ProtocolVersion};
use a2a_kit_client::Transport;

use crate::{
    exchange::{Answer, ErrorAnswer, Exchange},
    verdict::Verdict,
};

/// Requires that the answer is an error of one of these kinds, told by its reason or by its code; on
/// HTTP+JSON of older revisions, whose statuses are not fixed, any error.
///
/// Whether all of its codes are right is for another check.
pub(crate) fn error_of(
    version: ProtocolVersion,
    verdict: &mut Verdict<'_>,
    exchange: &Exchange,
    kinds: &[ErrorKind],
) {
    if version == ProtocolVersion::V1_0 || exchange.binding == Transport::JsonRpc {
        return error(verdict, exchange, kinds);
    }
    verdict.require(!exchange.succeeded(), exchange, || {
        format!("{} answered {} instead of an error", exchange.operation, exchange.summary())
    });
}

/// Requires that the answer is an error of one of these kinds.
pub(crate) fn error(verdict: &mut Verdict<'_>, exchange: &Exchange, kinds: &[ErrorKind]) {
    let expected = || {
        let names: Vec<_> = kinds.iter().map(|kind| described(*kind, exchange.binding)).collect();
        let (operation, answer) = (exchange.operation, exchange.summary());
        format!("{operation} answered {answer} instead of {}", names.join(" or "))
    };
    match &exchange.answer {
        Answer::Unusable(why) => {
            verdict.not_measured(format!("{} had no usable answer: {why}", exchange.operation));
        }
        _ => {
            let is_expected = kinds.iter().any(|kind| exchange.is_error(*kind));
            verdict.require(is_expected, exchange, expected);
        }
    }
}

/// Requires the code of JSON-RPC of a kind, whatever the reason in the error.
pub(crate) fn jsonrpc_code(verdict: &mut Verdict<'_>, exchange: &Exchange, kind: ErrorKind) {
    let Some(found) = exchange.error() else { return error(verdict, exchange, &[kind]) };
    let code = code(kind, Transport::JsonRpc);
    verdict.require(found.code == code, exchange, || {
        format!("{} answered {} instead of the code {code}", exchange.operation, found.summary())
    });
}

/// Returns whether an error is of a kind, by its reason, or without one by its code.
pub(crate) fn is(error: &ErrorAnswer, binding: Transport, kind: ErrorKind) -> bool {
    match &error.reason {
        Some(reason) if ErrorKind::from_reason(reason).is_some() => reason == kind.codes().reason,
        _ => error.code == code(kind, binding),
    }
}

/// The code of a kind of error on a binding.
pub(crate) fn code(kind: ErrorKind, binding: Transport) -> i64 {
    let codes = kind.codes();
    match binding {
        Transport::JsonRpc => codes.jsonrpc.into(),
        Transport::Rest => codes.http.into(),
        Transport::Grpc => codes.grpc.into(),
    }
}

/// A kind of error in the words of a binding.
fn described(kind: ErrorKind, binding: Transport) -> String {
    let name = match binding {
        Transport::JsonRpc => "",
        Transport::Rest => "HTTP ",
        Transport::Grpc => "gRPC status ",
    };
    format!("{name}{} ({})", code(kind, binding), kind.codes().reason)
}

impl Exchange {
    /// Returns whether the answer is an error of a kind.
    pub(crate) fn is_error(&self, kind: ErrorKind) -> bool {
        self.error().is_some_and(|error| is(error, self.binding, kind))
    }
}
