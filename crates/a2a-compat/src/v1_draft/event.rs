//! What answers a message: a task, a message, and in a stream updates, each under its name.

use a2a_core::{
    Error, ErrorKind, Result, Role,
    v1::{
        SendMessageResponse, StreamResponse, TaskArtifactUpdateEvent as V1ArtifactUpdate,
        TaskStatusUpdateEvent as V1StatusUpdate, send_message_response, stream_response::Payload,
    },
    well_known::Struct,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::types::{Artifact, Message, Task, TaskStatus, context_id};
use crate::common::{json::read_answer, member};

/// An answer or an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Event {
    Task(Task),
    // The name in the proto, which some print.
    #[serde(alias = "msg")]
    Message(Message),
    #[serde(alias = "status_update")]
    StatusUpdate(TaskStatusUpdateEvent),
    #[serde(alias = "artifact_update")]
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

/// A new status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskStatusUpdateEvent {
    task_id: String,
    #[serde(default, deserialize_with = "member::or_default")]
    context_id: String,
    status: TaskStatus,
    #[serde(rename = "final", default, deserialize_with = "member::or_default")]
    is_final: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

/// A new artifact, or a chunk of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskArtifactUpdateEvent {
    task_id: String,
    #[serde(default, deserialize_with = "member::or_default")]
    context_id: String,
    artifact: Artifact,
    #[serde(default, deserialize_with = "member::or_default")]
    append: bool,
    #[serde(default, deserialize_with = "member::or_default")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

impl Event {
    /// `None` is an answer without content.
    pub(super) fn of_answer(answer: &SendMessageResponse) -> Option<Self> {
        Some(match answer.payload.as_ref()? {
            send_message_response::Payload::Task(task) => Self::Task(Task::down(task)),
            send_message_response::Payload::Message(message) => {
                Self::Message(Message::down(message))
            }
        })
    }

    /// `None` is an event without content.
    pub(super) fn down(event: &StreamResponse, is_last: bool) -> Option<Self> {
        Some(match event.payload.as_ref()? {
            Payload::Task(task) => Self::Task(Task::down(task)),
            Payload::Message(message) => Self::Message(Message::down(message)),
            Payload::StatusUpdate(update) => {
                Self::StatusUpdate(TaskStatusUpdateEvent::down(update, is_last))
            }
            Payload::ArtifactUpdate(update) => {
                Self::ArtifactUpdate(TaskArtifactUpdateEvent::down(update))
            }
        })
    }

    pub(super) fn up(self) -> Payload {
        match self {
            Self::Task(task) => Payload::Task(task.up()),
            Self::Message(message) => Payload::Message(message.up_from(Role::Agent)),
            Self::StatusUpdate(update) => Payload::StatusUpdate(update.up()),
            Self::ArtifactUpdate(update) => Payload::ArtifactUpdate(update.up()),
        }
    }

    /// Reads what is under its name, and what is not: the document has both.
    pub(super) fn read(answer: &Value) -> Result<Self> {
        const NAMES: [&str; 7] = [
            "task",
            "message",
            "msg",
            "statusUpdate",
            "status_update",
            "artifactUpdate",
            "artifact_update",
        ];
        let has = |name: &str| answer.get(name).is_some_and(|member| !member.is_null());
        let name = NAMES.into_iter().find(|name| answer.get(name).is_some_and(Value::is_object));
        let inner = name.and_then(|name| answer.get(name)).unwrap_or(answer);
        match name {
            Some("task") => read_answer(inner).map(Self::Task),
            Some("message" | "msg") => read_answer(inner).map(Self::Message),
            Some("statusUpdate" | "status_update") => read_answer(inner).map(Self::StatusUpdate),
            Some(_) => read_answer(inner).map(Self::ArtifactUpdate),
            None if has("artifact") => read_answer(inner).map(Self::ArtifactUpdate),
            None if has("parts") => read_answer(inner).map(Self::Message),
            None if has("taskId") => read_answer(inner).map(Self::StatusUpdate),
            None if has("id") => read_answer(inner).map(Self::Task),
            None => Err(Error::new(ErrorKind::InvalidAgentResponse, "the answer has no content")),
        }
    }
}

impl TaskStatusUpdateEvent {
    fn down(update: &V1StatusUpdate, is_last: bool) -> Self {
        let status = TaskStatus::down(update.status.as_ref());
        let state = status.state.0;
        Self {
            task_id: update.task_id.clone(),
            context_id: context_id(&update.context_id, &update.task_id),
            is_final: state.is_terminal() || (state.is_interrupted() && is_last),
            status,
            metadata: update.metadata.clone(),
        }
    }

    fn up(self) -> V1StatusUpdate {
        V1StatusUpdate {
            task_id: self.task_id,
            context_id: self.context_id,
            status: Some(self.status.up()),
            metadata: self.metadata,
        }
    }
}

impl TaskArtifactUpdateEvent {
    fn down(update: &V1ArtifactUpdate) -> Self {
        Self {
            task_id: update.task_id.clone(),
            context_id: context_id(&update.context_id, &update.task_id),
            artifact: Artifact::down(update.artifact.as_ref().unwrap_or(&Default::default())),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.clone(),
        }
    }

    fn up(self) -> V1ArtifactUpdate {
        V1ArtifactUpdate {
            task_id: self.task_id,
            context_id: self.context_id,
            artifact: Some(self.artifact.up(0)),
            append: self.append,
            last_chunk: self.last_chunk,
            metadata: self.metadata,
        }
    }
}
