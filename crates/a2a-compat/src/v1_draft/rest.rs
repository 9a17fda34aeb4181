//! The HTTP+JSON routes of the draft, below `/v1`.

use a2a_core::{Operation, Result};
use serde_json::{Map, Value, json};

use super::V1Draft;
use crate::{AnyRequest, Dialect as _};

/// An encoded request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RestRequest {
    /// The HTTP method, in upper case.
    pub method: &'static str,
    /// The path below the interface's URL, with ids percent-encoded.
    pub path: String,
    /// The query parameters, not encoded.
    pub query: Vec<(&'static str, String)>,
    /// The body, if there is one.
    pub body: Option<Value>,
}

/// Reads a request from its body (`null` if there is none) and the members of its path and query.
///
/// The task id of a path is `id`; for configs it is `taskId`, with `configId`.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the path of the member.
pub fn read_rest(
    operation: Operation,
    body: Value,
    members: impl IntoIterator<Item = (String, String)>,
) -> Result<AnyRequest> {
    let mut params = match body {
        Value::Null => Value::Object(Map::new()),
        body => body,
    };
    if let Value::Object(params) = &mut params {
        params.extend(members.into_iter().map(|(name, text)| (name, Value::String(text))));
    }
    V1Draft.read_params(operation, params)
}

/// Writes a request.
pub fn write_rest(request: &AnyRequest) -> RestRequest {
    let get = |path: String| RestRequest { method: "GET", path, query: Vec::new(), body: None };
    let post = |path: String, body: Value| RestRequest {
        method: "POST",
        path,
        query: Vec::new(),
        body: Some(body),
    };
    let task = |id: &str| format!("/v1/tasks/{}", encode(id));
    let configs = |task_id: &str| format!("{}/pushNotificationConfigs", task(task_id));
    let config = |task_id: &str, id: &str| format!("{}/{}", configs(task_id), encode(id));
    match request {
        AnyRequest::SendMessage(_) => {
            post("/v1/message:send".into(), V1Draft.write_params(request.clone()))
        }
        AnyRequest::SendStreamingMessage(_) => {
            post("/v1/message:stream".into(), V1Draft.write_params(request.clone()))
        }
        AnyRequest::GetTask(wanted) => {
            let length = wanted.history_length;
            let query = length.map(|length| ("historyLength", length.to_string()));
            RestRequest { query: query.into_iter().collect(), ..get(task(&wanted.id)) }
        }
        AnyRequest::ListTasks(_) => {
            let names = [
                "contextId",
                "status",
                "pageSize",
                "pageToken",
                "historyLength",
                "lastUpdatedAfter",
                "includeArtifacts",
            ];
            RestRequest {
                query: query(&V1Draft.write_params(request.clone()), &names),
                ..get("/v1/tasks".into())
            }
        }
        AnyRequest::CancelTask(wanted) => {
            let body = match &wanted.metadata {
                Some(metadata) => json!({"metadata": metadata}),
                None => json!({}),
            };
            post(format!("{}:cancel", task(&wanted.id)), body)
        }
        AnyRequest::SubscribeToTask(wanted) => {
            post(format!("{}:subscribe", task(&wanted.id)), json!({}))
        }
        AnyRequest::CreateTaskPushNotificationConfig(wanted) => {
            post(configs(&wanted.task_id), V1Draft.write_params(request.clone()))
        }
        AnyRequest::GetTaskPushNotificationConfig(wanted) => {
            get(config(&wanted.task_id, &wanted.id))
        }
        AnyRequest::ListTaskPushNotificationConfigs(wanted) => RestRequest {
            query: query(&V1Draft.write_params(request.clone()), &["pageSize", "pageToken"]),
            ..get(configs(&wanted.task_id))
        },
        AnyRequest::DeleteTaskPushNotificationConfig(wanted) => {
            RestRequest { method: "DELETE", ..get(config(&wanted.task_id, &wanted.id)) }
        }
        AnyRequest::GetExtendedAgentCard(_) => get("/v1/extendedAgentCard".into()),
    }
}

/// The members for a query, in the order of `names`.
fn query(params: &Value, names: &[&'static str]) -> Vec<(&'static str, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    names.iter().filter_map(|&name| Some((name, text(params.get(name)?)))).collect()
}

/// Percent-encodes reserved characters of a path segment.
fn encode(id: &str) -> String {
    let mut encoded = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
