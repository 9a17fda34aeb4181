//! Which recorded call a request corresponds to.

use a2a_core::Operation;
use serde_json::{Value, value::RawValue};

/// An operation and its request, without what differs between two runs of the same client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestKey {
    operation: Operation,
    request: Value,
}

impl RequestKey {
    /// The key of a request.
    pub(crate) fn new(
        operation: Operation,
        request: Option<&RawValue>,
    ) -> Result<Self, serde_json::Error> {
        let mut request: Value = match request {
            Some(request) => serde_json::from_str(request.get())?,
            None => Value::Null,
        };
        // Clients choose a new one for each message.
        if let Some(message) = request.get_mut("message").and_then(Value::as_object_mut) {
            message.remove("messageId");
        }
        Ok(Self { operation, request })
    }

    /// The key that identifies a message by its parts and the task that it belongs to, whatever
    /// its metadata and the configuration of the send are; `None` for other requests.
    pub(crate) fn of_message(&self) -> Option<Self> {
        let message = self.request.get("message")?;
        let member = |name: &str| message.get(name).cloned().unwrap_or_default();
        let request = ["parts", "taskId", "contextId"].map(member).to_vec();
        Some(Self { operation: self.operation, request: Value::Array(request) })
    }
}
