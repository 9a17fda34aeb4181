//! The part of the gRPC package `a2a.v1` that the checks of older revisions use, written by hand.
//!
//! Fields that are not read are left out: protobuf skips them.

use prost::{Enumeration, Message as _};
use serde_json::{Value, json};

/// A part: its text.
#[derive(Clone, PartialEq, prost::Message)]
struct Part {
    #[prost(string, optional, tag = "1")]
    text: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Message {
    #[prost(string, tag = "1")]
    message_id: String,
    #[prost(string, tag = "2")]
    context_id: String,
    #[prost(string, tag = "3")]
    task_id: String,
    #[prost(int32, tag = "4")]
    role: i32,
    #[prost(message, repeated, tag = "5")]
    content: Vec<Part>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Configuration {
    #[prost(bool, tag = "4")]
    blocking: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SendMessageRequest {
    #[prost(message, optional, tag = "1")]
    request: Option<Message>,
    #[prost(message, optional, tag = "2")]
    configuration: Option<Configuration>,
}

/// The requests with a resource name only.
#[derive(Clone, PartialEq, prost::Message)]
struct NameRequest {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
enum TaskState {
    Unspecified = 0,
    Submitted = 1,
    Working = 2,
    Completed = 3,
    Failed = 4,
    Cancelled = 5,
    InputRequired = 6,
    Rejected = 7,
    AuthRequired = 8,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TaskStatus {
    #[prost(enumeration = "TaskState", tag = "1")]
    state: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Task {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    context_id: String,
    #[prost(message, optional, tag = "3")]
    status: Option<TaskStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusUpdate {
    #[prost(string, tag = "1")]
    task_id: String,
    #[prost(string, tag = "2")]
    context_id: String,
    #[prost(message, optional, tag = "3")]
    status: Option<TaskStatus>,
    #[prost(bool, tag = "4")]
    r#final: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ArtifactUpdate {
    #[prost(string, tag = "1")]
    task_id: String,
    #[prost(string, tag = "2")]
    context_id: String,
}

/// `SendMessageResponse` and `StreamResponse`, whose members have the same numbers.
#[derive(Clone, PartialEq, prost::Message)]
struct Payload {
    #[prost(message, optional, tag = "1")]
    task: Option<Task>,
    #[prost(message, optional, tag = "2")]
    message: Option<Message>,
    #[prost(message, optional, tag = "3")]
    status_update: Option<StatusUpdate>,
    #[prost(message, optional, tag = "4")]
    artifact_update: Option<ArtifactUpdate>,
}

/// Writes a request from the JSON form of 0.3: `message` of `message/send`, or `id`.
pub(super) fn encode(operation: &str, params: &Value) -> Vec<u8> {
    let text = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    match operation {
        "SendMessage" | "SendStreamingMessage" => {
            let request = params.get("message").map(|message| {
                let parts = message.get("parts").and_then(Value::as_array);
                let content = parts
                    .into_iter()
                    .flatten()
                    .map(|part| Part { text: Some(text(part, "text")) })
                    .collect();
                Message {
                    message_id: text(message, "messageId"),
                    context_id: text(message, "contextId"),
                    task_id: text(message, "taskId"),
                    role: 1,
                    content,
                }
            });
            let configuration = Some(Configuration { blocking: true });
            SendMessageRequest { request, configuration }.encode_to_vec()
        }
        _ => NameRequest { name: format!("tasks/{}", text(params, "id")) }.encode_to_vec(),
    }
}

/// Reads a response in the JSON form of 0.3.
pub(super) fn decode(operation: &str, bytes: &[u8]) -> Result<Value, String> {
    let malformed = |error: prost::DecodeError| format!("malformed message: {error}");
    if matches!(operation, "GetTask" | "CancelTask") {
        return Ok(task(&Task::decode(bytes).map_err(malformed)?));
    }
    let payload = Payload::decode(bytes).map_err(malformed)?;
    Ok(match payload {
        Payload { task: Some(of), .. } => task(&of),
        Payload { message: Some(message), .. } => json!({
            "kind": "message", "messageId": message.message_id, "role": "agent",
            "contextId": message.context_id, "parts": vec![json!({}); message.content.len()],
        }),
        Payload { status_update: Some(update), .. } => json!({
            "kind": "status-update", "taskId": update.task_id, "contextId": update.context_id,
            "status": status(update.status.as_ref()), "final": update.r#final,
        }),
        Payload { artifact_update: Some(update), .. } => json!({
            "kind": "artifact-update", "taskId": update.task_id, "contextId": update.context_id,
            "artifact": {},
        }),
        _ => json!({}),
    })
}

fn task(task: &Task) -> Value {
    json!({
        "kind": "task", "id": task.id, "contextId": task.context_id,
        "status": status(task.status.as_ref()),
    })
}

fn status(status: Option<&TaskStatus>) -> Value {
    let state = match status.map(TaskStatus::state).unwrap_or(TaskState::Unspecified) {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Cancelled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
    };
    json!({ "state": state })
}
