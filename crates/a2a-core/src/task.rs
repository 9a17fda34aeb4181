//! Task states, and the effect of events on a task.

use std::borrow::Cow;

use crate::{
    Error, ErrorKind, Result, json,
    v1::{
        Artifact, Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
        TaskStatusUpdateEvent, stream_response::Payload,
    },
};

impl TaskState {
    /// Finds a state by its name in any revision and spelling, such as `completed`,
    /// `input-required` or `TASK_STATE_CANCELLED`.
    pub fn from_any_name(name: &str) -> Option<Self> {
        Self::try_from(json::spelled::<Self>(name)?).ok()
    }

    /// Returns whether the task has ended and can no longer change (spec §4.1.3).
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => true,
            Self::Unspecified
            | Self::Submitted
            | Self::Working
            | Self::InputRequired
            | Self::AuthRequired => false,
        }
    }

    /// Returns whether the task waits for its caller.
    pub const fn is_interrupted(self) -> bool {
        match self {
            Self::InputRequired | Self::AuthRequired => true,
            Self::Unspecified
            | Self::Submitted
            | Self::Working
            | Self::Completed
            | Self::Failed
            | Self::Canceled
            | Self::Rejected => false,
        }
    }

    /// Returns whether a blocking send returns: the state is terminal or interrupted (spec §3.2.2).
    pub const fn is_settled(self) -> bool {
        self.is_terminal() || self.is_interrupted()
    }
}

impl Task {
    /// The state of the task; unspecified if it has no status.
    pub fn state(&self) -> TaskState {
        self.status.as_ref().map_or(TaskState::Unspecified, TaskStatus::state)
    }

    /// Checks the state of a task that an agent sent. In JSON, an unknown one is an error of reading.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidAgentResponse`] for a number that no revision knows.
    pub fn require_known_state(&self) -> Result<()> {
        self.status.as_ref().map_or(Ok(()), TaskStatus::require_known_state)
    }

    /// The message of the current status.
    pub fn status_message(&self) -> Option<&Message> {
        self.status.as_ref()?.message.as_ref()
    }

    /// The text of the message of the current status; empty if there is none.
    pub fn status_text(&self) -> String {
        self.status_message().map(Message::text).unwrap_or_default()
    }

    /// The reason of the agent, if the task is FAILED or REJECTED; empty if it gave none.
    pub fn failure(&self) -> Option<String> {
        self.status.as_ref()?.failure()
    }

    /// All text of the artifacts, joined.
    pub fn text(&self) -> String {
        self.artifacts.iter().map(Artifact::text).collect()
    }

    /// The newest artifact with a name.
    pub fn artifact(&self, name: &str) -> Option<&Artifact> {
        self.artifacts.iter().rfind(|artifact| artifact.name == name)
    }

    /// Sets a new status. The message of the previous status is moved to the history, as in
    /// official SDKs (spec §3.7 leaves it to the agent).
    pub fn apply_status(&mut self, update: &TaskStatusUpdateEvent) {
        if let Some(status) = &update.status {
            self.set_status(status.clone(), update.metadata.as_ref());
        }
    }

    fn set_status(&mut self, status: TaskStatus, metadata: Option<&crate::well_known::Struct>) {
        let before = self.status.replace(status);
        if let Some(message) = before.and_then(|before| before.message) {
            self.history.push(message);
        }
        merge_metadata(&mut self.metadata, metadata);
    }

    /// Adds an artifact, replaces the one with its id, or appends to it. A chunk of an unknown
    /// artifact creates the artifact.
    pub fn apply_artifact(&mut self, update: &TaskArtifactUpdateEvent) {
        if let Some(artifact) = &update.artifact {
            self.put_artifact(Cow::Borrowed(artifact), update.append);
        }
    }

    /// Applies an event like [`apply_status`](Self::apply_status) and
    /// [`apply_artifact`](Self::apply_artifact), or replaces the task, without a copy.
    pub fn apply_event(&mut self, event: Payload) {
        match event {
            Payload::Task(task) => *self = task,
            Payload::StatusUpdate(TaskStatusUpdateEvent {
                status: Some(status), metadata, ..
            }) => {
                self.set_status(status, metadata.as_ref());
            }
            Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
                artifact: Some(artifact),
                append,
                ..
            }) => self.put_artifact(Cow::Owned(artifact), append),
            Payload::StatusUpdate(_) | Payload::ArtifactUpdate(_) | Payload::Message(_) => {}
        }
    }

    fn put_artifact(&mut self, new: Cow<'_, Artifact>, append: bool) {
        let same = |artifact: &&mut Artifact| artifact.artifact_id == new.artifact_id;
        match self.artifacts.iter_mut().rev().find(same) {
            None => self.artifacts.push(new.into_owned()),
            Some(known) if !append => *known = new.into_owned(),
            Some(known) => {
                known.parts.extend_from_slice(&new.parts);
                if !new.name.is_empty() {
                    known.name.clone_from(&new.name);
                }
                if !new.description.is_empty() {
                    known.description.clone_from(&new.description);
                }
                merge_metadata(&mut known.metadata, new.metadata.as_ref());
                for uri in &new.extensions {
                    if !known.extensions.contains(uri) {
                        known.extensions.push(uri.clone());
                    }
                }
            }
        }
    }

    /// Truncates the history to the newest `limit` messages (spec §3.2.4); `None` keeps all.
    pub fn limit_history(&mut self, limit: Option<usize>) {
        if let Some(limit) = limit
            && self.history.len() > limit
        {
            self.history.drain(..self.history.len() - limit);
        }
    }
}

