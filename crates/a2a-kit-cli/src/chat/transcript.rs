//! What a person sees of the answers of an agent.

use std::collections::HashMap;

use a2a_core::{
    Artifact, Message, Part, Task, TaskState,
    v1::{StreamResponse, part::Content, stream_response::Payload},
};

use crate::{
    failure::Failure,
    output::{Output, TextFlow, is_markdown},
};

/// Prints the events of a conversation as they arrive. What was already shown is not repeated, so
/// that a stream can be resumed, or continued by polling.
#[derive(Debug)]
pub(super) struct Transcript {
    output: Output,
    /// Whether events are printed as JSON.
    pub(super) is_raw: bool,
    task_id: String,
    status_message_id: String,
    artifacts: HashMap<String, Shown>,
    /// The artifact whose text is being printed.
    artifact: Option<String>,
    flow: TextFlow,
}

/// How much of an artifact was shown.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    /// Bytes of its text: agents may join chunks when they store them.
    text: usize,
    /// Its other parts.
    others: usize,
}

impl Transcript {
    pub(super) fn new(output: Output) -> Self {
        Self {
            output,
            is_raw: false,
            task_id: String::new(),
            status_message_id: String::new(),
            artifacts: HashMap::new(),
            artifact: None,
            flow: TextFlow::new(output.terminal),
        }
    }

    /// Whether the cursor is at the start of a line, where a progress line has room.
    pub(super) fn at_line_start(&self) -> bool {
        self.flow.at_line_start()
    }

    /// Prints an event.
    pub(super) fn event(&mut self, event: &StreamResponse) -> Result<(), Failure> {
        if self.is_raw {
            return self.output.json_line(event);
        }
        match &event.payload {
            Some(Payload::Task(task)) => self.task(task),
            Some(Payload::Message(message)) => self.parts(&message.parts),
            Some(Payload::StatusUpdate(update)) => self.status(update.message()),
            Some(Payload::ArtifactUpdate(update)) => {
                let Some(artifact) = &update.artifact else { return Ok(()) };
                if !update.append {
                    self.artifacts.remove(&artifact.artifact_id);
                    self.artifact = None;
                }
                self.heading(artifact)?;
                let shown = self.artifacts.entry(artifact.artifact_id.clone()).or_default();
                for part in &artifact.parts {
                    shown.add(part);
                }
                self.parts(&artifact.parts)
            }
            None => Ok(()),
        }
    }

    /// Ends the answer with the state of the task.
    pub(super) fn end(&mut self, task: Option<&Task>) -> Result<(), Failure> {
        self.end_text()?;
        self.artifact = None;
        self.output.text(|text| {
            if let Some(task) = task {
                if task.state().is_interrupted() {
                    text.line("Task ID", &task.id);
                    text.line("Context ID", &task.context_id);
                }
                text.state("State", task.state());
            }
            text.empty_line();
        })
    }

    /// Ends a line of text, so that something else can be printed.
    pub(super) fn end_text(&mut self) -> Result<(), Failure> {
        let end = self.flow.end();
        self.print(&end)
    }

    /// Prints what of a task was not shown yet.
    fn task(&mut self, task: &Task) -> Result<(), Failure> {
        if task.id != self.task_id {
            self.task_id.clone_from(&task.id);
            self.status_message_id.clear();
            self.artifacts.clear();
        }
        for artifact in &task.artifacts {
            let shown = self.artifacts.get(&artifact.artifact_id).copied().unwrap_or_default();
            let parts = shown.rest(artifact);
            if !parts.is_empty() {
                self.heading(artifact)?;
                let all = self.artifacts.entry(artifact.artifact_id.clone()).or_default();
                *all = Shown::default();
                artifact.parts.iter().for_each(|part| all.add(part));
                self.parts(&parts)?;
            }
        }
        if matches!(task.state(), TaskState::Submitted) {
            return Ok(());
        }
        self.status(task.status_message())
    }

    fn status(&mut self, message: Option<&Message>) -> Result<(), Failure> {
        let Some(message) = message else { return Ok(()) };
        let is_known =
            !message.message_id.is_empty() && message.message_id == self.status_message_id;
        if is_known {
            return Ok(());
        }
        self.status_message_id.clone_from(&message.message_id);
        self.end_text()?;
        self.artifact = None;
        self.parts(&message.parts)?;
        self.end_text()
    }

    /// Prints the name of an artifact, unless its text continues.
    fn heading(&mut self, artifact: &Artifact) -> Result<(), Failure> {
        if self.artifact.as_ref() == Some(&artifact.artifact_id) {
            return Ok(());
        }
        self.end_text()?;
        self.artifact = Some(artifact.artifact_id.clone());
        let name = if artifact.name.is_empty() { &artifact.artifact_id } else { &artifact.name };
        self.output.text(|text| text.line("Artifact", name))
    }

    fn parts(&mut self, parts: &[Part]) -> Result<(), Failure> {
        for part in parts {
            match &part.content {
                Some(Content::Text(text)) => {
                    let shown = self.flow.push(text, is_markdown(part));
                    self.print(&shown)?;
                }
                _ => {
                    self.end_text()?;
                    self.output.text(|text| text.part(part))?;
                }
            }
        }
        Ok(())
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        if text.is_empty() { Ok(()) } else { self.output.write(text.as_bytes()) }
    }
}

impl Shown {
    fn add(&mut self, part: &Part) {
        match part.as_text() {
            Some(text) => self.text += text.len(),
            None => self.others += 1,
        }
    }

    /// What of an artifact was not shown.
    fn rest(self, artifact: &Artifact) -> Vec<Part> {
        let (mut text, mut others) = (self.text, self.others);
        let mut rest = Vec::new();
        for part in &artifact.parts {
            match part.as_text() {
                Some(whole) => {
                    let start = whole.floor_char_boundary(text.min(whole.len()));
                    text -= text.min(whole.len());
                    if start < whole.len() {
                        let unseen = whole.get(start..).unwrap_or_default().to_owned();
                        let content = Some(Content::Text(unseen));
                        rest.push(Part { content, ..part.clone() });
                    }
                }
                None if others > 0 => others -= 1,
                None => rest.push(part.clone()),
            }
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_an_artifact_is_found_in_chunks_and_in_joined_text() {
        let rest = |shown: Shown, parts: Vec<Part>| {
            let artifact = Artifact { parts, ..Artifact::default() };
            let rest = shown.rest(&artifact);
            (rest.iter().filter_map(Part::as_text).collect::<String>(), rest.len())
        };
        let shown = Shown { text: 3, others: 1 };
        let text = |text: &str| Part::text(text);
        assert_eq!(rest(shown, vec![text("abcd")]), ("d".into(), 1));
        assert_eq!(rest(shown, vec![text("ab"), text("cd"), text("e")]), ("de".into(), 2));
        assert_eq!(rest(shown, vec![text("abc"), Part::data(1)]), (String::new(), 0));
        assert_eq!(
            rest(shown, vec![Part::data(1), text("abc"), Part::data(2)]),
            (String::new(), 1)
        );
    }
}
