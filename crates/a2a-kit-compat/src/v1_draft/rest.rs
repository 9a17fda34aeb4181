//! The HTTP+JSON routes of the draft, below `/v1`.

use a2a_core::{Error, Operation, Result};
use a2a_kit_http::uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::V1Draft;
use crate::{
    AnyRequest, Dialect as _,
    common::json::{object, write},
};

/// All but the unreserved characters of RFC 3986 §2.3: a `:` would start a verb.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An encoded request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EncodedRequest {
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
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an id that is not allowed in a path.
pub fn write_rest(request: &AnyRequest) -> Result<EncodedRequest> {
    let (method, path) = route(request)?;
    let params = V1Draft.write_params(request.clone());
    let in_query: &[&'static str] = match request {
        AnyRequest::GetTask(_) => &["historyLength"],
        AnyRequest::ListTasks(_) => &[
            "contextId",
            "status",
            "pageSize",
            "pageToken",
            "historyLength",
            "lastUpdatedAfter",
            "includeArtifacts",
        ],
        AnyRequest::ListTaskPushNotificationConfigs(_) => &["pageSize", "pageToken"],
        _ => &[],
    };
    let query = in_query.iter().filter_map(|&name| Some((name, text(params.get(name)?)))).collect();
    let body = match request {
        _ if method != "POST" => None,
        AnyRequest::CancelTask(request) => Some(object([("metadata", write(&request.metadata))])),
        AnyRequest::SubscribeToTask(_) => Some(json!({})),
        _ => Some(params),
    };
    Ok(EncodedRequest { method, path, query, body })
}

/// The HTTP method and the path of a request.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an id that is not allowed in a path.
pub(crate) fn route(request: &AnyRequest) -> Result<(&'static str, String)> {
    let segment = |name: &str, id: &str| match uri::is_segment(id) {
        true => Ok(utf8_percent_encode(id, SEGMENT).to_string()),
        false => {
            let why = format!("can't be {id:?} in the path of a URL");
            Err(Error::invalid_params(name, why))
        }
    };
    let task = |id: &str| segment("id", id).map(|id| format!("/v1/tasks/{id}"));
    let configs = |task_id: &str| {
        segment("taskId", task_id).map(|id| format!("/v1/tasks/{id}/pushNotificationConfigs"))
    };
    let config = |task_id: &str, id: &str| -> Result<String> {
        Ok(format!("{}/{}", configs(task_id)?, segment("id", id)?))
    };
    Ok(match request {
        AnyRequest::SendMessage(_) => ("POST", "/v1/message:send".into()),
        AnyRequest::SendStreamingMessage(_) => ("POST", "/v1/message:stream".into()),
        AnyRequest::GetTask(request) => ("GET", task(&request.id)?),
        AnyRequest::ListTasks(_) => ("GET", "/v1/tasks".into()),
        AnyRequest::CancelTask(request) => ("POST", format!("{}:cancel", task(&request.id)?)),
        AnyRequest::SubscribeToTask(request) => {
            ("POST", format!("{}:subscribe", task(&request.id)?))
        }
        AnyRequest::CreateTaskPushNotificationConfig(config) => ("POST", configs(&config.task_id)?),
        AnyRequest::GetTaskPushNotificationConfig(request) => {
            ("GET", config(&request.task_id, &request.id)?)
        }
        AnyRequest::ListTaskPushNotificationConfigs(request) => ("GET", configs(&request.task_id)?),
        AnyRequest::DeleteTaskPushNotificationConfig(request) => {
            ("DELETE", config(&request.task_id, &request.id)?)
        }
        AnyRequest::GetExtendedAgentCard(_) => ("GET", "/v1/extendedAgentCard".into()),
    })
}

/// A member as the value of a query parameter.
fn text(member: &Value) -> String {
    match member {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
