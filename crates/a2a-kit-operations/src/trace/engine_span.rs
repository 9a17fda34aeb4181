//! The spans of an engine: of a run of the executor, and of a webhook delivery attempt.

use tracing::{Span, field, info_span};

use super::{TraceContext, propagation};
use crate::CallContext;

/// Creates the span of a run, as a child of the request that started it. That request may have
/// ended long ago, or on another node.
pub(crate) fn execution(
    task_id: &str,
    context_id: &str,
    call: &CallContext,
    is_rerun: bool,
) -> Span {
    let span = info_span!(
        parent: None,
        "execute",
        otel.kind = "internal",
        a2a.task.id = task_id,
        a2a.context.id = context_id,
        a2a.rerun = is_rerun,
        a2a.outcome = field::Empty,
        otel.status_code = field::Empty,
    );
    if !span.is_disabled() {
        propagation::adopt(&span, TraceContext::of(&call.parameters).as_ref());
    }
    span
}

/// Creates the span of an attempt, in the trace of the request that registered the webhook.
pub(crate) fn delivery(
    task_id: &str,
    config_id: &str,
    event_id: u64,
    attempt: u32,
    trace: Option<&TraceContext>,
) -> Span {
    let span = info_span!(
        parent: None,
        "deliver",
        otel.kind = "client",
        otel.name = "deliver push notification",
        otel.status_code = field::Empty,
        a2a.task.id = task_id,
        a2a.push_config.id = config_id,
        a2a.event.id = event_id,
        a2a.attempt = attempt,
        a2a.outcome = field::Empty,
    );
    propagation::adopt(&span, trace);
    span
}
