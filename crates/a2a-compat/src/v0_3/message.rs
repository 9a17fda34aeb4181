//! Messages.

use a2a_core::{Role, v1, well_known::Struct};
use serde::{Deserialize, Serialize};

use super::part::Part;
use crate::common::{json::some, member::or_default, spelling};

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", rename = "message", default)]
pub(super) struct Message {
    #[serde(deserialize_with = "or_default")]
    pub(super) message_id: String,
    /// `user` or `agent`. Other names are kept, so that validation can report their path.
    pub(super) role: Option<String>,
    #[serde(deserialize_with = "or_default")]
    parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    reference_task_ids: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
}

impl Message {
    /// Converts to 1.0. `default` is used if the role is missing.
    pub(super) fn into_v1(self, default: Role) -> v1::Message {
        let role = match self.role.as_deref() {
            None | Some("") => default,
            Some(name) => spelling::role(name).unwrap_or(Role::Unspecified),
        };
        v1::Message {
            message_id: self.message_id,
            context_id: self.context_id.unwrap_or_default(),
            task_id: self.task_id.unwrap_or_default(),
            role: role.into(),
            parts: self.parts.into_iter().map(Into::into).collect(),
            metadata: self.metadata,
            extensions: self.extensions,
            reference_task_ids: self.reference_task_ids,
        }
    }
}

impl From<v1::Message> for Message {
    fn from(message: v1::Message) -> Self {
        let role = match message.role() {
            Role::User => "user",
            // The revision only has two roles: any role but the user's becomes the agent's.
            Role::Agent | Role::Unspecified => "agent",
        };
        Self {
            message_id: message.message_id,
            role: Some(role.into()),
            parts: message.parts.into_iter().map(Into::into).collect(),
            context_id: some(&message.context_id),
            task_id: some(&message.task_id),
            reference_task_ids: message.reference_task_ids,
            extensions: message.extensions,
            metadata: message.metadata,
        }
    }
}
