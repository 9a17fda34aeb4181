//! What a run tells its caller as it works: the answer and, if the caller wants them, events.

use a2a_core::well_known::{Struct, Value};
use a2a_kit_operations::{
    RequestContext, TaskUpdater, UpdateError, extension::ModelEventsExtension,
};

use crate::{
    completed::Completed, events::Events, model::StopReason, settings::Settings,
    text_writer::TextWriter,
};

/// The answer of a run, its thinking, and its other events.
pub(crate) struct Progress<'a> {
    answer: TextWriter<'a>,
    /// `None` for a caller that gets no events.
    thinking: Option<TextWriter<'a>>,
    events: Events<'a>,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(
        settings: &'a Settings,
        context: &'a RequestContext,
        updates: &'a TaskUpdater,
    ) -> Self {
        let accepted = context.accepted_output_modes();
        let takes_markdown = accepted.is_empty()
            || accepted.iter().any(|mode| ["text/markdown", "text/*", "*/*"].contains(&&**mode));
        let media_type = if takes_markdown { "text/markdown" } else { "text/plain" };
        let flush = settings.limits.flush;
        let has_events = settings.events.applies_to(context.call(), ModelEventsExtension::URI);
        Self {
            answer: TextWriter::answer(updates, media_type, flush),
            thinking: has_events.then(|| TextWriter::thinking(updates, flush)),
            events: Events::new(has_events.then_some(updates)),
        }
    }

    /// The events that are no text.
    pub(crate) fn events(&self) -> Events<'a> {
        self.events
    }

    /// Adds text of the current call.
    pub(crate) async fn text(&mut self, text: &str) -> Result<(), UpdateError> {
        self.answer.push(text).await
    }

    /// Adds to what the model thinks in the current call.
    pub(crate) async fn thinking(&mut self, text: &str) -> Result<(), UpdateError> {
        match &mut self.thinking {
            Some(thinking) => thinking.push(text).await,
            None => Ok(()),
        }
    }

    /// Waits until a chunk is due; forever if there is nothing to send.
    pub(crate) async fn due(&mut self) {
        match &mut self.thinking {
            Some(thinking) => tokio::select! {
                () = self.answer.due() => {}
                () = thinking.due() => {}
            },
            None => self.answer.due().await,
        }
    }

    /// Sends the chunks that are due.
    pub(crate) async fn flush(&mut self) -> Result<(), UpdateError> {
        if let Some(thinking) = &mut self.thinking {
            thinking.flush().await?;
        }
        self.answer.flush().await
    }

    /// The current call is repeated: what was sent of it will be replaced.
    pub(crate) fn repeat_call(&mut self) {
        self.answer.repeat_call();
        self.thinking.as_mut().into_iter().for_each(TextWriter::repeat_call);
    }

    /// The current call is completed. Sends its whole text, as the last chunk if the run ends with
    /// it.
    pub(crate) async fn end_call(&mut self, completed: &Completed) -> Result<(), UpdateError> {
        if completed.tool_calls().next().is_none() {
            let metadata = self.thinking.is_some().then(|| metadata(completed));
            return self.finish_with(metadata).await;
        }
        if let Some(thinking) = &mut self.thinking {
            thinking.end_call().await?;
        }
        self.answer.end_call().await
    }

    /// Adds the text of a call that an earlier run completed, and sent.
    pub(crate) fn recall(&mut self, completed: &Completed) {
        self.answer.recall(&completed.text());
    }

    /// Sends the rest as the last chunks, and has the stored chunks joined.
    pub(crate) async fn finish(&mut self) -> Result<(), UpdateError> {
        self.finish_with(None).await
    }

    async fn finish_with(&mut self, metadata: Option<Struct>) -> Result<(), UpdateError> {
        if let Some(thinking) = &mut self.thinking {
            thinking.finish(None).await?;
        }
        self.answer.finish(metadata).await
    }
}

/// The metadata of the last chunk of an answer.
fn metadata(completed: &Completed) -> Struct {
    let stop = match completed.stop {
        StopReason::Length | StopReason::ContextWindow => "length",
        StopReason::Filter => "filter",
        StopReason::End | StopReason::ToolCalls | StopReason::Other(_) => "end",
    };
    let members = [("kind", "answer"), ("stop", stop), ("model", &completed.model)];
    Struct::from([(ModelEventsExtension::URI, Value::from(Struct::from(members)))])
}
