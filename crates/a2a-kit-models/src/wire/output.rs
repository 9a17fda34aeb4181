//! What a decoder of an API reads of an answer, within bounds.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::{
    ModelError,
    model::{ModelErrorKind, ModelEvent, StopReason, ToolCall, Usage},
};

/// The JSON object of a request.
pub(super) type Object = Map<String, Value>;

/// Decodes the events of a stream.
pub(super) trait Decoder: Send {
    /// Reads the data of an event.
    ///
    /// # Errors
    ///
    /// The error of the provider; [`ModelErrorKind::Cut`] for an event that can't be read, and
    /// beyond the bounds of [`Output`].
    fn read(&mut self, data: &[u8], output: &mut Output) -> Result<(), ModelError>;

    /// Reads the regular end of the stream.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::Cut`] if the answer has not ended.
    fn end(&mut self, output: &mut Output) -> Result<(), ModelError>;
}

/// Maximum size of the text of an answer, of the thoughts, and of the opaque parts, in bytes each.
const MAX_TEXT: usize = 1 << 20;

/// Maximum size of the arguments of a call, in bytes.
const MAX_ARGUMENTS: usize = 256 << 10;

/// Maximum number of calls in an answer.
pub(super) const MAX_CALLS: usize = 64;

/// Maximum length of names and ids, in characters. They are shown and stored.
const MAX_NAME: usize = 256;

/// The events of an answer that are not yet returned, and how much there was of each kind.
///
/// Beyond a bound, methods fail with [`ModelErrorKind::Cut`].
#[derive(Debug, Default)]
pub(super) struct Output {
    events: VecDeque<ModelEvent>,
    has_started: bool,
    has_ended: bool,
    text: usize,
    thinking: usize,
    opaque: usize,
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
        let bounded = |text: &str| text.chars().take(MAX_NAME).collect();
        let (id, model) = (id.map(bounded), model.map(bounded));
        self.events.push_back(ModelEvent::Started { id, model });
    }

    /// More text.
    pub(super) fn text(&mut self, text: String) -> Result<(), ModelError> {
        count(&mut self.text, text.len(), MAX_TEXT)?;
        if !text.is_empty() {
            self.events.push_back(ModelEvent::Text(text));
        }
        Ok(())
    }

    /// More of what the model thinks.
    pub(super) fn thinking(&mut self, text: String) -> Result<(), ModelError> {
        count(&mut self.thinking, text.len(), MAX_TEXT)?;
        if !text.is_empty() {
            self.events.push_back(ModelEvent::Thinking(text));
        }
        Ok(())
    }

    /// An opaque part of `size` bytes.
    pub(super) fn opaque(&mut self, part: Value, size: usize) -> Result<(), ModelError> {
        count(&mut self.opaque, size, MAX_TEXT)?;
        self.events.push_back(ModelEvent::Opaque(part));
        Ok(())
    }

    /// Fails if a part of `size` bytes would be too large.
    pub(super) fn check_opaque(&self, size: usize) -> Result<(), ModelError> {
        count(&mut { self.opaque }, size, MAX_TEXT)
    }

    /// A whole call.
    pub(super) fn call(&mut self, call: PartialCall) -> Result<(), ModelError> {
        count(&mut self.calls, 1, MAX_CALLS)?;
        let id = if call.id.is_empty() { format!("call_{}", self.calls) } else { call.id };
        let arguments = match call.arguments.trim() {
            "" => json!({}),
            // The tool refuses what is not an object, and says so to the model.
            text => serde_json::from_str(text).unwrap_or_else(|_error| text.into()),
        };
        let call = ToolCall { id, name: call.name, arguments };
        self.events.push_back(ModelEvent::ToolCall(call));
        Ok(())
    }

    /// The end of the answer. A model that called tools waits for their results, whatever it says.
    pub(super) fn finish(&mut self, usage: Option<Usage>, stop: Option<StopReason>) {
        self.events.extend(usage.map(ModelEvent::Usage));
        let stop = match stop {
            None | Some(StopReason::End) if self.calls > 0 => StopReason::ToolCalls,
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
        let bounded = |text: &str| text.chars().take(MAX_NAME).collect();
        Self { id: bounded(id), name: bounded(name), arguments: String::new() }
    }

    /// Sets an id and a name that came late.
    pub(super) fn complete(&mut self, id: &str, name: &str) {
        let late = Self::new(id, name);
        if self.id.is_empty() {
            self.id = late.id;
        }
        if self.name.is_empty() {
            self.name = late.name;
        }
    }

    /// Appends a piece of the arguments.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), ModelError> {
        self.arguments.push_str(piece);
        count(&mut 0, self.arguments.len(), MAX_ARGUMENTS)
    }
}

fn count(total: &mut usize, more: usize, limit: usize) -> Result<(), ModelError> {
    *total = total.saturating_add(more);
    if *total > limit { Err(ModelError::new(ModelErrorKind::Cut)) } else { Ok(()) }
}

/// A reason for the end that is unknown here, shortened.
pub(super) fn other_stop(reason: &str) -> StopReason {
    StopReason::Other(reason.chars().take(MAX_NAME).collect())
}
