//! Webhook bodies of 0.1: the task id and its status.

use a2a_core::{
    Result,
    v1::{StreamResponse, TaskStatusUpdateEvent, stream_response::Payload},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::types::{Place, Task, TaskStatus};
use crate::common::{
    json::{read_result, write},
    member,
};

/// A webhook body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notification {
    #[serde(deserialize_with = "member::id")]
    task_id: String,
    final_status: TaskStatus,
}

/// Writes a webhook body; `None` for events that this revision does not notify of: it only does so
/// when a task ends or is interrupted.
pub fn write_webhook(event: &StreamResponse) -> Option<Value> {
    let (task_id, final_status) = match event.payload.as_ref()? {
        Payload::Task(task) => (&task.id, TaskStatus::from_v1(task.status.as_ref())),
        Payload::StatusUpdate(update) => {
            (&update.task_id, TaskStatus::from_v1(update.status.as_ref()))
        }
        Payload::Message(message) => (&message.task_id, TaskStatus::of_message(message)),
        Payload::ArtifactUpdate(_) => return None,
    };
    let notification = Notification { task_id: task_id.clone(), final_status };
    notification.final_status.state.0.is_settled().then(|| write(&notification))
}

/// Reads a webhook body: a status, or a whole task, which is also allowed.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub fn read_webhook(body: &Value) -> Result<StreamResponse> {
    let payload = if body.get("finalStatus").is_some() {
        let Notification { task_id, final_status } = read_result(body)?;
        let place = Place { task_id: &task_id, context_id: "" };
        Payload::StatusUpdate(TaskStatusUpdateEvent {
            status: Some(final_status.into_v1(place)),
            task_id,
            ..TaskStatusUpdateEvent::default()
        })
    } else {
        Payload::Task(read_result::<Task>(body)?.into_v1())
    };
    Ok(StreamResponse { payload: Some(payload) })
}
