//! The server span and metrics of an operation.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use a2a_core::{Operation, Result};
use futures_core::Stream;
use tracing::{Span, field, info_span};

use super::{SERVICE, known, operation_log::OperationRecord, outcome, propagation, system};
#[cfg(feature = "metrics")]
use crate::metrics;
use crate::{AgentLabel, CallContext, Event, EventStream};

/// An operation served by a binding, once it is known which one it is.
///
/// The span is of kind `server` and a child of the caller's. The operation is counted when it
/// [ends](Self::end); one that is dropped before counts as `dropped`, which is how disconnects
/// show. It is logged once, as an event of the target [`OPERATION`](super::OPERATION), and a stream
/// when it ends.
#[derive(Debug)]
pub struct ServerSpan {
    span: Span,
    begun: Instant,
    operation: Operation,
    binding: &'static str,
    revision: &'static str,
    agent: AgentLabel,
    ended: bool,
    /// What the log will say; `None` if operations are not logged, or this one was.
    record: Option<Box<OperationRecord>>,
}

impl ServerSpan {
    /// Starts an operation. The parameters of the context then carry its span, for calls made on
    /// its behalf.
    pub fn begin(operation: Operation, binding: &'static str, context: &mut CallContext) -> Self {
        let revision = context.version.as_str();
        let span = span(operation, binding, revision);
        propagation::pass_through(&span, &mut context.parameters);
        let (begun, agent) = (Instant::now(), context.metrics_label);
        let record = OperationRecord::begin(context);
        Self { span, begun, operation, binding, revision, agent, ended: false, record }
    }

    /// The span to perform the operation in.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Records the ids of the task and its context, if known.
    pub fn record_ids(&self, task_id: &str, context_id: &str) {
        record_ids(&self.span, task_id, context_id);
        if let Some(record) = &self.record {
            record.add_ids(task_id, context_id);
        }
    }

    /// Records the outcome. For a stream that is the time when it opens.
    pub fn end<T>(&mut self, result: &Result<T>) {
        // Whether an error is the server's fault.
        let is_fault = result.as_ref().is_err_and(|error| error.kind().codes().http >= 500);
        let (outcome, time) = (outcome(result), self.begun.elapsed());
        self.close(outcome, is_fault, time);
        let streams =
            matches!(self.operation, Operation::SendStreamingMessage | Operation::SubscribeToTask);
        if result.is_err() || !streams {
            self.log(outcome, time);
        }
    }

    /// Logs the operation, once.
    fn log(&mut self, outcome: &'static str, time: Duration) {
        if let Some(record) = self.record.take() {
            record.log(self.operation, self.binding, self.revision, outcome, time);
        }
    }

    /// Keeps the span open until the stream ends.
    #[must_use]
    pub fn keep_open(self, events: EventStream) -> EventStream {
        if self.span.is_disabled() && self.record.is_none() {
            events
        } else {
            events.wrap(|events| SpannedStream { events, served: self })
        }
    }

    fn close(&mut self, outcome: &'static str, is_fault: bool, time: Duration) {
        self.ended = true;
        self.span.record("a2a.outcome", outcome);
        if is_fault {
            self.span.record("otel.status_code", "ERROR");
        }
        #[cfg(feature = "metrics")]
        metrics::served(self.agent, self.operation, self.binding, self.revision, outcome, time);
        #[cfg(not(feature = "metrics"))]
        let _ = time;
    }
}

impl Drop for ServerSpan {
    fn drop(&mut self) {
        if self.ended && self.record.is_none() {
            return;
        }
        let time = self.begun.elapsed();
        if !self.ended {
            self.close(super::DROPPED, false, time);
        }
        self.log(super::DROPPED, time);
    }
}

/// A stream inside the span of its operation.
struct SpannedStream {
    events: EventStream,
    served: ServerSpan,
}

impl Stream for SpannedStream {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let item = {
            let _entered = this.served.span.enter();
            ready!(Pin::new(&mut this.events).poll_next(cx))
        };
        match &item {
            Some(Ok(event)) => {
                if let Some(record) = &this.served.record {
                    record.add_event(event);
                }
            }
            Some(Err(error)) => {
                this.served.log(error.kind().codes().reason, this.served.begun.elapsed());
            }
            None => this.served.log(super::OK, this.served.begun.elapsed()),
        }
        Poll::Ready(item)
    }
}

pub(super) fn record_ids(span: &Span, task_id: &str, context_id: &str) {
    if let Some(id) = known(task_id) {
        span.record("a2a.task.id", id);
    }
    if let Some(id) = known(context_id) {
        span.record("a2a.context.id", id);
    }
}

/// A span named for the operation; each name has to be a literal.
fn span(operation: Operation, binding: &'static str, revision: &'static str) -> Span {
    macro_rules! span {
        ($name:literal) => {
            info_span!(
                $name,
                otel.kind = "server",
                otel.name = format_args!("{SERVICE}/{}", operation.name()),
                otel.status_code = field::Empty,
                rpc.system = system(binding),
                rpc.service = SERVICE,
                rpc.method = operation.name(),
                a2a.binding = binding,
                a2a.revision = revision,
                a2a.task.id = field::Empty,
                a2a.context.id = field::Empty,
                a2a.outcome = field::Empty,
            )
        };
    }
    match operation {
        Operation::SendMessage => span!("send_message"),
        Operation::SendStreamingMessage => span!("send_streaming_message"),
        Operation::GetTask => span!("get_task"),
        Operation::ListTasks => span!("list_tasks"),
        Operation::CancelTask => span!("cancel_task"),
        Operation::SubscribeToTask => span!("subscribe_to_task"),
        Operation::CreateTaskPushNotificationConfig => {
            span!("create_task_push_notification_config")
        }
        Operation::GetTaskPushNotificationConfig => span!("get_task_push_notification_config"),
        Operation::ListTaskPushNotificationConfigs => span!("list_task_push_notification_configs"),
        Operation::DeleteTaskPushNotificationConfig => {
            span!("delete_task_push_notification_config")
        }
        Operation::GetExtendedAgentCard => span!("get_extended_agent_card"),
    }
}
