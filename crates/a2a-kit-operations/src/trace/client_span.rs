//! The client span and metrics of an operation.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use a2a_core::{Operation, Result};
use futures_core::Stream;
use tracing::{Span, field, info_span};

use super::{DROPPED, SERVICE, outcome, propagation, server_span::record_ids, system};
#[cfg(feature = "metrics")]
use crate::metrics;
use crate::{CallContext, Event, EventStream};

/// An attempt of a client to call an operation.
///
/// The span is of kind `client` and a child of the current one. It is propagated in the parameters
/// of the call, so that the spans of the other agent become its children.
#[derive(Debug)]
pub struct ClientSpan {
    span: Span,
    begun: Instant,
    operation: Operation,
    binding: &'static str,
    ended: bool,
}

impl ClientSpan {
    /// Starts a call to the agent at `authority`, its host with or without a port.
    pub fn begin(
        operation: Operation,
        binding: &'static str,
        authority: &str,
        context: &mut CallContext,
    ) -> Self {
        let span = info_span!(
            "call",
            otel.kind = "client",
            otel.name = format_args!("{SERVICE}/{}", operation.name()),
            otel.status_code = field::Empty,
            rpc.system = system(binding),
            rpc.service = SERVICE,
            rpc.method = operation.name(),
            server.address = authority,
            a2a.binding = binding,
            a2a.task.id = field::Empty,
            a2a.context.id = field::Empty,
            a2a.outcome = field::Empty,
        );
        if let Some(trace) = propagation::context_of(&span) {
            trace.write(&mut context.parameters);
        }
        Self { span, begun: Instant::now(), operation, binding, ended: false }
    }

    /// The span to make the call in.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Records the ids of the task and its context, if known.
    pub fn record_ids(&self, task_id: &str, context_id: &str) {
        record_ids(&self.span, task_id, context_id);
    }

    /// Records the outcome. For a stream that is the time when it opens.
    pub fn end<T>(&mut self, result: &Result<T>) {
        self.close(outcome(result), result.is_err());
    }

    /// Keeps the span open until the stream ends.
    #[must_use]
    pub fn keep_open(self, events: EventStream) -> EventStream {
        if self.span.is_disabled() {
            events
        } else {
            events.wrap(|events| SpannedStream { events, called: self })
        }
    }

    fn close(&mut self, outcome: &'static str, failed: bool) {
        self.ended = true;
        self.span.record("a2a.outcome", outcome);
        if failed {
            self.span.record("otel.status_code", "ERROR");
        }
        #[cfg(feature = "metrics")]
        metrics::called(self.operation, self.binding, outcome, self.begun.elapsed());
    }
}

impl Drop for ClientSpan {
    fn drop(&mut self) {
        if !self.ended {
            self.close(DROPPED, false);
        }
    }
}

/// A stream inside the span of its call.
struct SpannedStream {
    events: EventStream,
    called: ClientSpan,
}

impl Stream for SpannedStream {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let _entered = this.called.span.enter();
        Pin::new(&mut this.events).poll_next(cx)
    }
}
