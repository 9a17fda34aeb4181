//! What tells a body of the draft from one of 1.0, where nothing else does.

use serde_json::Value;

/// Returns whether the parameters of a request have what only the draft has: names of states
/// and roles in lower case, nested files and data, `blocking`, names of resources.
pub fn has_draft_marker(params: &Value) -> bool {
    let configuration = &params["configuration"];
    role(params).is_some_and(|role| matches!(role, "user" | "agent"))
        || parts(params)
            .iter()
            .any(|part| part["file"].is_object() || is_nested_data(&part["data"]))
        || has(configuration, "blocking")
        || has(configuration, "pushNotificationConfig")
        || ["name", "parent", "lastUpdatedAfter", "pushNotificationConfig"]
            .into_iter()
            .any(|name| has(params, name))
        || params["status"].as_str().is_some_and(|status| status.starts_with(char::is_lowercase))
}

/// Returns whether the parameters of a request have what only 1.0 has: names of the proto for
/// states and roles, flat parts, members that the draft calls something else.
pub fn has_v1_marker(params: &Value) -> bool {
    let configuration = &params["configuration"];
    role(params).is_some_and(|role| role.starts_with("ROLE_"))
        || parts(params).iter().any(|part| has(part, "raw") || has(part, "url"))
        || has(configuration, "returnImmediately")
        || has(configuration, "taskPushNotificationConfig")
        || ["tenant", "statusTimestampAfter", "url"].into_iter().any(|name| has(params, name))
        || params["status"].as_str().is_some_and(|status| status.starts_with("TASK_STATE_"))
}

fn role(params: &Value) -> Option<&str> {
    params["message"]["role"].as_str()
}

fn parts(params: &Value) -> &[Value] {
    params["message"]["parts"].as_array().map_or(&[], Vec::as_slice)
}

fn has(object: &Value, name: &str) -> bool {
    object.get(name).is_some()
}

fn is_nested_data(data: &Value) -> bool {
    data.as_object().is_some_and(|data| data.len() == 1 && data.contains_key("data"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_has_the_markers_of_the_revision_it_was_written_for() {
        let part = |part: Value| json!({"message": {"parts": [{"text": "x"}, part]}});
        for params in [
            json!({"message": {"role": "user"}}),
            json!({"message": {"role": "agent"}}),
            part(json!({"file": {"fileWithUri": "https://a.b"}})),
            part(json!({"data": {"data": {"a": 1}}})),
            json!({"configuration": {"blocking": false}}),
            json!({"configuration": {"pushNotificationConfig": {}}}),
            json!({"name": "tasks/t"}),
            json!({"parent": "tasks/t"}),
            json!({"taskId": "t", "pushNotificationConfig": {"url": "https://a.b"}}),
            json!({"status": "input-required"}),
            json!({"lastUpdatedAfter": 1}),
        ] {
            assert!(has_draft_marker(&params), "{params}");
            assert!(!has_v1_marker(&params), "{params}");
        }
        for params in [
            json!({"message": {"role": "ROLE_USER"}}),
            part(json!({"raw": "aGk="})),
            part(json!({"url": "https://a.b"})),
            json!({"configuration": {"returnImmediately": true}}),
            json!({"configuration": {"taskPushNotificationConfig": {}}}),
            json!({"tenant": "t"}),
            json!({"taskId": "t", "url": "https://a.b"}),
            json!({"status": "TASK_STATE_WORKING"}),
            json!({"statusTimestampAfter": "2026-01-01T00:00:00Z"}),
        ] {
            assert!(has_v1_marker(&params), "{params}");
            assert!(!has_draft_marker(&params), "{params}");
        }
        for params in [
            json!(null),
            json!([1]),
            json!({"id": "t", "historyLength": 1}),
            part(json!({"data": {"data": 1, "more": 2}})),
            json!({"message": "x", "configuration": 1, "status": 3}),
        ] {
            assert!(!has_draft_marker(&params), "{params}");
            assert!(!has_v1_marker(&params), "{params}");
        }
    }
}
