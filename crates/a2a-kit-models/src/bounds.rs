//! Bounds of an answer, whatever its model.

use crate::{
    ModelError,
    model::{ModelErrorKind, ModelEvent},
};

/// Maximum size of the text of an answer, of the thoughts, and of the opaque parts, in bytes each.
pub(crate) const MAX_TEXT: usize = 1 << 20;
/// Maximum size of the arguments of a call, in bytes of JSON.
pub(crate) const MAX_ARGUMENTS: usize = 256 << 10;
/// Maximum number of calls in an answer.
pub(crate) const MAX_CALLS: usize = 64;
/// Maximum length of the name and of the id of a call, in characters. They are shown and stored.
pub(crate) const MAX_NAME: usize = 256;

/// How much of an answer has arrived.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    text: usize,
    thinking: usize,
    opaque: usize,
    calls: usize,
}

impl Bounds {
    /// Counts an event.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::Cut`] if the answer is larger than an agent takes.
    pub(crate) fn count(&mut self, event: &ModelEvent) -> Result<(), ModelError> {
        let (total, more, limit) = match event {
            ModelEvent::Text(text) => (&mut self.text, text.len(), MAX_TEXT),
            ModelEvent::Thinking(text) => (&mut self.thinking, text.len(), MAX_TEXT),
            ModelEvent::Opaque(part) => (&mut self.opaque, part.to_string().len(), MAX_TEXT),
            ModelEvent::ToolCall(call) => {
                let longest_name = call.id.chars().count().max(call.name.chars().count());
                check(longest_name, MAX_NAME)?;
                check(call.arguments.to_string().len(), MAX_ARGUMENTS)?;
                (&mut self.calls, 1, MAX_CALLS)
            }
            ModelEvent::Started { .. } | ModelEvent::Usage(_) | ModelEvent::Finished(_) => {
                return Ok(());
            }
        };
        *total = total.saturating_add(more);
        check(*total, limit)
    }
}

/// Fails if a size is beyond its limit.
pub(crate) fn check(size: usize, limit: usize) -> Result<(), ModelError> {
    if size > limit { Err(ModelError::new(ModelErrorKind::Cut)) } else { Ok(()) }
}

/// A name or an id within its bound.
pub(crate) fn shortened(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}
