//! Tasks, their status and their artifacts.

use a2a_core::{
    Role, TaskState, v1,
    well_known::{Struct, Timestamp},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{message::Message, part::Part};
use crate::common::{
    json::{some, write},
    member::{or_default, timestamp},
    spelling,
};

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", rename = "task", default)]
pub(super) struct Task {
    #[serde(deserialize_with = "or_default")]
    id: String,
    #[serde(deserialize_with = "or_default")]
    context_id: String,
    #[serde(deserialize_with = "or_default")]
    status: TaskStatus,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<Artifact>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    history: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

/// The status of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TaskStatus {
    #[serde(deserialize_with = "or_default")]
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
    #[serde(with = "timestamp", skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

/// An artifact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Artifact {
    #[serde(deserialize_with = "or_default")]
    artifact_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(deserialize_with = "or_default")]
    parts: Vec<Part>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

/// Writes a task of 0.2 or 0.3, which is also the webhook body.
pub fn write_task(task: &v1::Task) -> Value {
    write(&Task::from(task.clone()))
}

/// The context id of a task without one: the revision requires it, and all objects of the task must
/// agree on it.
pub(super) fn context_of(context_id: String, task_id: &str) -> String {
    if context_id.is_empty() { task_id.to_owned() } else { context_id }
}

impl From<Task> for v1::Task {
    fn from(task: Task) -> Self {
        Self {
            context_id: context_of(task.context_id, &task.id),
            id: task.id,
            status: Some(task.status.into()),
            artifacts: task.artifacts.into_iter().map(Into::into).collect(),
            history: task.history.into_iter().map(|message| message.into_v1(Role::Agent)).collect(),
            metadata: task.metadata,
        }
    }
}

impl From<v1::Task> for Task {
    fn from(task: v1::Task) -> Self {
        Self {
            context_id: context_of(task.context_id, &task.id),
            id: task.id,
            status: task.status.unwrap_or_default().into(),
            artifacts: task.artifacts.into_iter().map(Into::into).collect(),
            history: task.history.into_iter().map(Into::into).collect(),
            metadata: task.metadata,
        }
    }
}

impl From<TaskStatus> for v1::TaskStatus {
    fn from(status: TaskStatus) -> Self {
        let state = spelling::state(&status.state).unwrap_or_else(|| {
            tracing::debug!(state = status.state, "unknown task state");
            TaskState::Unspecified
        });
        Self {
            state: state.into(),
            message: status.message.map(|message| message.into_v1(Role::Agent)),
            timestamp: status.timestamp,
        }
    }
}

impl From<v1::TaskStatus> for TaskStatus {
    fn from(status: v1::TaskStatus) -> Self {
        let state = match status.state() {
            TaskState::Submitted => "submitted",
            TaskState::Working => "working",
            TaskState::Completed => "completed",
            TaskState::Failed => "failed",
            TaskState::Canceled => "canceled",
            TaskState::InputRequired => "input-required",
            TaskState::Rejected => "rejected",
            TaskState::AuthRequired => "auth-required",
            TaskState::Unspecified => "unknown",
        };
        Self {
            state: state.into(),
            message: status.message.map(Into::into),
            timestamp: status.timestamp,
        }
    }
}

impl From<Artifact> for v1::Artifact {
    fn from(artifact: Artifact) -> Self {
        Self {
            artifact_id: artifact.artifact_id,
            name: artifact.name.unwrap_or_default(),
            description: artifact.description.unwrap_or_default(),
            parts: artifact.parts.into_iter().map(Into::into).collect(),
            metadata: artifact.metadata,
            extensions: artifact.extensions,
        }
    }
}

impl From<v1::Artifact> for Artifact {
    fn from(artifact: v1::Artifact) -> Self {
        Self {
            artifact_id: artifact.artifact_id,
            name: some(&artifact.name),
            description: some(&artifact.description),
            parts: artifact.parts.into_iter().map(Into::into).collect(),
            extensions: artifact.extensions,
            metadata: artifact.metadata,
        }
    }
}
