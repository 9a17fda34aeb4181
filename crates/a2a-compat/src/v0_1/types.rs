//! Tasks, messages and artifacts.

use a2a_core::{
    Role, fresh_id, v1,
    well_known::{Struct, Timestamp},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::part::{self, Part};
use crate::common::{json::some, member, spelling};

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task {
    #[serde(deserialize_with = "member::id")]
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<String>,
    pub(super) status: TaskStatus,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(super) artifacts: Vec<Artifact>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(super) history: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Struct>,
}

/// The status of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskStatus {
    pub(super) state: TaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Message>,
    #[serde(default, with = "member::timestamp", skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<Timestamp>,
}

/// A state, serialized by its name in this revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskState(pub(super) v1::TaskState);

impl Serialize for TaskState {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(match self.0 {
            v1::TaskState::Unspecified => "unknown",
            v1::TaskState::Submitted => "submitted",
            v1::TaskState::Working => "working",
            v1::TaskState::Completed => "completed",
            v1::TaskState::Canceled => "canceled",
            v1::TaskState::Failed | v1::TaskState::Rejected => "failed",
            v1::TaskState::InputRequired | v1::TaskState::AuthRequired => "input-required",
        })
    }
}

impl<'de> Deserialize<'de> for TaskState {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Ok(Self(spelling::state(&name).unwrap_or_default()))
    }
}

/// A message, which has neither an id nor the ids of its task and context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Message {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    pub(super) parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Struct>,
}

/// An artifact, which has an index instead of an id, and marks chunks itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    pub(super) parts: Vec<Part>,
    #[serde(default, deserialize_with = "member::or_default")]
    pub(super) index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) append: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_chunk: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Struct>,
}

impl Task {
    pub(super) fn into_v1(self) -> v1::Task {
        let context_id = self.session_id.unwrap_or_default();
        let place = Place { task_id: &self.id, context_id: &context_id };
        let mut artifacts: Vec<v1::Artifact> = Vec::with_capacity(self.artifacts.len());
        for artifact in self.artifacts {
            // Indexes may be missing or equal; ids are unique.
            let taken = |id: &str| artifacts.iter().any(|known| known.artifact_id == id);
            let id = (artifact.index..).map(artifact_id).find(|id| !taken(id));
            artifacts.push(artifact.into_v1(id.unwrap_or_default()));
        }
        v1::Task {
            status: Some(self.status.into_v1(place)),
            artifacts,
            history: self
                .history
                .into_iter()
                .map(|message| message.into_v1(Role::User, place))
                .collect(),
            metadata: self.metadata,
            id: self.id,
            context_id,
        }
    }

    pub(super) fn from_v1(task: &v1::Task) -> Self {
        let artifacts = (0..).zip(&task.artifacts);
        Self {
            id: task.id.clone(),
            session_id: some(&task.context_id),
            status: TaskStatus::from_v1(task.status.as_ref()),
            artifacts: artifacts
                .map(|(index, artifact)| Artifact::from_v1(artifact, index))
                .collect(),
            history: task.history.iter().map(Message::from_v1).collect(),
            metadata: task.metadata.clone(),
        }
    }

    /// Wraps a message response: every response of this revision is a task.
    pub(super) fn of_message(message: &v1::Message) -> Self {
        Self {
            id: message.task_id.clone(),
            session_id: some(&message.context_id),
            status: TaskStatus::of_message(message),
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        }
    }
}

impl TaskStatus {
    pub(super) fn into_v1(self, place: Place<'_>) -> v1::TaskStatus {
        v1::TaskStatus {
            state: self.state.0.into(),
            message: self.message.map(|message| message.into_v1(Role::Agent, place)),
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

    /// The status of a task that wraps a message.
    pub(super) fn of_message(message: &v1::Message) -> Self {
        Self {
            state: TaskState(v1::TaskState::Completed),
            message: Some(Message::from_v1(message)),
            timestamp: None,
        }
    }
}

/// The task and context of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) task_id: &'a str,
    pub(super) context_id: &'a str,
}

impl Message {
    /// `role` is the default role.
    pub(super) fn into_v1(self, role: Role, place: Place<'_>) -> v1::Message {
        let role = match self.role {
            // Unknown roles are rejected by validation.
            Some(name) => spelling::role(&name).unwrap_or_default(),
            None => role,
        };
        v1::Message {
            message_id: fresh_id(),
            context_id: place.context_id.to_owned(),
            task_id: place.task_id.to_owned(),
            role: role.into(),
            parts: self.parts.into_iter().map(part::into_v1).collect(),
            metadata: self.metadata,
            ..v1::Message::default()
        }
    }

    pub(super) fn from_v1(message: &v1::Message) -> Self {
        Self {
            role: spelling::role_name(message.role()).map(str::to_owned),
            parts: message.parts.iter().map(part::from_v1).collect(),
            metadata: message.metadata.clone(),
        }
    }
}

impl Artifact {
    pub(super) fn into_v1(self, artifact_id: String) -> v1::Artifact {
        v1::Artifact {
            artifact_id,
            name: self.name.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            parts: self.parts.into_iter().map(part::into_v1).collect(),
            metadata: self.metadata,
            extensions: Vec::new(),
        }
    }

    pub(super) fn from_v1(artifact: &v1::Artifact, index: u32) -> Self {
        Self {
            name: some(&artifact.name),
            description: some(&artifact.description),
            parts: artifact.parts.iter().map(part::from_v1).collect(),
            index,
            append: None,
            last_chunk: None,
            metadata: artifact.metadata.clone(),
        }
    }
}

/// The id for an index.
pub(super) fn artifact_id(index: u32) -> String {
    format!("artifact-{index}")
}

/// The index of an id created by [`artifact_id`].
pub(super) fn artifact_index(artifact_id: &str) -> Option<u32> {
    artifact_id.strip_prefix("artifact-")?.parse().ok()
}
