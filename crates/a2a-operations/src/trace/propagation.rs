//! Where trace contexts come from and go to: the tracing system of the application.

use std::{collections::BTreeMap, sync::OnceLock};

use tracing::Span;

use super::TraceContext;

static PROPAGATION: OnceLock<Box<dyn Propagation>> = OnceLock::new();

/// What a tracing system does for us. `a2a-telemetry` has the one of OpenTelemetry.
pub trait Propagation: Send + Sync + 'static {
    /// Makes a span that was just created the child of one in another process, or of one that is
    /// over.
    fn adopt(&self, span: &Span, parent: &TraceContext);

    /// Returns the context of a span for those that it calls; `None` if it is in no trace.
    fn context_of(&self, span: &Span) -> Option<TraceContext>;
}

/// Says for the whole process how traces go on in other processes. Returns whether this was the
/// first one, which counts.
pub fn install(propagation: impl Propagation) -> bool {
    PROPAGATION.set(Box::new(propagation)).is_ok()
}

/// Returns the context of the current span, for a call that is made by other means than ours.
pub fn current() -> Option<TraceContext> {
    context_of(&Span::current())
}

/// Writes the context of the current span into the parameters of a call. Without one they stay
/// as they are.
pub fn inject(parameters: &mut BTreeMap<String, String>) {
    if let Some(context) = current() {
        context.write(parameters);
    }
}

pub(super) fn context_of(span: &Span) -> Option<TraceContext> {
    let propagation = PROPAGATION.get()?;
    if span.is_disabled() { None } else { propagation.context_of(span) }
}

/// Makes a span that was just created the child of one elsewhere, for work that was asked for by
/// other means than ours. Without a [`Propagation`] nothing changes.
pub fn adopt(span: &Span, parent: Option<&TraceContext>) {
    if let (Some(propagation), Some(parent)) = (PROPAGATION.get(), parent)
        && !span.is_disabled()
    {
        propagation.adopt(span, parent);
    }
}

/// Makes a span a child of what the parameters name, and has them name the span.
pub(super) fn pass_through(span: &Span, parameters: &mut BTreeMap<String, String>) {
    if PROPAGATION.get().is_none() || span.is_disabled() {
        return;
    }
    adopt(span, TraceContext::of(parameters).as_ref());
    if let Some(context) = context_of(span) {
        context.write(parameters);
    }
}
