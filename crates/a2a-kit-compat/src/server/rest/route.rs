//! The routes of 0.3 and the draft below `/v1`.

use a2a_core::Operation;
use http::Method;
use percent_encoding::percent_decode_str;

/// The patterns of paths for [`resolve`]. Routers can't distinguish `/tasks/{id}:cancel` from
/// `/tasks/{id}`.
const PATTERNS: [&str; 9] = [
    "/v1/message:send",
    "/v1/message:stream",
    "/v1/tasks",
    "/v1/tasks/{id}",
    "/v1/tasks/{id}/pushNotificationConfigs",
    "/v1/tasks/{id}/pushNotificationConfigs/{config_id}",
    // The spelling of the proto of 0.3.
    "/v1/task/{id}/pushNotificationConfigs",
    "/v1/card",
    "/v1/extendedAgentCard",
];

/// The encoded forms of a colon, which some HTTP libraries send.
const ENCODED_COLONS: [&str; 2] = ["%3A", "%3a"];

/// Returns the patterns of paths, with each way to write a colon.
pub(super) fn patterns() -> impl Iterator<Item = String> {
    PATTERNS.into_iter().flat_map(|pattern| {
        let encoded = ENCODED_COLONS.into_iter().filter(move |_| pattern.contains(':'));
        let encoded = encoded.map(move |colon| pattern.replace(':', colon));
        [pattern.to_owned()].into_iter().chain(encoded)
    })
}

/// The operation of a request, and the ids of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) operation: Operation,
    /// The task; empty if the path has none.
    pub(super) task_id: String,
    /// The webhook; empty if the path has none.
    pub(super) config_id: String,
}

/// Finds the operation of a request. `path` is still percent-encoded.
pub(super) fn resolve(method: &Method, path: &str) -> Option<Target> {
    let segments: Vec<&str> = path.strip_prefix("/v1/")?.split('/').collect();
    let (operation, task_id, config_id) = match (method.as_str(), &segments[..]) {
        ("POST", ["message:send" | "message%3Asend" | "message%3asend"]) => {
            (Operation::SendMessage, "", "")
        }
        ("POST", ["message:stream" | "message%3Astream" | "message%3astream"]) => {
            (Operation::SendStreamingMessage, "", "")
        }
        ("GET", ["tasks"]) | ("POST", ["tasks", "list"]) => (Operation::ListTasks, "", ""),
        ("GET", ["card" | "extendedAgentCard"]) => (Operation::GetExtendedAgentCard, "", ""),
        (method, ["tasks", task]) => {
            let (operation, id) = of_task(method, task)?;
            (operation, id, "")
        }
        (method, ["tasks" | "task", id, "pushNotificationConfigs"]) => {
            let operation = match method {
                "POST" => Operation::CreateTaskPushNotificationConfig,
                "GET" => Operation::ListTaskPushNotificationConfigs,
                _ => return None,
            };
            (operation, *id, "")
        }
        (method, ["tasks", id, "pushNotificationConfigs", config_id]) if !config_id.is_empty() => {
            let operation = match method {
                "GET" => Operation::GetTaskPushNotificationConfig,
                "DELETE" => Operation::DeleteTaskPushNotificationConfig,
                _ => return None,
            };
            (operation, *id, *config_id)
        }
        _ => return None,
    };
    if segments.len() > 1 && task_id.is_empty() && operation != Operation::ListTasks {
        return None;
    }
    Some(Target { operation, task_id: decode(task_id)?, config_id: decode(config_id)? })
}

/// Splits the verb from the id of a task.
fn of_task<'a>(method: &str, task: &'a str) -> Option<(Operation, &'a str)> {
    if let Some(id) = task.strip_suffix(":cancel") {
        return (method == "POST").then_some((Operation::CancelTask, id));
    }
    if let Some(id) = task.strip_suffix(":subscribe") {
        // The proto specifies GET, the text POST.
        return matches!(method, "GET" | "POST").then_some((Operation::SubscribeToTask, id));
    }
    (method == "GET").then_some((Operation::GetTask, task))
}

