//! The HTTP+JSON routes of the draft, below `/v1`.

use a2a_core::{Error, Operation, ROUTES, Result};
use a2a_kit_rest::fill_path;
use serde_json::{Map, Value, json};

use super::V1Draft;
use crate::{
    AnyRequest, Dialect as _,
    common::json::{object, write},
};

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
    let mut params = request.clone();
    let (method, path) = route(&mut params)?;
    let params = V1Draft.write_params(params);
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

/// The HTTP method and the path of a request: those of 1.0 below `/v1`, except that a subscription is
/// a POST.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an id that is not allowed in a path.
pub(crate) fn route(request: &mut AnyRequest) -> Result<(&'static str, String)> {
    let operation = request.operation();
    let route = ROUTES.iter().find(|route| route.operation == operation);
    let route = route.ok_or_else(|| Error::unsupported("the operation has no route"))?;
    let path = fill_path(route.path, |name| request.variable(name).cloned())?;
    let method = if operation == Operation::SubscribeToTask { "POST" } else { route.method };
    Ok((method, format!("/v1{path}")))
}

/// A member as the value of a query parameter.
fn text(member: &Value) -> String {
    match member {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
