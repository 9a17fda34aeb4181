//! Trace context in metadata.

use std::sync::Arc;

use a2a_core::{
    Message, Result,
    v1::{AgentExtension, SendMessageRequest, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    well_known::Struct,
};
use async_trait::async_trait;

use super::{Extension, Turn, note};
use crate::{
    CallContext,
    trace::{TRACEPARENT, TraceContext},
};

/// Propagates the W3C trace context (`traceparent`) in the metadata of messages, tasks and
/// artifacts, where it survives storing, queuing and forwarding; headers are hop by hop.
///
/// The trace context of a message applies to its request if that has none, so that the executor and
/// its calls continue the trace. Updates of the executor carry the context of the message, or the
/// one from [`with_current`](Self::with_current).
///
/// A malformed trace context, or one of a version other than `00`, is ignored, as required by
/// <https://www.w3.org/TR/trace-context/>. It identifies a trace and grants nothing.
#[derive(Clone, Default)]
pub struct TraceContextExtension {
    current: Option<Arc<Current>>,
}

type Current = dyn Fn(&Turn<'_>) -> Option<String> + Send + Sync;

impl TraceContextExtension {
    /// The URI of the extension.
    pub const URI: &str = "urn:x-a2a:trace-context:1";

    /// The metadata key.
    pub const FIELD: &str = "urn:x-a2a:trace-context:1/traceparent";

    /// Propagates the trace context of the request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `current` for each status, artifact and reply to get the trace context of the current
    /// span, as a `traceparent` header.
    #[must_use]
    pub fn with_current(
        mut self,
        current: impl Fn(&Turn<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.current = Some(Arc::new(current));
        self
    }

    /// Reads the trace context from metadata; `None` if it is missing or malformed.
    pub fn read(metadata: Option<&Struct>) -> Option<&str> {
        metadata?.get(Self::FIELD)?.as_str().filter(|text| is_traceparent(text))
    }

    /// Writes a trace context into metadata, also for clients. A malformed one is ignored.
    pub fn write(metadata: &mut Option<Struct>, traceparent: &str) {
        if is_traceparent(traceparent) {
            metadata.get_or_insert_default().insert(Self::FIELD, traceparent);
        }
    }

    /// The trace context of an update.
    fn of(&self, turn: &Turn<'_>) -> Option<String> {
        let current = self.current.as_ref().and_then(|current| current(turn));
        let known = current.or_else(|| turn.call().parameters.get(TRACEPARENT).cloned());
        known.filter(|text| is_traceparent(text))
    }
}

#[async_trait]
impl Extension for TraceContextExtension {
    fn declaration(&self) -> AgentExtension {
        AgentExtension::new(Self::URI, "Carries the W3C trace context in metadata")
    }

    async fn receive(
        &self,
        call: &mut CallContext,
        request: &mut SendMessageRequest,
    ) -> Result<()> {
        let metadata = request.message.as_ref().and_then(|message| message.metadata.as_ref());
        let carried = Self::read(metadata).or_else(|| Self::read(request.metadata.as_ref()));
        if let Some(carried) = carried {
            let parameters = &mut call.parameters;
            parameters.entry(TRACEPARENT.to_owned()).or_insert_with(|| carried.to_owned());
        }
        Ok(())
    }

    fn status(&self, turn: &Turn<'_>, update: &mut TaskStatusUpdateEvent) {
        let Some(trace) = self.of(turn) else { return };
        Self::write(&mut update.metadata, &trace);
        let message = update.status.as_mut().and_then(|status| status.message.as_mut());
        if let Some(message) = message {
            Self::write(&mut message.metadata, &trace);
            note(&mut message.extensions, Self::URI);
        }
    }

    fn artifact(&self, turn: &Turn<'_>, update: &mut TaskArtifactUpdateEvent) {
        let (Some(trace), Some(artifact)) = (self.of(turn), &mut update.artifact) else { return };
        Self::write(&mut artifact.metadata, &trace);
        note(&mut artifact.extensions, Self::URI);
    }

    fn reply(&self, turn: &Turn<'_>, message: &mut Message) {
        let Some(trace) = self.of(turn) else { return };
        Self::write(&mut message.metadata, &trace);
        note(&mut message.extensions, Self::URI);
    }
}

a2a_core::debug_fields!(TraceContextExtension(..));

/// Returns whether a text is a `traceparent` of version 00 (Trace Context §3.2.2).
fn is_traceparent(text: &str) -> bool {
    text.parse::<TraceContext>().is_ok_and(|context| context.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn malformed_trace_context_is_ignored() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let mut metadata = None;
        TraceContextExtension::write(&mut metadata, good);
        assert_eq!(TraceContextExtension::read(metadata.as_ref()), Some(good));
        for bad in [
            "",
            "00",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319\u{e9}-b7ad6b7169203331-01",
        ] {
            let mut metadata = None;
            TraceContextExtension::write(&mut metadata, bad);
            assert_eq!(metadata, None, "{bad}");
            let metadata = Struct::from([(TraceContextExtension::FIELD, bad)]);
            assert_eq!(TraceContextExtension::read(Some(&metadata)), None, "{bad}");
        }
    }
}
