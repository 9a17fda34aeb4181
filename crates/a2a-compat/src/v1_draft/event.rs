//! Responses of sends and stream events: wrapped tasks, messages and updates.

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
use crate::common::{json::read_result, member};

/// A response or an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Event {
    Task(Task),
    // The name in the proto, which some implementations use.
    #[serde(alias = "msg")]
    Message(Message),
    #[serde(alias = "status_update")]
    StatusUpdate(TaskStatusUpdateEvent),
    #[serde(alias = "artifact_update")]
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

/// A status update.
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

/// An artifact update.
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
    /// `None` for an empty response.
    pub(super) fn from_v1_response(response: &SendMessageResponse) -> Option<Self> {
        Some(match response.payload.as_ref()? {
            send_message_response::Payload::Task(task) => Self::Task(Task::from_v1(task)),
            send_message_response::Payload::Message(message) => {
                Self::Message(Message::from_v1(message))
            }
        })
    }

    /// `None` for an empty event.
    pub(super) fn from_v1(event: &StreamResponse, is_last: bool) -> Option<Self> {
        Some(match event.payload.as_ref()? {
            Payload::Task(task) => Self::Task(Task::from_v1(task)),
            Payload::Message(message) => Self::Message(Message::from_v1(message)),
            Payload::StatusUpdate(update) => {
                Self::StatusUpdate(TaskStatusUpdateEvent::from_v1(update, is_last))
            }
            Payload::ArtifactUpdate(update) => {
                Self::ArtifactUpdate(TaskArtifactUpdateEvent::from_v1(update))
            }
        })
    }

    pub(super) fn into_v1(self) -> Payload {
        match self {
            Self::Task(task) => Payload::Task(task.into_v1()),
            Self::Message(message) => Payload::Message(message.into_v1_from(Role::Agent)),
            Self::StatusUpdate(update) => Payload::StatusUpdate(update.into_v1()),
            Self::ArtifactUpdate(update) => Payload::ArtifactUpdate(update.into_v1()),
        }
    }

    /// Reads a wrapped or bare object: the document has both.
    pub(super) fn read(response: &Value) -> Result<Self> {
        const NAMES: [&str; 7] = [
            "task",
            "message",
            "msg",
            "statusUpdate",
            "status_update",
            "artifactUpdate",
            "artifact_update",
        ];
        let has = |name: &str| response.get(name).is_some_and(|member| !member.is_null());
        let name = NAMES.into_iter().find(|name| response.get(name).is_some_and(Value::is_object));
        let inner = name.and_then(|name| response.get(name)).unwrap_or(response);
        match name {
            Some("task") => read_result(inner).map(Self::Task),
            Some("message" | "msg") => read_result(inner).map(Self::Message),
            Some("statusUpdate" | "status_update") => read_result(inner).map(Self::StatusUpdate),
            Some(_) => read_result(inner).map(Self::ArtifactUpdate),
            None if has("artifact") => read_result(inner).map(Self::ArtifactUpdate),
            None if has("parts") => read_result(inner).map(Self::Message),
            None if has("taskId") => read_result(inner).map(Self::StatusUpdate),
            None if has("id") => read_result(inner).map(Self::Task),
            None => Err(Error::new(ErrorKind::InvalidAgentResponse, "the response has no content")),
        }
    }
}

impl TaskStatusUpdateEvent {
    fn from_v1(update: &V1StatusUpdate, is_last: bool) -> Self {
        let status = TaskStatus::from_v1(update.status.as_ref());
        let state = status.state.0;
        Self {
            task_id: update.task_id.clone(),
            context_id: context_id(&update.context_id, &update.task_id),
            is_final: state.is_terminal() || (state.is_interrupted() && is_last),
            status,
            metadata: update.metadata.clone(),
        }
    }

    fn into_v1(self) -> V1StatusUpdate {
        V1StatusUpdate {
            task_id: self.task_id,
            context_id: self.context_id,
            status: Some(self.status.into_v1()),
            metadata: self.metadata,
        }
    }
}

impl TaskArtifactUpdateEvent {
    fn from_v1(update: &V1ArtifactUpdate) -> Self {
        Self {
            task_id: update.task_id.clone(),
            context_id: context_id(&update.context_id, &update.task_id),
            artifact: Artifact::from_v1(update.artifact.as_ref().unwrap_or(&Default::default())),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.clone(),
        }
    }

    fn into_v1(self) -> V1ArtifactUpdate {
        V1ArtifactUpdate {
            task_id: self.task_id,
            context_id: self.context_id,
            artifact: Some(self.artifact.into_v1(0)),
            append: self.append,
            last_chunk: self.last_chunk,
            metadata: self.metadata,
        }
    }
}
