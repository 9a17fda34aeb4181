//! Tracing: spans of operations, and their propagation between processes.
//!
//! Spans are `tracing` spans, with fields named after the OpenTelemetry conventions. A
//! [`TraceContext`] in the parameters of a call connects the spans of caller and agent. It is read
//! and written through the [`Propagation`] that the application has [installed](install); without
//! one it is forwarded unchanged, and none is created.

mod client_span;
mod context;
#[cfg(feature = "engine")]
mod engine_span;
mod operation_log;
mod propagation;
mod server_span;

pub use context::{TRACEPARENT, TRACESTATE, TraceContext};
#[cfg(feature = "engine")]
pub(crate) use engine_span::{delivery, execution};
pub use operation_log::OPERATION;
pub use propagation::{Propagation, adopt, current, install};
/// For bindings and clients.
#[doc(hidden)]
pub use {client_span::ClientSpan, propagation::inject, server_span::ServerSpan};

/// The OpenTelemetry name of the service.
const SERVICE: &str = "lf.a2a.v1.A2AService";

/// The OpenTelemetry RPC system of a binding.
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

/// The outcome of a successful call.
pub(crate) const OK: &str = "ok";
/// The outcome of a call whose caller disconnected.
pub(crate) const DROPPED: &str = "dropped";

/// The outcome label of a result: `ok`, or the reason of its error.
fn outcome<T>(result: &a2a_core::Result<T>) -> &'static str {
    match result {
        Ok(_) => OK,
        Err(error) => error.kind().codes().reason,
    }
}
