//! Events as text.

use a2a_core::{
    Message, TaskState,
    v1::{StreamResponse, TaskArtifactUpdateEvent, stream_response::Payload},
};

use super::{
    task::{write_artifact_head, write_ids, write_message, write_resume},
    text::Text,
};

/// Formats the events of a task. Consecutive chunks of an artifact share one heading.
#[derive(Debug, Default)]
pub(crate) struct EventText {
    artifact: Option<String>,
    task: Option<(String, String, TaskState)>,
    verbose: bool,
}

impl EventText {
    pub(crate) fn new(verbose: bool) -> Self {
        Self { verbose, ..Self::default() }
    }

    /// The text of one event.
    pub(crate) fn event(&mut self, event: &StreamResponse) -> Text {
        let mut text = Text::new();
        match &event.payload {
            Some(Payload::Task(task)) => {
                self.artifact = None;
                self.task = Some((task.id.clone(), task.context_id.clone(), task.state()));
                write_ids(&mut text, &task.id, &task.context_id, task.state());
                write_status_message(&mut text, task.status_message());
                for artifact in &task.artifacts {
                    write_artifact_head(&mut text, artifact);
                    text.parts(&artifact.parts);
                    self.artifact = Some(artifact.artifact_id.clone());
                }
            }
            Some(Payload::Message(message)) => write_message(&mut text, message, self.verbose),
            Some(Payload::StatusUpdate(update)) => {
                let state = update.state();
                self.artifact = None;
                self.task = Some((update.task_id.clone(), update.context_id.clone(), state));
                text.state("State", state);
                write_status_message(&mut text, update.message());
            }
            Some(Payload::ArtifactUpdate(update)) => self.chunk(&mut text, update),
            None => {}
        }
        text
    }

    /// The end of the events: the ids and the state again, and how to continue.
    pub(crate) fn end(&self, agent: Option<&str>) -> Text {
        let mut text = Text::new();
        if let Some((task_id, context_id, state)) = &self.task {
            write_ids(&mut text, task_id, context_id, *state);
            write_resume(&mut text, task_id, *state, agent);
        }
        text
    }

    fn chunk(&mut self, text: &mut Text, update: &TaskArtifactUpdateEvent) {
        let Some(artifact) = &update.artifact else { return };
        let same = self.artifact.as_ref() == Some(&artifact.artifact_id);
        if !(update.append && same) {
            write_artifact_head(text, artifact);
            self.artifact = Some(artifact.artifact_id.clone());
        }
        text.parts(&artifact.parts);
    }
}

fn write_status_message(text: &mut Text, message: Option<&Message>) {
    if let Some(message) = message {
        text.parts(&message.parts);
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::Artifact;

    use super::*;

    #[test]
    fn chunks_of_an_artifact_share_one_heading() {
        let chunk = |id: &str, text: &str, append| StreamResponse {
            payload: Some(Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
                artifact: Some(Artifact::new("n", text).with_id(id)),
                append,
                ..Default::default()
            })),
        };
        let mut events = EventText::new(false);
        let shown: String = [chunk("a", "1", false), chunk("a", "2", true), chunk("b", "3", false)]
            .iter()
            .map(|event| events.event(event).plain())
            .collect();
        assert_eq!(
            shown,
            "Artifact: n\nArtifact ID: a\nText:\n1\n\nText:\n2\n\n\
             Artifact: n\nArtifact ID: b\nText:\n3\n\n"
        );
    }
}
