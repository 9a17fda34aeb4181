//! What a webhook is told: the task, and its status.

use a2a_core::{
    Result,
    v1::{StreamResponse, TaskStatusUpdateEvent, stream_response::Payload},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::types::{Place, Task, TaskStatus};
use crate::common::{
    json::{read_answer, write},
    member,
};

/// The body that a webhook gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notification {
    #[serde(deserialize_with = "member::id")]
    task_id: String,
    final_status: TaskStatus,
}

/// Writes the body of a webhook; `None` for events that this revision does not notify of: it
/// does so when a task ends, or waits for its client.
pub fn write_webhook(event: &StreamResponse) -> Option<Value> {
    let (task_id, final_status) = match event.payload.as_ref()? {
        Payload::Task(task) => (&task.id, TaskStatus::down(task.status.as_ref())),
        Payload::StatusUpdate(update) => {
            (&update.task_id, TaskStatus::down(update.status.as_ref()))
        }
        Payload::Message(message) => (&message.task_id, TaskStatus::of_message(message)),
        Payload::ArtifactUpdate(_) => return None,
    };
    let notification = Notification { task_id: task_id.clone(), final_status };
    notification.final_status.state.0.is_settled().then(|| write(&notification))
}

/// Reads the body of a webhook: a status, or a whole task, which is allowed too.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub fn read_webhook(body: &Value) -> Result<StreamResponse> {
    let payload = if body.get("finalStatus").is_some() {
        let Notification { task_id, final_status } = read_answer(body)?;
        let place = Place { task_id: &task_id, context_id: "" };
        Payload::StatusUpdate(TaskStatusUpdateEvent {
            status: Some(final_status.up(place)),
            task_id,
            ..TaskStatusUpdateEvent::default()
        })
    } else {
        Payload::Task(read_answer::<Task>(body)?.up())
    };
    Ok(StreamResponse { payload: Some(payload) })
}
