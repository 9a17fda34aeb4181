//! Reads a request from its path, query and body.

use a2a_core::{Operation, Result};
use a2a_kit_http::{query, service_parameters};
use a2a_kit_rest::camel_case;
use serde_json::{Map, Value};

use super::route::Target;
use crate::{
    AnyRequest, Dialect as _, detect::RestShape, operation::is_of_webhook,
    proto::json as proto_json, v0_3::V0_3, v1_draft,
};

/// Query parameters, with names in lowerCamelCase.
pub(super) type Query = Vec<(String, String)>;

/// Parses a query string.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for text that is not UTF-8.
pub(super) fn read_query(text: Option<&str>) -> Result<Query> {
    let members = query::parse(text.unwrap_or_default())?
        .into_iter()
        .filter(|(name, _)| !name.eq_ignore_ascii_case(service_parameters::VERSION.as_str()))
        .map(|(name, value)| (camel_case(name).into_owned(), value.into_owned()));
    Ok(members.collect())
}

/// Reads a request in the given format. `body` is the body as sent, `value` the parsed body.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the invalid member.
pub(super) fn read(
    shape: RestShape,
    target: Target,
    query: Query,
    body: &[u8],
    value: Value,
) -> Result<AnyRequest> {
    let operation = target.operation;
    let is_send = matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage);
    match shape {
        RestShape::Draft => read_draft(target, query, value),
        RestShape::V03Proto if is_send => {
            Ok(AnyRequest::of_send(operation, proto_json::read_send_request(body)?))
        }
        RestShape::V03Json if is_send => V0_3.read_params(operation, value),
        RestShape::V03Proto | RestShape::V03Json => read_v0_3(target, query, body, value),
    }
}

fn read_draft(target: Target, mut members: Query, body: Value) -> Result<AnyRequest> {
    let Target { operation, task_id, config_id } = target;
    // Ids of the path come last, and override those of the query.
    let task = if is_of_webhook(operation) { "taskId" } else { "id" };
    for (name, id) in [(task, task_id), ("configId", config_id)] {
        if !id.is_empty() {
            members.push((name.to_owned(), id));
        }
    }
    v1_draft::read_rest(operation, body, members)
}

/// Reads a request of 0.3 other than a send. Nearly all parameters are in the path.
fn read_v0_3(target: Target, query: Query, body: &[u8], value: Value) -> Result<AnyRequest> {
    let Target { operation, task_id, config_id } = target;
    match operation {
        Operation::CreateTaskPushNotificationConfig => {
            return proto_json::read_create_config(body, &task_id)
                .map(AnyRequest::CreateTaskPushNotificationConfig);
        }
        Operation::ListTasks => return read_list(query),
        _ => {}
    }
    let mut params: Map<String, Value> =
        query.into_iter().map(|(name, text)| (name, text.into())).collect();
    if let Some(metadata) = value.get("metadata") {
        params.insert("metadata".into(), metadata.clone());
    }
    params.insert("id".into(), task_id.into());
    if !config_id.is_empty() {
        params.insert("pushNotificationConfigId".into(), config_id.into());
    }
    V0_3.read_params(operation, Value::Object(params))
}

/// Reads a list request, which 0.3 only mentions in a table, without parameters: those of the draft
/// are used. Artifacts are included by default, as in all responses of 0.3.
fn read_list(query: Query) -> Result<AnyRequest> {
    let mut request = v1_draft::read_rest(Operation::ListTasks, Value::Null, query)?;
    if let AnyRequest::ListTasks(list) = &mut request {
        list.include_artifacts = Some(list.include_artifacts.unwrap_or(true));
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_names_are_converted_to_camel_case() {
        let query =
            read_query(Some("history_length=3&pageSize=2&A2A-Version=0.3&context_id=a+b")).unwrap();
        let expected = [("historyLength", "3"), ("pageSize", "2"), ("contextId", "a b")];
        assert_eq!(query, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
