//! Requests that send a message.

use serde_json::{Value, json};
use uuid::Uuid;

/// A new id.
pub(crate) fn fresh_id() -> String {
    Uuid::new_v4().to_string()
}

/// A `SendMessageRequest` of the user.
#[derive(Clone, Debug)]
pub(crate) struct Ask(Value);

impl Ask {
    pub(crate) fn text(text: &str) -> Self {
        Self::parts(&json!([{ "text": text }]))
    }

    pub(crate) fn parts(parts: &Value) -> Self {
        let message = json!({"messageId": fresh_id(), "role": "ROLE_USER", "parts": parts});
        Self(json!({ "message": message }))
    }

    /// A message that answers the question of `task`.
    pub(crate) fn answer(task: &Value, text: &str) -> Self {
        let context_id = task["contextId"].as_str().unwrap_or_default();
        Self::text(text).to_task(task["id"].as_str().unwrap_or_default()).in_context(context_id)
    }

    pub(crate) fn to_task(self, id: &str) -> Self {
        self.with("/message", "taskId", id.into())
    }

    pub(crate) fn in_context(self, id: &str) -> Self {
        self.with("/message", "contextId", id.into())
    }

    /// Prefixes the id of the message, by which our server recognizes some requests.
    pub(crate) fn with_id_prefix(self, prefix: &str) -> Self {
        self.with("/message", "messageId", format!("{prefix}-{}", fresh_id()).into())
    }

    pub(crate) fn with_metadata(self, metadata: Value) -> Self {
        self.with("/message", "metadata", metadata)
    }

    pub(crate) fn with_configuration(self, configuration: Value) -> Self {
        self.with("", "configuration", configuration)
    }

    pub(crate) fn for_tenant(self, tenant: &str) -> Self {
        self.with("", "tenant", tenant.into())
    }

    fn with(mut self, pointer: &str, member: &str, value: Value) -> Self {
        if let Some(object) = self.0.pointer_mut(pointer) {
            object[member] = value;
        }
        self
    }
}

impl From<Ask> for Value {
    fn from(ask: Ask) -> Self {
        ask.0
    }
}

impl From<&str> for Ask {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