impl TaskStatus {
    /// Creates a status with the current time.
    pub fn now(state: TaskState, message: Option<Message>) -> Self {
        Self { state: state.into(), message, timestamp: Some(crate::well_known::Timestamp::now()) }
    }

    /// Rejects a number that no revision knows.
    pub(crate) fn require_known_state(&self) -> Result<()> {
        match TaskState::try_from(self.state) {
            Ok(_) => Ok(()),
            Err(error) => {
                let message = format!("unknown task state {}", self.state);
                Err(Error::new(ErrorKind::InvalidAgentResponse, message).with_source(error))
            }
        }
    }

    pub(crate) fn failure(&self) -> Option<String> {
        matches!(self.state(), TaskState::Failed | TaskState::Rejected)
            .then(|| self.message.as_ref().map(Message::text).unwrap_or_default())
    }
}

fn merge_metadata(
    known: &mut Option<crate::well_known::Struct>,
    new: Option<&crate::well_known::Struct>,
) {
    if let Some(new) = new {
        let members = new.iter().map(|(key, value)| (key.clone(), value.clone()));
        known.get_or_insert_default().extend(members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::Part;

    fn chunk(id: &str, text: &str, append: bool) -> TaskArtifactUpdateEvent {
        let artifact = Artifact::new("n", Part::text(text)).with_id(id);
        TaskArtifactUpdateEvent { artifact: Some(artifact), append, ..Default::default() }
    }

    //
    #[test]
    fn chunks_append_to_an_artifact_and_others_replace_it() {
        let mut task = Task::default();
        task.apply_artifact(&chunk("a", "1", false));
        task.apply_artifact(&chunk("b", "x", true));
        task.apply_artifact(&chunk("a", "2", true));
        assert_eq!(task.artifacts.len(), 2);
        assert_eq!(task.artifacts[0].text(), "12");
        task.apply_artifact(&chunk("a", "3", false));
        assert_eq!(task.artifacts[0].text(), "3");
        assert_eq!(task.artifacts[1].text(), "x");
    }

    #[test]
    fn newest_artifact_with_a_name_is_found() {
        let mut task = Task::default();
        for text in ["old", "new"] {
            task.artifacts.push(Artifact::new("plan", text));
        }
        assert_eq!(task.artifact("plan").map(Artifact::text).as_deref(), Some("new"));
        assert_eq!(task.artifact("other"), None);
    }

    #[test]
    fn previous_status_message_becomes_history() {
        let mut task = Task::default();
        for text in ["one", "two"] {
            let status = TaskStatus::now(TaskState::Working, Some(Message::agent(text)));
            task.apply_status(&TaskStatusUpdateEvent {
                status: Some(status),
                ..Default::default()
            });
        }
        assert_eq!(task.history.len(), 1);
        assert_eq!(task.history[0].text(), "one");
        assert_eq!(task.status_text(), "two");
    }

    #[test]
    fn event_that_is_moved_into_a_task_has_the_effect_of_one_that_is_copied() {
        let status = |text: &str| TaskStatusUpdateEvent {
            status: Some(TaskStatus::now(TaskState::Working, Some(Message::agent(text)))),
            metadata: Some(crate::well_known::Struct::from([("note", text)])),
            ..Default::default()
        };
        let (mut moved, mut copied) = (Task::default(), Task::default());
        for update in [chunk("a", "1", false), chunk("a", "2", true), chunk("a", "3", false)] {
            copied.apply_artifact(&update);
            moved.apply_event(Payload::ArtifactUpdate(update));
        }
        for update in [status("one"), TaskStatusUpdateEvent::default(), status("two")] {
            copied.apply_status(&update);
            moved.apply_event(Payload::StatusUpdate(update));
        }
        assert_eq!(moved, copied);
        assert_eq!((moved.text().as_str(), moved.history.len()), ("3", 1));
    }
}
