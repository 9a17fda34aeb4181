//! The span of a webhook delivery attempt.

use tracing::{Span, field, info_span};

use super::{TraceContext, propagation};

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
