//! Distinguishes bodies of the draft from those of 1.0.

use serde_json::Value;

/// Returns whether parameters have draft markers: lower-case states and roles, nested files and
/// data, `blocking`, resource names.
pub(crate) fn has_draft_marker(params: &Value) -> bool {
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

/// Returns whether parameters have markers of 1.0: upper-case states and roles, flat parts, renamed
/// members.
pub(crate) fn has_v1_marker(params: &Value) -> bool {
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
    fn bodies_have_the_markers_of_their_revision() {
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
