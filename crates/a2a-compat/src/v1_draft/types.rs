//! Tasks, messages and artifacts.

use a2a_core::{
    fresh_id, v1,
    well_known::{Struct, Timestamp},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::part::{self, Part};
use crate::common::{json::some, member, spelling};

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task {
    pub(super) id: String,
    #[serde(default, deserialize_with = "member::or_default")]
    context_id: String,
    status: TaskStatus,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    artifacts: Vec<Artifact>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    history: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

/// The status of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskStatus {
    #[serde(default, skip_serializing_if = "TaskState::is_unspecified")]
    pub(super) state: TaskState,
    // The proto of 0.3 named it `update`.
    #[serde(alias = "update", skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
    #[serde(default, with = "member::timestamp", skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

/// A state, serialized by its name in this revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskState(pub(super) v1::TaskState);

impl TaskState {
    fn is_unspecified(&self) -> bool {
        self.0 == v1::TaskState::Unspecified
    }

    /// The name; empty if unspecified.
    pub(super) fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            v1::TaskState::Unspecified => return None,
            v1::TaskState::Submitted => "submitted",
            v1::TaskState::Working => "working",
            v1::TaskState::Completed => "completed",
            v1::TaskState::Failed => "failed",
            v1::TaskState::Canceled => "cancelled",
            v1::TaskState::InputRequired => "input-required",
            v1::TaskState::Rejected => "rejected",
            v1::TaskState::AuthRequired => "auth-required",
        })
    }
}

impl Serialize for TaskState {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(to)
    }
}

impl<'de> Deserialize<'de> for TaskState {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Option::<String>::deserialize(from)?.unwrap_or_default();
        Ok(Self(spelling::state(&name).unwrap_or_default()))
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    extensions: Vec<String>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    reference_task_ids: Vec<String>,
}

/// An artifact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact {
    // Missing in an example.
    artifact_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    extensions: Vec<String>,
}

impl Task {
    pub(super) fn into_v1(self) -> v1::Task {
        let artifacts = (0..).zip(self.artifacts);
        let history = self.history.into_iter();
        v1::Task {
            id: self.id,
            context_id: self.context_id,
            status: Some(self.status.into_v1()),
            artifacts: artifacts.map(|(position, artifact)| artifact.into_v1(position)).collect(),
            history: history.map(|message| message.into_v1_from(v1::Role::User)).collect(),
            metadata: self.metadata,
        }
    }

    pub(super) fn from_v1(task: &v1::Task) -> Self {
        Self {
            id: task.id.clone(),
            context_id: context_id(&task.context_id, &task.id),
            status: TaskStatus::from_v1(task.status.as_ref()),
            artifacts: task.artifacts.iter().map(Artifact::from_v1).collect(),
            history: task.history.iter().map(Message::from_v1).collect(),
            metadata: task.metadata.clone(),
        }
    }
}

/// The context id of a task: its own id if it has none, because the draft requires one.
pub(super) fn context_id(context_id: &str, task_id: &str) -> String {
    if context_id.is_empty() { task_id } else { context_id }.to_owned()
}

impl TaskStatus {
    pub(super) fn into_v1(self) -> v1::TaskStatus {
        v1::TaskStatus {
            state: self.state.0.into(),
            message: self.message.map(|message| message.into_v1_from(v1::Role::Agent)),
            timestamp: self.timestamp,
        }
    }

    pub(super) fn from_v1(status: Option<&v1::TaskStatus>) -> Self {
        Self {
            state: TaskState(status.map_or(v1::TaskState::Unspecified, v1::TaskStatus::state)),
            message: status.and_then(|status| status.message.as_ref()).map(Message::from_v1),
            timestamp: status.and_then(|status| status.timestamp),
        }
    }
}

impl Message {
    /// Converts a message of a request. Validation rejects missing members, except the role.
    pub(super) fn into_v1(self) -> v1::Message {
        let role = match self.role {
            Some(name) => spelling::role(&name).unwrap_or_default(),
            None => v1::Role::User,
        };
        v1::Message {
            message_id: self.message_id.unwrap_or_default(),
            context_id: self.context_id.unwrap_or_default(),
            task_id: self.task_id.unwrap_or_default(),
            role: role.into(),
            parts: self.parts.into_iter().map(part::into_v1).collect(),
            metadata: self.metadata,
            extensions: self.extensions,
            reference_task_ids: self.reference_task_ids,
        }
    }

    /// Converts a message of a response. Ids may be missing, as in examples; `role` is the default
    /// role.
    pub(super) fn into_v1_from(mut self, role: v1::Role) -> v1::Message {
        self.message_id.get_or_insert_with(fresh_id);
        self.role = self.role.or_else(|| spelling::role_name(role).map(str::to_owned));
        self.into_v1()
    }

    pub(super) fn from_v1(message: &v1::Message) -> Self {
        Self {
            message_id: Some(message.message_id.clone()),
            context_id: some(&message.context_id),
            task_id: some(&message.task_id),
            role: spelling::role_name(message.role()).map(str::to_owned),
            parts: message.parts.iter().map(part::from_v1).collect(),
            metadata: message.metadata.clone(),
            extensions: message.extensions.clone(),
            reference_task_ids: message.reference_task_ids.clone(),
        }
    }
}

impl Artifact {
    /// `position` identifies artifacts without an id.
    pub(super) fn into_v1(self, position: usize) -> v1::Artifact {
        v1::Artifact {
            artifact_id: self.artifact_id.unwrap_or_else(|| format!("artifact-{position}")),
            name: self.name.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            parts: self.parts.into_iter().map(part::into_v1).collect(),
            metadata: self.metadata,
            extensions: self.extensions,
        }
    }

    pub(super) fn from_v1(artifact: &v1::Artifact) -> Self {
        Self {
            artifact_id: Some(artifact.artifact_id.clone()),
            name: some(&artifact.name),
            description: some(&artifact.description),
            parts: artifact.parts.iter().map(part::from_v1).collect(),
            metadata: artifact.metadata.clone(),
            extensions: artifact.extensions.clone(),
        }
    }
}
