//! An operation that is called on another agent: its span, and what is counted of it.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use a2a_core::{Operation, Result};
use futures_core::Stream;
use tracing::{Span, field, info_span};

use super::{SERVICE, outcome, propagation, served::concerns, system};
use crate::{CallContext, Event, EventStream, metrics};

/// One try of a client to call an operation.
///
/// It has a span of kind `client`, a child of the current one. The parameters of the call name
/// it, so that what the other agent does becomes its child.
#[derive(Debug)]
pub struct Called {
    span: Span,
    begun: Instant,
    operation: Operation,
    binding: &'static str,
    ended: bool,
}

impl Called {
    /// Begins a call to the agent at `authority`, which is its host with or without a port.
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

    /// The span that the call is to be made in.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Notes the ids of the task and its context, as far as they are known.
    pub fn concerns(&self, task_id: &str, context_id: &str) {
        concerns(&self.span, task_id, context_id);
    }

    /// Counts the call, by what came of it. A stream counts when it is open.
    pub fn end<T>(&mut self, result: &Result<T>) {
        self.close(outcome(result), result.is_err());
    }

    /// Keeps the span open until its stream is over.
    #[must_use]
    pub fn keep_open(self, events: EventStream) -> EventStream {
        if self.span.is_disabled() {
            events
        } else {
            EventStream::new(Open { events, called: self })
        }
    }

    fn close(&mut self, outcome: &'static str, failed: bool) {
        self.ended = true;
        self.span.record("a2a.outcome", outcome);
        if failed {
            self.span.record("otel.status_code", "ERROR");
        }
        metrics::called(self.operation, self.binding, outcome, self.begun.elapsed());
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        if !self.ended {
            self.close(metrics::DROPPED, false);
        }
    }
}

/// A stream within the span of the call that opened it.
struct Open {
    events: EventStream,
    called: Called,
}

impl Stream for Open {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let _entered = this.called.span.enter();
        Pin::new(&mut this.events).poll_next(cx)
    }
}
