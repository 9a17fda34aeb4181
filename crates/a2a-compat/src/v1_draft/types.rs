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
    // Until 0.3 the proto named it `update`.
    #[serde(alias = "update", skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
    #[serde(default, with = "member::timestamp", skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

/// A state, by the name that this revision has for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskState(pub(super) v1::TaskState);

impl TaskState {
    fn is_unspecified(&self) -> bool {
        self.0 == v1::TaskState::Unspecified
    }

    /// The name; none where the state is not said.
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
    // An example has none.
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
    pub(super) fn up(self) -> v1::Task {
        let artifacts = (0..).zip(self.artifacts);
        let history = self.history.into_iter();
        v1::Task {
            id: self.id,
            context_id: self.context_id,
            status: Some(self.status.up()),
            artifacts: artifacts.map(|(position, artifact)| artifact.up(position)).collect(),
            history: history.map(|message| message.up_from(v1::Role::User)).collect(),
            metadata: self.metadata,
        }
    }

    pub(super) fn down(task: &v1::Task) -> Self {
        Self {
            id: task.id.clone(),
            context_id: context_id(&task.context_id, &task.id),
            status: TaskStatus::down(task.status.as_ref()),
            artifacts: task.artifacts.iter().map(Artifact::down).collect(),
            history: task.history.iter().map(Message::down).collect(),
            metadata: task.metadata.clone(),
        }
    }
}

/// The context of a task, which has to have one here: its own id, where 1.0 leaves it open.
pub(super) fn context_id(context_id: &str, task_id: &str) -> String {
    if context_id.is_empty() { task_id } else { context_id }.to_owned()
}

impl TaskStatus {
    pub(super) fn up(self) -> v1::TaskStatus {
        v1::TaskStatus {
            state: self.state.0.into(),
            message: self.message.map(|message| message.up_from(v1::Role::Agent)),
            timestamp: self.timestamp,
        }
    }

    pub(super) fn down(status: Option<&v1::TaskStatus>) -> Self {
        Self {
            state: TaskState(status.map_or(v1::TaskState::Unspecified, v1::TaskStatus::state)),
            message: status.and_then(|status| status.message.as_ref()).map(Message::down),
            timestamp: status.and_then(|status| status.timestamp),
        }
    }
}

impl Message {
    /// A message of a request: what is missing is missed where the request is checked, but for
    /// the role.
    pub(super) fn up(self) -> v1::Message {
        let role = match self.role {
            Some(name) => spelling::role(&name).unwrap_or_default(),
            None => v1::Role::User,
        };
        v1::Message {
            message_id: self.message_id.unwrap_or_default(),
            context_id: self.context_id.unwrap_or_default(),
            task_id: self.task_id.unwrap_or_default(),
            role: role.into(),
            parts: self.parts.into_iter().map(part::up).collect(),
            metadata: self.metadata,
            extensions: self.extensions,
            reference_task_ids: self.reference_task_ids,
        }
    }

    /// A message of an answer: examples leave out ids, and `role` is whose it is where it does
    /// not say.
    pub(super) fn up_from(mut self, role: v1::Role) -> v1::Message {
        self.message_id.get_or_insert_with(fresh_id);
        self.role = self.role.or_else(|| spelling::role_name(role).map(str::to_owned));
        self.up()
    }

    pub(super) fn down(message: &v1::Message) -> Self {
        Self {
            message_id: Some(message.message_id.clone()),
            context_id: some(&message.context_id),
            task_id: some(&message.task_id),
            role: spelling::role_name(message.role()).map(str::to_owned),
            parts: message.parts.iter().map(part::down).collect(),
            metadata: message.metadata.clone(),
            extensions: message.extensions.clone(),
            reference_task_ids: message.reference_task_ids.clone(),
        }
    }
}

impl Artifact {
    /// `position` tells apart those without an id.
    pub(super) fn up(self, position: usize) -> v1::Artifact {
        v1::Artifact {
            artifact_id: self.artifact_id.unwrap_or_else(|| format!("artifact-{position}")),
            name: self.name.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            parts: self.parts.into_iter().map(part::up).collect(),
            metadata: self.metadata,
            extensions: self.extensions,
        }
    }

    pub(super) fn down(artifact: &v1::Artifact) -> Self {
        Self {
            artifact_id: Some(artifact.artifact_id.clone()),
            name: some(&artifact.name),
            description: some(&artifact.description),
            parts: artifact.parts.iter().map(part::down).collect(),
            metadata: artifact.metadata.clone(),
            extensions: artifact.extensions.clone(),
        }
    }
}
