//! Trace context propagation by OpenTelemetry.

use a2a_kit_operations::trace::{self, Propagation, TraceContext};
use opentelemetry::{
    Context, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, TraceContextExt as _, TraceState},
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Makes the agents and clients of this process extract and inject trace contexts through the
/// OpenTelemetry layer of their subscriber. Call it once; without such a layer it has no effect.
pub fn install() {
    // Further calls install the same.
    let _is_first = trace::install(OpenTelemetry);
}

struct OpenTelemetry;

impl Propagation for OpenTelemetry {
    fn adopt(&self, span: &Span, parent: &TraceContext) {
        let parent = Context::new().with_remote_span_context(remote(parent));
        // Fails if there is no layer, or it ignores the span.
        let _not_traced = span.set_parent(parent);
    }

    fn context_of(&self, span: &Span) -> Option<TraceContext> {
        let context = span.context();
        let span = context.span();
        let context = span.span_context();
        let trace_id = u128::from_be_bytes(context.trace_id().to_bytes());
        let span_id = u64::from_be_bytes(context.span_id().to_bytes());
        let found = TraceContext::new(trace_id, span_id, context.trace_flags().to_u8())?;
        Some(found.with_state(&context.trace_state().header()))
    }
}

fn remote(context: &TraceContext) -> SpanContext {
    SpanContext::new(
        TraceId::from_bytes(context.trace_id().to_be_bytes()),
        SpanId::from_bytes(context.span_id().to_be_bytes()),
        TraceFlags::new(context.flags()),
        true,
        // A malformed tracestate is dropped; the trace continues.
        context.state().parse::<TraceState>().unwrap_or_default(),
    )
}
