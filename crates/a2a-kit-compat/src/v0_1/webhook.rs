//! Webhook bodies of 0.1: the task id and its status.

use a2a_core::{
    Result,
    v1::{StreamResponse, stream_response::Payload},
};
use serde_json::{Value, json};

use crate::common::{Format, json::rename};

/// Writes a webhook body; `None` for events that this revision does not notify of: it only does so
/// when a task ends or is interrupted.
pub fn write_webhook(event: &StreamResponse) -> Option<Value> {
    let is_settled = match event.payload.as_ref()? {
        Payload::Task(task) => task.state().is_settled(),
        Payload::StatusUpdate(update) => {
            update.status.as_ref().is_some_and(|status| status.state().is_settled())
        }
        Payload::Message(_) => true,
        Payload::ArtifactUpdate(_) => return None,
    };
    let mut status = Format::V0_1.write_event(event.clone(), true);
    let (id, status) = (status["id"].take(), status["status"].take());
    is_settled.then(|| json!({"taskId": id, "finalStatus": status}))
}

/// Reads a webhook body: a status, or a whole task, which is also allowed.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub fn read_webhook(body: &Value) -> Result<StreamResponse> {
    let mut event = body.clone();
    let members = event.as_object_mut().filter(|body| body.contains_key("finalStatus"));
    if let Some(members) = members {
        rename(members, "taskId", "id");
        rename(members, "finalStatus", "status");
        return Format::V0_1.read_event(event);
    }
    let payload = Some(Payload::Task(Format::V0_1.read_task(event)?));
    Ok(StreamResponse { payload })
}
