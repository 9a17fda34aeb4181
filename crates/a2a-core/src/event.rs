//! Accessors of events.

use crate::v1::{
    Artifact, Message, Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent, stream_response::Payload,
};

impl StreamResponse {
    /// The task, if the event is one.
    pub fn task(&self) -> Option<&Task> {
        match &self.payload {
            Some(Payload::Task(task)) => Some(task),
            _ => None,
        }
    }

    /// The status update, if the event is one.
    pub fn status_update(&self) -> Option<&TaskStatusUpdateEvent> {
        match &self.payload {
            Some(Payload::StatusUpdate(update)) => Some(update),
            _ => None,
        }
    }

    /// The artifact or its chunk, if the event is one.
    pub fn artifact_update(&self) -> Option<&TaskArtifactUpdateEvent> {
        match &self.payload {
            Some(Payload::ArtifactUpdate(update)) => Some(update),
            _ => None,
        }
    }

    /// The message of the event: one without a task, or the message of a status.
    pub fn message(&self) -> Option<&Message> {
        match self.payload.as_ref()? {
            Payload::Message(message) => Some(message),
            Payload::Task(_) | Payload::StatusUpdate(_) => self.status()?.message.as_ref(),
            Payload::ArtifactUpdate(_) => None,
        }
    }

    /// The state of the task, if the event has a status.
    pub fn state(&self) -> Option<TaskState> {
        self.status().map(TaskStatus::state)
    }

    /// The reason of the agent, if the task is FAILED or REJECTED; empty if it gave none.
    pub fn failure(&self) -> Option<String> {
        self.status()?.failure()
    }

    /// The text of the event: that of the artifact chunk, or of [`message`](Self::message); of a
    /// whole task, that of its artifacts.
    ///
    /// ```
    /// use a2a_core::{Artifact, v1::{StreamResponse, TaskArtifactUpdateEvent, stream_response::Payload}};
    ///
    /// let artifact = Some(Artifact::new("answer", "Hello"));
    /// let update = TaskArtifactUpdateEvent { artifact, ..Default::default() };
    /// let event = StreamResponse { payload: Some(Payload::ArtifactUpdate(update)) };
    /// assert_eq!(event.text(), "Hello");
    /// ```
    pub fn text(&self) -> String {
        match &self.payload {
            Some(Payload::Task(task)) if !task.artifacts.is_empty() => task.text(),
            Some(Payload::ArtifactUpdate(update)) => update.text(),
            _ => self.message().map(Message::text).unwrap_or_default(),
        }
    }

    /// The id of the task; `None` for a message without one.
    pub fn task_id(&self) -> Option<&str> {
        let id = match self.payload.as_ref()? {
            Payload::Task(task) => &task.id,
            Payload::Message(message) => &message.task_id,
            Payload::StatusUpdate(update) => &update.task_id,
            Payload::ArtifactUpdate(update) => &update.task_id,
        };
        (!id.is_empty()).then_some(id)
    }

    /// Checks the state of an event that an agent sent. In JSON, an unknown one is an error of
    /// reading.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](crate::ErrorKind::InvalidAgentResponse) for a number that no
    /// revision knows.
    pub fn require_known_state(&self) -> crate::Result<()> {
        self.status().map_or(Ok(()), TaskStatus::require_known_state)
    }

    fn status(&self) -> Option<&TaskStatus> {
        match self.payload.as_ref()? {
            Payload::Task(task) => task.status.as_ref(),
            Payload::StatusUpdate(update) => update.status.as_ref(),
            Payload::Message(_) | Payload::ArtifactUpdate(_) => None,
        }
    }
}

impl TaskStatusUpdateEvent {
    /// The new state; unspecified if the update has no status.
    pub fn state(&self) -> TaskState {
        self.status.as_ref().map_or(TaskState::Unspecified, TaskStatus::state)
    }

    /// The message of the status.
    pub fn message(&self) -> Option<&Message> {
        self.status.as_ref()?.message.as_ref()
    }

    /// The text of the message; empty if there is none.
    pub fn text(&self) -> String {
        self.message().map(Message::text).unwrap_or_default()
    }
}

impl TaskArtifactUpdateEvent {
    /// The id of the artifact; empty if the update has none.
    pub fn artifact_id(&self) -> &str {
        self.artifact.as_ref().map_or("", |artifact| &artifact.artifact_id)
    }

    /// The parts of the artifact or chunk.
    pub fn parts(&self) -> &[Part] {
        self.artifact.as_ref().map_or(&[], |artifact| &artifact.parts)
    }

    /// The text parts of the artifact or chunk, joined.
    pub fn text(&self) -> String {
        self.artifact.as_ref().map(Artifact::text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(payload: Payload) -> StreamResponse {
        StreamResponse { payload: Some(payload) }
    }

    fn status(state: TaskState, text: Option<&str>) -> StreamResponse {
        let status = Some(TaskStatus::now(state, text.map(Message::agent)));
        let task_id = "t".to_owned();
        event(Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id,
            status,
            ..Default::default()
        }))
    }

    #[test]
    fn text_is_that_of_the_payload() {
        let artifact = || Artifact::new("n", "chunk");
        let task = Task { artifacts: vec![artifact()], ..Task::default() };
        let update = TaskArtifactUpdateEvent { artifact: Some(artifact()), ..Default::default() };
        for (event, text) in [
            (event(Payload::Task(task)), "chunk"),
            (event(Payload::ArtifactUpdate(update)), "chunk"),
            (event(Payload::Message(Message::agent("hello"))), "hello"),
            (status(TaskState::Working, Some("working")), "working"),
            (status(TaskState::Working, None), ""),
            (StreamResponse::default(), ""),
        ] {
            assert_eq!(event.text(), text, "{event:?}");
        }
    }

    #[test]
    fn failure_is_the_reason_of_failed_and_rejected_tasks() {
        for (event, failure) in [
            (status(TaskState::Failed, Some("no seats")), Some("no seats")),
            (status(TaskState::Rejected, None), Some("")),
            (status(TaskState::Canceled, Some("stopped")), None),
            (event(Payload::Message(Message::agent("hello"))), None),
        ] {
            assert_eq!(event.failure().as_deref(), failure, "{event:?}");
        }
    }

    #[test]
    fn updates_without_content_are_read_as_empty() {
        let update = TaskArtifactUpdateEvent::default();
        assert_eq!((update.artifact_id(), update.parts(), update.text()), ("", &[][..], "".into()));
        let update = TaskStatusUpdateEvent::default();
        assert_eq!((update.state(), update.message()), (TaskState::Unspecified, None));
        assert_eq!(status(TaskState::Working, None).task_id(), Some("t"));
        assert_eq!(event(Payload::Message(Message::agent("hello"))).task_id(), None);
    }
}
