//! What a decoder of an API reads of an answer.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::{
    ModelError,
    bounds::{MAX_ARGUMENTS, check, shortened},
    model::{ModelErrorKind, ModelEvent, StopReason, ToolCall, Usage},
};

/// Decodes the events of a stream. What it collects over several events is bounded.
pub(super) trait Decoder: Send {
    /// Reads the data of an event, which is not empty.
    ///
    /// # Errors
    ///
    /// The error of the provider; [`ModelErrorKind::Cut`] for an event that can't be read, and
    /// beyond a bound.
    fn read(&mut self, data: &[u8], output: &mut Output) -> Result<(), ModelError>;

    /// Reads the regular end of the stream.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::Cut`] if the answer has not ended, which is always so where an event is the
    /// end.
    fn end(&mut self, _output: &mut Output) -> Result<(), ModelError> {
        Err(ModelError::new(ModelErrorKind::Cut))
    }
}

/// The events of an answer that are not yet returned.
#[derive(Debug, Default)]
pub(super) struct Output {
    events: VecDeque<ModelEvent>,
    has_started: bool,
    has_ended: bool,
    calls: usize,
}

impl Output {
    /// The next event.
    pub(super) fn pop(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }

    /// Whether nothing more is to be read.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Ends the answer without an event.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// The id and the model of the response; only the first call counts.
    pub(super) fn start(&mut self, id: Option<&str>, model: Option<&str>) {
        if self.has_started || (id.is_none() && model.is_none()) {
            return;
        }
        self.has_started = true;
        let (id, model) = (id.map(shortened), model.map(shortened));
        self.events.push_back(ModelEvent::Started { id, model });
    }

    /// More text.
    pub(super) fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.events.push_back(ModelEvent::Text(text));
        }
    }

    /// More of what the model thinks.
    pub(super) fn thinking(&mut self, text: String) {
        if !text.is_empty() {
            self.events.push_back(ModelEvent::Thinking(text));
        }
    }

    /// An opaque part.
    pub(super) fn opaque(&mut self, part: Value) {
        self.events.push_back(ModelEvent::Opaque(part));
    }

    /// A whole call.
    pub(super) fn call(&mut self, call: PartialCall) {
        self.calls += 1;
        let id = if call.id.is_empty() { format!("call_{}", self.calls) } else { call.id };
        let arguments = match call.arguments.trim() {
            "" => json!({}),
            // The tool refuses what is not an object, and says so to the model.
            text => serde_json::from_str(text).unwrap_or_else(|_error| text.into()),
        };
        let call = ToolCall { id, name: call.name, arguments };
        self.events.push_back(ModelEvent::ToolCall(call));
    }

    /// Whether the model has called a tool.
    pub(super) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    /// The end of the answer. A model that called tools waits for their results, whatever it says.
    pub(super) fn finish(&mut self, usage: Option<Usage>, stop: Option<StopReason>) {
        self.events.extend(usage.map(ModelEvent::Usage));
        let stop = match stop {
            None | Some(StopReason::End) if self.has_calls() => StopReason::ToolCalls,
            Some(stop) => stop,
            None => StopReason::End,
        };
        self.events.push_back(ModelEvent::Finished(stop));
        self.has_ended = true;
    }
}

/// A call whose arguments arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct PartialCall {
    pub(super) id: String,
    pub(super) name: String,
    arguments: String,
}

impl PartialCall {
    /// Begins a call. Ids and names beyond a bound are shortened.
    pub(super) fn new(id: &str, name: &str) -> Self {
        Self { id: shortened(id), name: shortened(name), arguments: String::new() }
    }

    /// Sets an id and a name that came late.
    pub(super) fn complete(&mut self, id: &str, name: &str) {
        if self.id.is_empty() {
            self.id = shortened(id);
        }
        if self.name.is_empty() {
            self.name = shortened(name);
        }
    }

    /// Appends a piece of the arguments.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), ModelError> {
        self.arguments.push_str(piece);
        check(self.arguments.len(), MAX_ARGUMENTS)
    }
}

/// A reason for the end that is unknown here, shortened.
pub(super) fn other_stop(reason: &str) -> StopReason {
    StopReason::Other(shortened(reason))
}
