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
    let names = || {
        let names: Vec<_> = kinds.iter().map(|kind| described(*kind, exchange.binding)).collect();
        names.join(" or ")
    };
    match (exchange.error(), &exchange.answer) {
        (Some(error), _) => {
            let is_expected = kinds.iter().any(|kind| is(error, exchange.binding, *kind));
            verdict.require(is_expected, exchange, || {
                format!(
                    "{} answered {} instead of {}",
                    exchange.operation,
                    error.summary(),
                    names()
                )
            });
        }
        (None, Answer::Unusable(why)) => {
            verdict.not_measured(format!("{} had no usable answer: {why}", exchange.operation));
        }
        (None, _) => verdict.found(
            exchange,
            format!(
                "{} answered {} instead of {}",
                exchange.operation,
                exchange.summary(),
                names()
            ),
        ),
    }
}

/// Requires the code of JSON-RPC of one of these kinds, whatever the reason in the error.
pub(crate) fn jsonrpc_code(verdict: &mut Verdict<'_>, exchange: &Exchange, kinds: &[ErrorKind]) {
    let Some(error) = exchange.error() else { return error(verdict, exchange, kinds) };
    let codes: Vec<_> = kinds.iter().map(|kind| i64::from(kind.codes().jsonrpc)).collect();
    verdict.require(codes.contains(&error.code), exchange, || {
        format!("{} answered {} instead of the code {codes:?}", exchange.operation, error.summary())
    });
}

/// Returns whether an error is of a kind, by its reason, or without one by its code.
pub(crate) fn is(error: &ErrorAnswer, binding: Transport, kind: ErrorKind) -> bool {
    let codes = kind.codes();
    if let Some(reason) = &error.reason
        && ErrorKind::from_reason(reason).is_some()
    {
        return reason == codes.reason;
    }
    let expected = match binding {
        Transport::JsonRpc => i64::from(codes.jsonrpc),
        Transport::Rest => i64::from(codes.http),
        Transport::Grpc => i64::from(codes.grpc),
    };
    error.code == expected
}

/// A kind of error in the words of a binding.
fn described(kind: ErrorKind, binding: Transport) -> String {
    let codes = kind.codes();
    match binding {
        Transport::JsonRpc => format!("{} ({})", codes.jsonrpc, codes.reason),
        Transport::Rest => format!("HTTP {} ({})", codes.http, codes.reason),
        Transport::Grpc => format!("gRPC status {} ({})", codes.grpc, codes.reason),
    }
}
