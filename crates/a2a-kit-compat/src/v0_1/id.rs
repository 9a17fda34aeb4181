//! Task ids: replaces the ids of the client by those of the server, and vice versa.

use serde_json::Value;

use crate::AnyRequest;

/// The task id of a request, which its client chose.
pub(crate) fn chosen_id(request: &AnyRequest) -> &str {
    request.task_id()
}

/// Replaces the task id of a request; an empty id creates a new task.
///
/// The id of a webhook config remains the id that the client chose for the task, which identifies
/// the config.
#[must_use]
pub(crate) fn with_task_id(mut request: AnyRequest, id: &str) -> AnyRequest {
    request.set_task_id(id);
    request
}

/// Replaces the task id in a response, event or webhook body written by [`V0_1`](super::V0_1) or
/// [`write_webhook`](super::write_webhook), each of which contains it once.
pub(crate) fn print_task_id(written: &mut Value, id: &str) {
    if let Value::Object(members) = written {
        let name = if members.contains_key("taskId") { "taskId" } else { "id" };
        members.insert(name.into(), id.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Dialect as _, v0_1::V0_1};

    #[test]
    fn task_id_is_replaced_in_requests_but_not_in_config_ids() {
        let message = json!({"role": "user", "parts": [{"type": "text", "text": "x"}]});
        let webhook = json!({"url": "https://a.b"});
        for (method, params) in [
            ("tasks/send", json!({"id": "mine", "message": message, "pushNotification": webhook})),
            ("tasks/sendSubscribe", json!({"id": "mine", "message": message})),
            ("tasks/get", json!({"id": "mine"})),
            ("tasks/cancel", json!({"id": "mine"})),
            ("tasks/resubscribe", json!({"id": "mine"})),
            ("tasks/pushNotification/get", json!({"id": "mine"})),
            (
                "tasks/pushNotification/set",
                json!({"id": "mine", "pushNotificationConfig": webhook}),
            ),
        ] {
            let request = V0_1.read_request(method, params).unwrap();
            assert_eq!(chosen_id(&request), "mine", "{method}");
            let request = with_task_id(request, "theirs");
            assert_eq!(chosen_id(&request), "theirs", "{method}");
            let config_id = match request {
                AnyRequest::SendMessage(request) => {
                    request.configuration.unwrap().task_push_notification_config.unwrap().id
                }
                AnyRequest::CreateTaskPushNotificationConfig(config) => config.id,
                AnyRequest::GetTaskPushNotificationConfig(request) => request.id,
                _ => continue,
            };
            assert_eq!(config_id, "mine", "{method}");
        }
    }

    #[test]
    fn task_id_is_replaced_in_responses_and_webhook_bodies() {
        for (mut written, expected) in [
            (json!({"id": "theirs", "status": {}}), json!({"id": "mine", "status": {}})),
            (json!({"taskId": "theirs"}), json!({"taskId": "mine"})),
            (json!(null), json!(null)),
        ] {
            print_task_id(&mut written, "mine");
            assert_eq!(written, expected);
        }
    }
}
