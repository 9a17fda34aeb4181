//! Webhook bodies of 0.1: the task id and its status.

use a2a_core::{
    Result,
    v1::{StreamResponse, stream_response::Payload},
};
use serde_json::{Value, json};

use crate::common::{Format, json::rename};

/// Writes a webhook body; `None` for events that this revision does not notify of: it only does so
/// when a task ends or is interrupted.
pub fn write_webhook(event: &StreamResponse) -> Option<Value> {
    let is_settled = match event.payload.as_ref()? {
        Payload::Task(task) => task.state().is_settled(),
        Payload::StatusUpdate(update) => {
            update.status.as_ref().is_some_and(|status| status.state().is_settled())
        }
        Payload::Message(_) => true,
        Payload::ArtifactUpdate(_) => return None,
    };
    let mut status = Format::V0_1.write_event(event.clone(), true);
    let (id, status) = (status["id"].take(), status["status"].take());
    is_settled.then(|| json!({"taskId": id, "finalStatus": status}))
}

/// Reads a webhook body: a status, or a whole task, which is also allowed.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub fn read_webhook(body: &Value) -> Result<StreamResponse> {
    let mut event = body.clone();
    let members = event.as_object_mut().filter(|body| body.contains_key("finalStatus"));
    if let Some(members) = members {
        rename(members, "taskId", "id");
        rename(members, "finalStatus", "status");
        return Format::V0_1.read_event(event);
    }
    let payload = Some(Payload::Task(Format::V0_1.read_task(event)?));
    Ok(StreamResponse { payload })
}

/// Replaces the task id in a response, event or webhook body written by [`V0_1`](super::V0_1) or
/// [`write_webhook`], each of which contains it once.
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
    use crate::{AnyRequest, Dialect as _, v0_1::V0_1};

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
            assert_eq!(request.task_id(), "mine", "{method}");
            let request = request.with_task_id("theirs");
            assert_eq!(request.task_id(), "theirs", "{method}");
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
