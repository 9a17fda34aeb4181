//! Trace propagation through the tracing system of the application.

use std::{collections::BTreeMap, sync::OnceLock};

use tracing::Span;

use super::TraceContext;

static PROPAGATION: OnceLock<Box<dyn Propagation>> = OnceLock::new();

/// An adapter to a tracing system. `a2a-kit-telemetry` provides one for OpenTelemetry.
pub trait Propagation: Send + Sync + 'static {
    /// Makes a new span the child of a remote or closed span.
    fn adopt(&self, span: &Span, parent: &TraceContext);

    /// Returns the context of a span, for outgoing calls; `None` if it is in no trace.
    fn context_of(&self, span: &Span) -> Option<TraceContext>;
}

/// Installs the propagation for the whole process. Returns whether it was the first, which is the
/// one that is used.
pub fn install(propagation: impl Propagation) -> bool {
    PROPAGATION.set(Box::new(propagation)).is_ok()
}

/// Returns the context of the current span, for calls outside this library.
pub fn current() -> Option<TraceContext> {
    context_of(&Span::current())
}

/// Writes the context of the current span into the parameters of a call, if there is one.
pub fn inject(parameters: &mut BTreeMap<String, String>) {
    if let Some(context) = current() {
        context.write(parameters);
    }
}

pub(super) fn context_of(span: &Span) -> Option<TraceContext> {
    let propagation = PROPAGATION.get()?;
    if span.is_disabled() { None } else { propagation.context_of(span) }
}

/// Makes a new span the child of a remote one, for work requested outside this library. Without a
/// [`Propagation`] nothing changes.
pub fn adopt(span: &Span, parent: Option<&TraceContext>) {
    if let (Some(propagation), Some(parent)) = (PROPAGATION.get(), parent)
        && !span.is_disabled()
    {
        propagation.adopt(span, parent);
    }
}

/// Makes a span the child of the context in the parameters, and replaces that by the span's.
pub(super) fn pass_through(span: &Span, parameters: &mut BTreeMap<String, String>) {
    if PROPAGATION.get().is_none() || span.is_disabled() {
        return;
    }
    adopt(span, TraceContext::of(parameters).as_ref());
    if let Some(context) = context_of(span) {
        context.write(parameters);
    }
}
