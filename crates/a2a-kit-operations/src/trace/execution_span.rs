//! The span of a run of the executor.

use tracing::{Span, info_span};

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
        a2a.outcome = tracing::field::Empty,
        otel.status_code = tracing::field::Empty,
    );
    propagation::adopt(&span, TraceContext::of(&call.parameters).as_ref());
    span
}
