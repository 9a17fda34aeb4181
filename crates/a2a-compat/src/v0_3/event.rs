//! Responses of sends, and stream events.

use a2a_core::{
    Role,
    v1::{self, stream_response::Payload},
    well_known::Struct,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    message::Message,
    task::{Artifact, Task, TaskStatus, context_of},
};
use crate::common::{json::read_result, member::or_default};

/// An object with a `kind`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Event {
    Task(Task),
    Message(Message),
    StatusUpdate(StatusUpdate),
    ArtifactUpdate(ArtifactUpdate),
}

/// A status update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", rename = "status-update", default)]
pub(super) struct StatusUpdate {
    #[serde(deserialize_with = "or_default")]
    task_id: String,
    #[serde(deserialize_with = "or_default")]
    context_id: String,
    #[serde(deserialize_with = "or_default")]
    status: TaskStatus,
    #[serde(rename = "final", deserialize_with = "or_default")]
    is_final: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

/// An artifact update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", rename = "artifact-update", default)]
pub(super) struct ArtifactUpdate {
    #[serde(deserialize_with = "or_default")]
    task_id: String,
    #[serde(deserialize_with = "or_default")]
    context_id: String,
    #[serde(deserialize_with = "or_default")]
    artifact: Artifact,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    append: bool,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

impl Event {
    /// Reads an object: identified by its `kind`, by `type`, by the wrapper of 1.0, or else by its
    /// members.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
    pub(super) fn read(object: &Value) -> a2a_core::Result<Self> {
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        let has = |name: &str| object.get(name).is_some_and(Value::is_object);
        match text("kind").or_else(|| text("type")) {
            Some("task" | "Task") => read_result(object).map(Self::Task),
            Some("message" | "Message") => read_result(object).map(Self::Message),
            Some("status-update" | "TaskStatusUpdateEvent") => {
                read_result(object).map(Self::StatusUpdate)
            }
            Some("artifact-update" | "TaskArtifactUpdateEvent") => {
                read_result(object).map(Self::ArtifactUpdate)
            }
            _ if has("task") => read_result(&object["task"]).map(Self::Task),
            _ if has("message") => read_result(&object["message"]).map(Self::Message),
            _ if has("statusUpdate") => {
                read_result(&object["statusUpdate"]).map(Self::StatusUpdate)
            }
            _ if has("artifactUpdate") => {
                read_result(&object["artifactUpdate"]).map(Self::ArtifactUpdate)
            }
            _ if has("artifact") => read_result(object).map(Self::ArtifactUpdate),
            _ if has("status") && object.get("taskId").is_some() => {
                read_result(object).map(Self::StatusUpdate)
            }
            _ if has("status") => read_result(object).map(Self::Task),
            _ if object.get("parts").is_some() => read_result(object).map(Self::Message),
            _ => Err(a2a_core::Error::new(
                a2a_core::ErrorKind::InvalidAgentResponse,
                "the response is neither a task, a message nor an update",
            )),
        }
    }

    /// Converts from 1.0; `None` if the event is empty. `is_last`: whether the stream ends with the
    /// event.
    pub(super) fn from_v1(event: v1::StreamResponse, is_last: bool) -> Option<Self> {
        Some(match event.payload? {
            Payload::Task(task) => Self::Task(task.into()),
            Payload::Message(message) => Self::Message(message.into()),
            Payload::StatusUpdate(update) => {
                let state = update.status.as_ref().map(v1::TaskStatus::state).unwrap_or_default();
                Self::StatusUpdate(StatusUpdate {
                    context_id: context_of(update.context_id, &update.task_id),
                    task_id: update.task_id,
                    status: update.status.unwrap_or_default().into(),
                    is_final: is_last || state.is_terminal(),
                    metadata: update.metadata,
                })
            }
            Payload::ArtifactUpdate(update) => Self::ArtifactUpdate(ArtifactUpdate {
                context_id: context_of(update.context_id, &update.task_id),
                task_id: update.task_id,
                artifact: update.artifact.unwrap_or_default().into(),
                append: update.append,
                last_chunk: update.last_chunk,
                metadata: update.metadata,
            }),
        })
    }
}

impl From<Event> for v1::StreamResponse {
    fn from(event: Event) -> Self {
        let payload = match event {
            Event::Task(task) => Payload::Task(task.into()),
            Event::Message(message) => Payload::Message(message.into_v1(Role::Agent)),
            Event::StatusUpdate(update) => Payload::StatusUpdate(v1::TaskStatusUpdateEvent {
                context_id: context_of(update.context_id, &update.task_id),
                task_id: update.task_id,
                status: Some(update.status.into()),
                metadata: update.metadata,
            }),
            Event::ArtifactUpdate(update) => Payload::ArtifactUpdate(v1::TaskArtifactUpdateEvent {
                context_id: context_of(update.context_id, &update.task_id),
                task_id: update.task_id,
                artifact: Some(update.artifact.into()),
                append: update.append,
                last_chunk: update.last_chunk,
                metadata: update.metadata,
            }),
        };
        Self { payload: Some(payload) }
    }
}
