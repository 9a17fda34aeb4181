//! HTTP+JSON: routes of requests, and answers of responses.

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::{framing, http::Captured};
use crate::exchange::{Answer, ErrorAnswer, Event};

/// What is encoded in a segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The name of a request that is no operation.
pub(crate) const UNKNOWN_ROUTE: &str = "GET of an unknown route";

/// A request of the binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) method: Method,
    /// The path below the URL of the interface, with the query.
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

/// The request for an operation of 1.0 (spec §11.3), below `prefix`.
pub(super) fn route(operation: &str, params: &Value, prefix: &str) -> Route {
    let mut members = params.as_object().cloned().unwrap_or_default();
    let mut take = |name: &str| {
        let id = members.remove(name);
        let id = id.as_ref().and_then(Value::as_str).unwrap_or_default();
        utf8_percent_encode(id, SEGMENT).to_string()
    };
    let (method, path) = match operation {
        "SendMessage" => (Method::POST, "/message:send".to_owned()),
        "SendStreamingMessage" => (Method::POST, "/message:stream".to_owned()),
        "GetTask" => (Method::GET, format!("/tasks/{}", take("id"))),
        "ListTasks" => (Method::GET, "/tasks".to_owned()),
        "CancelTask" => (Method::POST, format!("/tasks/{}:cancel", take("id"))),
        "SubscribeToTask" => (Method::POST, format!("/tasks/{}:subscribe", take("id"))),
        "CreateTaskPushNotificationConfig" => {
            // One deployed server reads the id from the body alone.
            let id = params.get("taskId").and_then(Value::as_str).unwrap_or_default();
            let id = utf8_percent_encode(id, SEGMENT);
            (Method::POST, format!("/tasks/{id}/pushNotificationConfigs"))
        }
        "ListTaskPushNotificationConfigs" => {
            (Method::GET, format!("/tasks/{}/pushNotificationConfigs", take("taskId")))
        }
        "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
            let (task, config) = (take("taskId"), take("id"));
            let method = if operation.starts_with("Get") { Method::GET } else { Method::DELETE };
            (method, format!("/tasks/{task}/pushNotificationConfigs/{config}"))
        }
        "GetExtendedAgentCard" => (Method::GET, "/extendedAgentCard".to_owned()),
        UNKNOWN_ROUTE => (Method::GET, "/no-such-route/of/a2a".to_owned()),
        other => (Method::GET, format!("/{other}")),
    };
    let path = format!("{prefix}{path}");
    if method == Method::POST {
        return Route { method, path, body: Some(Value::Object(members)) };
    }
    let query = query(&members);
    let path = if query.is_empty() { path } else { format!("{path}?{query}") };
    Route { method, path, body: None }
}

fn query(members: &Map<String, Value>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in members {
        match value {
            Value::String(text) => query.append_pair(name, text),
            other => query.append_pair(name, &other.to_string()),
        };
    }
    query.finish()
}

/// What a captured response says.
pub(super) fn of_captured(captured: &Captured) -> Answer {
    framing::answer(captured, answer, |stream, value, at| match value.get("error") {
        Some(object) if object.is_object() => stream.error = Some(ErrorAnswer::read(object)),
        _ => stream.events.push(Event { value, at }),
    })
}

/// What the body of a unary response says.
pub(crate) fn answer(status: u16, body: &[u8]) -> Answer {
    let parsed = if body.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(body) };
    match parsed {
        Ok(value) if (200..300).contains(&status) => match value.get("error") {
            // An error in spite of the status, which another check reports.
            Some(object) if object.get("code").is_some() => {
                Answer::Error(ErrorAnswer::read(object))
            }
            _ => Answer::Result(value),
        },
        Ok(value) => {
            let object = value.get("error").filter(|error| error.is_object()).unwrap_or(&value);
            Answer::Error(ErrorAnswer { code: i64::from(status), ..ErrorAnswer::read(object) })
        }
        Err(error) if (400..600).contains(&status) => Answer::Error(ErrorAnswer {
            code: i64::from(status),
            message: Some(format!("HTTP {status} without a JSON body: {error}")),
            ..Default::default()
        }),
        Err(error) => Answer::Unusable(format!("HTTP {status}, and no JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_have_their_routes() {
        let get = route("GetTask", &json!({"id": "a/b", "historyLength": 0}), "");
        assert_eq!(get.path, "/tasks/a%2Fb?historyLength=0");
        let cancel = route("CancelTask", &json!({"id": "t"}), "/v1");
        assert_eq!((cancel.method, cancel.path.as_str()), (Method::POST, "/v1/tasks/t:cancel"));
        assert_eq!(cancel.body, Some(json!({})));
        let delete =
            route("DeleteTaskPushNotificationConfig", &json!({"taskId": "t", "id": "c"}), "");
        assert_eq!(delete.method, Method::DELETE);
        assert_eq!(delete.path, "/tasks/t/pushNotificationConfigs/c");
    }

    #[test]
    fn status_of_an_error_is_its_code() {
        let body = br#"{"error":{"code":404,"status":"NOT_FOUND","message":"no","details":[
            {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND"}]}}"#;
        let Answer::Error(error) = answer(404, body) else { panic!("an error") };
        assert_eq!((error.code, error.reason.as_deref()), (404, Some("TASK_NOT_FOUND")));
        assert!(matches!(answer(200, b"{}"), Answer::Result(_)));
        assert!(matches!(answer(200, b"<html>"), Answer::Unusable(_)));
    }
}
