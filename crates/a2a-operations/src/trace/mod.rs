//! Traces: the spans of what an agent does, and what joins those of several processes.
//!
//! Spans are `tracing`'s, with the names that OpenTelemetry has for them as fields. What makes
//! one trace of the spans of a caller and of the agent that it calls is a [`TraceContext`], which
//! travels as a parameter of the call. This crate reads and writes it through whatever
//! [`Propagation`] the application has [installed](install); without one it is passed on as it
//! came, and nothing is made up.

mod called;
mod context;
mod delivered;
mod executed;
mod propagation;
mod served;

pub use called::Called;
pub use context::{InvalidTraceContext, TraceContext};
pub(crate) use delivered::delivery;
pub(crate) use executed::execution;
pub use propagation::{Propagation, adopt, current, inject, install};
pub use served::Served;

/// The parameter with the trace and the span that a call was made in (W3C Trace Context §3.2).
pub const TRACEPARENT: &str = "traceparent";
/// The parameter with what tracing systems add to that (W3C Trace Context §3.3).
pub const TRACESTATE: &str = "tracestate";

/// The service as OpenTelemetry names it.
const SERVICE: &str = "lf.a2a.v1.A2AService";

/// The remote procedure call system of a binding, as OpenTelemetry names it.
fn system(binding: &str) -> &'static str {
    match binding {
        a2a_core::card::JSONRPC => "jsonrpc",
        a2a_core::card::GRPC => "grpc",
        _ => "http_json",
    }
}

fn known(id: &str) -> Option<&str> {
    (!id.is_empty()).then_some(id)
}

/// What an answer counts as: `ok`, or the reason of its error.
fn outcome<T>(result: &a2a_core::Result<T>) -> &'static str {
    match result {
        Ok(_) => crate::metrics::OK,
        Err(error) => error.kind().codes().reason,
    }
}