fn decode(segment: &str) -> Option<String> {
    Some(percent_decode_str(segment).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use Operation::{
        CancelTask, CreateTaskPushNotificationConfig, DeleteTaskPushNotificationConfig,
        GetExtendedAgentCard, GetTask, GetTaskPushNotificationConfig,
        ListTaskPushNotificationConfigs, ListTasks, SendMessage, SendStreamingMessage,
        SubscribeToTask,
    };

    use super::*;

    #[test]
    fn paths_below_v1_resolve_to_operations() {
        for (method, path, operation, task_id, config_id) in [
            ("POST", "/v1/message:send", SendMessage, "", ""),
            ("POST", "/v1/message:stream", SendStreamingMessage, "", ""),
            ("GET", "/v1/tasks/t", GetTask, "t", ""),
            ("GET", "/v1/tasks/a%2Fb%3Acancel", GetTask, "a/b:cancel", ""),
            ("GET", "/v1/tasks/list", GetTask, "list", ""),
            ("GET", "/v1/tasks", ListTasks, "", ""),
            ("POST", "/v1/tasks/list", ListTasks, "", ""),
            ("POST", "/v1/message%3Asend", SendMessage, "", ""),
            ("POST", "/v1/message%3astream", SendStreamingMessage, "", ""),
            ("POST", "/v1/tasks/a:b:cancel", CancelTask, "a:b", ""),
            ("POST", "/v1/tasks/t:subscribe", SubscribeToTask, "t", ""),
            ("GET", "/v1/tasks/t:subscribe", SubscribeToTask, "t", ""),
            (
                "POST",
                "/v1/tasks/t/pushNotificationConfigs",
                CreateTaskPushNotificationConfig,
                "t",
                "",
            ),
            (
                "POST",
                "/v1/task/t/pushNotificationConfigs",
                CreateTaskPushNotificationConfig,
                "t",
                "",
            ),
            (
                "GET",
                "/v1/tasks/t/pushNotificationConfigs",
                ListTaskPushNotificationConfigs,
                "t",
                "",
            ),
            (
                "GET",
                "/v1/tasks/t/pushNotificationConfigs/c",
                GetTaskPushNotificationConfig,
                "t",
                "c",
            ),
            (
                "DELETE",
                "/v1/tasks/t/pushNotificationConfigs/c",
                DeleteTaskPushNotificationConfig,
                "t",
                "c",
            ),
            ("GET", "/v1/card", GetExtendedAgentCard, "", ""),
            ("GET", "/v1/extendedAgentCard", GetExtendedAgentCard, "", ""),
        ] {
            let target = resolve(&method.parse().unwrap(), path);
            let expected =
                Target { operation, task_id: task_id.into(), config_id: config_id.into() };
            assert_eq!(target, Some(expected), "{method} {path}");
        }
    }

    #[test]
    fn unknown_routes_resolve_to_none() {
        for (method, path) in [
            ("GET", "/v1/message:send"),
            ("POST", "/message:send"),
            ("GET", "/v1/tasks/"),
            ("GET", "/v1/tasks/:subscribe"),
            ("POST", "/v1/tasks/:cancel"),
            ("GET", "/v1/tasks/t:cancel"),
            ("PUT", "/v1/tasks/t"),
            ("GET", "/v1/tasks/%FF"),
            ("GET", "/v1/tasks//pushNotificationConfigs"),
            ("GET", "/v1/tasks/t/pushNotificationConfigs/"),
            ("PATCH", "/v1/tasks/t/pushNotificationConfigs"),
            ("GET", "/v1/tasks/t/other"),
            ("GET", "/v1/"),
        ] {
            assert_eq!(resolve(&method.parse().unwrap(), path), None, "{method} {path}");
        }
    }
}
