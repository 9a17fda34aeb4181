//! The log event of a served operation.

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use a2a_core::{Operation, v1::stream_response::Payload};
use tracing::{field, level_filters::LevelFilter};

use super::{DROPPED, OK, TRACEPARENT};
use crate::{CallContext, Caller, Event, event::StreamEnd};

/// The target of the events, of which each served operation logs one at level `info`.
pub const OPERATION: &str = "a2a::operation";

/// What the log says of an operation besides its name, binding and revision.
#[derive(Debug)]
pub(super) struct OperationRecord {
    caller: Caller,
    client_address: Option<IpAddr>,
    trace_id: Option<String>,
    known: Mutex<Known>,
}

/// What becomes known while an operation runs.
#[derive(Debug, Default)]
struct Known {
    task_id: String,
    context_id: String,
    /// Whether a stream has had an event after which it may end.
    is_complete: bool,
}

impl OperationRecord {
    /// `None` if operations are not logged.
    pub(super) fn begin(context: &CallContext) -> Option<Box<Self>> {
        // Filters that are more precise cost more than a record for nothing.
        if LevelFilter::current() < LevelFilter::INFO {
            return None;
        }
        // `00-<trace id>-<parent id>-<flags>` (W3C Trace Context).
        let trace_id = context.parameters.get(TRACEPARENT).and_then(|text| text.get(3..35));
        Some(Box::new(Self {
            caller: context.caller.clone(),
            client_address: context.client_address,
            trace_id: trace_id.map(str::to_owned),
            known: Mutex::default(),
        }))
    }

    /// Adds the ids of task and context, where they are known and were not.
    pub(super) fn add_ids(&self, task_id: &str, context_id: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        add(task_id, &mut known.task_id);
        add(context_id, &mut known.context_id);
    }

    /// Adds what an event of a stream tells.
    pub(super) fn add_event(&self, event: &Event) {
        let is_complete = !matches!(event.stream_end(), StreamEnd::Open);
        let context_id = match event.payload() {
            Some(Payload::Task(task)) => &*task.context_id,
            Some(Payload::Message(message)) => &message.context_id,
            Some(Payload::StatusUpdate(update)) => &update.context_id,
            Some(Payload::ArtifactUpdate(update)) => &update.context_id,
            None => "",
        };
        self.add_ids(event.task_id().unwrap_or_default(), context_id);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).is_complete = is_complete;
    }

    /// Logs the operation. Not in its span, whose fields would repeat those of the event.
    pub(super) fn log(
        self,
        operation: Operation,
        binding: &str,
        revision: &str,
        outcome: &str,
        duration: Duration,
    ) {
        let known = self.known.into_inner().unwrap_or_else(PoisonError::into_inner);
        // A reader may leave after the last event.
        let outcome = if known.is_complete && outcome == DROPPED { OK } else { outcome };
        tracing::info!(
            target: OPERATION,
            parent: None,
            operation = operation.name(),
            binding,
            revision,
            outcome,
            task.id = super::known(&known.task_id),
            context.id = super::known(&known.context_id),
            caller = self.caller.subject(),
            client.address = self.client_address.map(field::display),
            duration_ms = milliseconds(duration),
            trace_id = self.trace_id,
            "operation"
        );
    }
}

fn add(id: &str, known: &mut String) {
    if known.is_empty() {
        id.clone_into(known);
    }
}

/// With microseconds, as a JSON number.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
