//! Stream events: status and artifact updates.

use a2a_core::{
    v1::{
        StreamResponse, TaskArtifactUpdateEvent as V1ArtifactUpdate,
        TaskStatusUpdateEvent as V1StatusUpdate, stream_response::Payload,
    },
    well_known::Struct,
};
use serde::{Deserialize, Serialize};

use super::types::{Artifact, Place, Task, TaskStatus, artifact_id, artifact_index};
use crate::common::member;

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Event {
    Status(TaskStatusUpdateEvent),
    Artifact(TaskArtifactUpdateEvent),
}

/// A new status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskStatusUpdateEvent {
    #[serde(deserialize_with = "member::id")]
    pub(super) id: String,
    pub(super) status: TaskStatus,
    #[serde(rename = "final", default, deserialize_with = "member::or_default")]
    is_final: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

/// A new artifact, or a chunk of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskArtifactUpdateEvent {
    #[serde(deserialize_with = "member::id")]
    id: String,
    artifact: Artifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

impl Event {
    /// Converts a task to its status, and a message to the status of a completed task: the revision
    /// has no events for them. `None` if the event is empty.
    pub(super) fn from_v1(event: &StreamResponse, is_last: bool) -> Option<Self> {
        Some(Self::Status(match event.payload.as_ref()? {
            Payload::ArtifactUpdate(update) => {
                return Some(Self::Artifact(TaskArtifactUpdateEvent::from_v1(update)));
            }
            Payload::StatusUpdate(update) => {
                let status = TaskStatus::from_v1(update.status.as_ref());
                TaskStatusUpdateEvent::from_v1(
                    &update.task_id,
                    status,
                    is_last,
                    update.metadata.clone(),
                )
            }
            Payload::Task(task) => {
                let status = TaskStatus::from_v1(task.status.as_ref());
                TaskStatusUpdateEvent::from_v1(&task.id, status, is_last, task.metadata.clone())
            }
            Payload::Message(message) => {
                let status = TaskStatus::of_message(message);
                TaskStatusUpdateEvent::from_v1(&message.task_id, status, true, None)
            }
        }))
    }
}

impl TaskStatusUpdateEvent {
    fn from_v1(id: &str, status: TaskStatus, is_last: bool, metadata: Option<Struct>) -> Self {
        let state = status.state.0;
        // Clients wait for `final` before they provide input, so an interrupted state is final if
        // the stream ends with it.
        let is_final = state.is_terminal() || (state.is_interrupted() && is_last);
        Self { id: id.to_owned(), status, is_final, metadata }
    }

    pub(super) fn into_v1(self) -> V1StatusUpdate {
        let place = Place { task_id: &self.id, context_id: "" };
        V1StatusUpdate {
            status: Some(self.status.into_v1(place)),
            context_id: String::new(),
            metadata: self.metadata,
            task_id: self.id,
        }
    }
}

impl TaskArtifactUpdateEvent {
    fn from_v1(update: &V1ArtifactUpdate) -> Self {
        let artifact = update.artifact.clone().unwrap_or_default();
        let index = artifact_index(&artifact.artifact_id).unwrap_or(0);
        Self {
            id: update.task_id.clone(),
            artifact: Artifact {
                append: Some(update.append),
                last_chunk: Some(update.last_chunk),
                ..Artifact::from_v1(&artifact, index)
            },
            metadata: update.metadata.clone(),
        }
    }

    pub(super) fn into_v1(self) -> V1ArtifactUpdate {
        let id = artifact_id(self.artifact.index);
        V1ArtifactUpdate {
            task_id: self.id,
            context_id: String::new(),
            append: self.artifact.append.unwrap_or(false),
            last_chunk: self.artifact.last_chunk.unwrap_or(false),
            artifact: Some(self.artifact.into_v1(id)),
            metadata: self.metadata,
        }
    }
}

/// The payload of a status update, an artifact update, or a task, which some agents send.
pub(super) fn read(event: &serde_json::Value) -> a2a_core::Result<Payload> {
    use crate::common::json::read_result;

    let has = |name: &str| event.get(name).is_some_and(|member| !member.is_null());
    Ok(if has("artifact") {
        Payload::ArtifactUpdate(read_result::<TaskArtifactUpdateEvent>(event)?.into_v1())
    } else if !has("final") && ["artifacts", "history", "sessionId"].into_iter().any(has) {
        Payload::Task(read_result::<Task>(event)?.into_v1())
    } else {
        Payload::StatusUpdate(read_result::<TaskStatusUpdateEvent>(event)?.into_v1())
    })
}
