//! Events as text.

use a2a_core::{
    Message, Part, TaskState,
    v1::{StreamResponse, TaskArtifactUpdateEvent, stream_response::Payload},
};

use super::{
    Terminal, TextFlow, is_markdown,
    task::{artifact, artifact_head, ids, message, resume},
    text::Text,
};

/// Formats the events of a task. Consecutive chunks of an artifact share one heading.
#[derive(Debug)]
pub(crate) struct EventText {
    artifact: Option<String>,
    task: Option<(String, String, TaskState)>,
    verbose: bool,
    flow: Option<TextFlow>,
    /// The media type and file name of the text whose chunks are being printed.
    open: Option<(String, String)>,
}

impl EventText {
    /// Creates a formatter that writes each chunk as a part of its own.
    pub(crate) fn new(verbose: bool) -> Self {
        Self { verbose, artifact: None, task: None, flow: None, open: None }
    }

    /// Joins the text chunks of an artifact, unless every part is printed.
    #[must_use]
    pub(crate) fn with_flow(mut self, terminal: Terminal) -> Self {
        self.flow = (!self.verbose).then(|| TextFlow::new(terminal));
        self
    }

    /// The text of one event. It may end within a line; [`close`](Self::close) ends that.
    pub(crate) fn event(&mut self, event: &StreamResponse) -> Text {
        if let Some(Payload::ArtifactUpdate(update)) = &event.payload {
            return self.chunk(update);
        }
        let mut text = self.close();
        match &event.payload {
            Some(Payload::Task(task)) => {
                self.task = Some((task.id.clone(), task.context_id.clone(), task.state()));
                ids(&mut text, &task.id, &task.context_id, task.state());
                status_message(&mut text, task.status_message());
                for one in &task.artifacts {
                    artifact(&mut text, one, self.verbose);
                }
                self.artifact = task.artifacts.last().map(|last| last.artifact_id.clone());
            }
            Some(Payload::Message(one)) => message(&mut text, one, self.verbose),
            Some(Payload::StatusUpdate(update)) => {
                let state = update.state();
                self.artifact = None;
                self.task = Some((update.task_id.clone(), update.context_id.clone(), state));
                text.state("State", state);
                status_message(&mut text, update.message());
            }
            Some(Payload::ArtifactUpdate(_)) | None => {}
        }
        text
    }

    /// Whether the text so far ends with a line.
    pub(crate) fn at_line_start(&self) -> bool {
        self.flow.as_ref().is_none_or(TextFlow::at_line_start)
    }

    /// The end of an unfinished block.
    pub(crate) fn close(&mut self) -> Text {
        let mut text = Text::default();
        if self.open.take().is_some()
            && let Some(flow) = &mut self.flow
        {
            text.shown(flow.end());
            text.empty_line();
        }
        text
    }

    /// The end of the events: the ids and the state again, and how to continue.
    pub(crate) fn end(&mut self, agent: Option<&str>) -> Text {
        let mut text = self.close();
        if let Some((task_id, context_id, state)) = &self.task {
            ids(&mut text, task_id, context_id, *state);
            resume(&mut text, task_id, *state, agent);
        }
        text
    }

    fn chunk(&mut self, update: &TaskArtifactUpdateEvent) -> Text {
        let mut text = Text::default();
        let Some(artifact) = &update.artifact else { return text };
        let same = self.artifact.as_ref() == Some(&artifact.artifact_id);
        if !(update.append && same) {
            text = self.close();
            artifact_head(&mut text, artifact);
            self.artifact = Some(artifact.artifact_id.clone());
        }
        for part in &artifact.parts {
            self.part(&mut text, part);
        }
        text
    }

    fn part(&mut self, text: &mut Text, part: &Part) {
        let kind = (part.media_type.clone(), part.filename.clone());
        if self.open.as_ref() != Some(&kind) || part.as_text().is_none() {
            text.append(self.close());
        }
        match (&mut self.flow, part.as_text()) {
            (Some(flow), Some(chunk)) => {
                if self.open.is_none() {
                    text.label("Text");
                    self.open = Some(kind);
                }
                text.shown(flow.push(chunk, is_markdown(part)));
            }
            _ => text.part(part),
        }
    }
}

fn status_message(text: &mut Text, message: Option<&Message>) {
    if let Some(message) = message {
        text.parts(&message.parts);
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::Artifact;

    use super::*;

    fn chunk(id: &str, part: impl Into<Part>, append: bool) -> StreamResponse {
        StreamResponse {
            payload: Some(Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
                artifact: Some(Artifact::new("n", part).with_id(id)),
                append,
                ..Default::default()
            })),
        }
    }

    fn shown(mut events: EventText, chunks: &[StreamResponse]) -> String {
        let mut text: String = chunks.iter().map(|event| events.event(event).plain()).collect();
        text.push_str(&events.close().plain());
        text
    }

    #[test]
    fn chunks_of_an_artifact_share_one_heading_and_their_text_flows() {
        let chunks = [
            chunk("a", "On", false),
            chunk("a", "e\n", true),
            chunk("a", "\ntwo", true),
            chunk("a", Part::data(1), true),
            chunk("a", "three", true),
            chunk("b", "3", false),
        ];
        assert_eq!(
            shown(EventText::new(false).with_flow(Terminal::default()), &chunks),
            "Artifact: n\nArtifact ID: a\nText:\nOne\n \ntwo\n\nData:\n1\n\nText:\nthree\n\n\
             Artifact: n\nArtifact ID: b\nText:\n3\n\n"
        );
    }

    #[test]
    fn every_part_is_a_block_with_verbose_and_without_a_flow() {
        let chunks = [chunk("a", "1", false), chunk("a", "2", true)];
        let blocks = "Artifact: n\nArtifact ID: a\nText:\n1\n\nText:\n2\n\n";
        assert_eq!(shown(EventText::new(false), &chunks), blocks);
        assert_eq!(shown(EventText::new(true).with_flow(Terminal::default()), &chunks), blocks);
    }
}
