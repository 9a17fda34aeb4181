//! Printing the events of several tasks.

use a2a_core::v1::{StreamResponse, stream_response::Payload};

use crate::{
    failure::Failure,
    output::{EventText, Output, Text},
};

/// Prints events as they arrive, with the ids of the task when it is another one than before.
#[derive(Debug)]
pub(crate) struct Printer {
    output: Output,
    task_id: Option<String>,
    events: EventText,
}

impl Printer {
    pub(crate) fn new(output: Output) -> Self {
        Self { output, task_id: None, events: EventText::new(output.verbose()) }
    }

    /// Prints an event.
    ///
    /// # Errors
    ///
    /// Returns a failure if stdout is closed.
    pub(crate) fn print(&mut self, event: &StreamResponse) -> Result<(), Failure> {
        if self.output.is_json() {
            return self.output.json_line(event);
        }
        let text = self.text(event);
        self.output.text(&text)
    }

    fn text(&mut self, event: &StreamResponse) -> Text {
        let task_id = event.task_id().map(str::to_owned);
        let mut text = Text::new();
        if task_id != self.task_id {
            self.events = EventText::new(self.output.verbose());
            // A task and a message show their ids themselves.
            let context_id = match &event.payload {
                Some(Payload::StatusUpdate(update)) => Some(&update.context_id),
                Some(Payload::ArtifactUpdate(update)) => Some(&update.context_id),
                Some(Payload::Task(_) | Payload::Message(_)) | None => None,
            };
            if let (Some(task_id), Some(context_id)) = (&task_id, context_id) {
                text.line("Task ID", task_id);
                text.line("Context ID", context_id);
            }
            self.task_id = task_id;
        }
        text.append(self.events.event(event));
        text
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        TaskState,
        v1::{TaskStatus, TaskStatusUpdateEvent},
    };

    use super::*;
    use crate::settings::value::Format;

    #[test]
    fn ids_are_shown_when_the_task_changes() {
        let event = |task: &str, state| StreamResponse {
            payload: Some(Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: task.into(),
                context_id: "c".into(),
                status: Some(TaskStatus::now(state, None)),
                ..TaskStatusUpdateEvent::default()
            })),
        };
        let mut printer = Printer::new(Output::plain(Format::Text));
        let shown: String = [
            event("a", TaskState::Working),
            event("a", TaskState::Completed),
            event("b", TaskState::Working),
        ]
        .iter()
        .map(|event| printer.text(event).plain())
        .collect();
        assert_eq!(
            shown,
            "Task ID: a\nContext ID: c\nState: WORKING\nState: COMPLETED\n\
             Task ID: b\nContext ID: c\nState: WORKING\n"
        );
    }
}
