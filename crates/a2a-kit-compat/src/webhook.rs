//! Notification bodies for webhooks of older revisions.

use a2a_core::{
    ProtocolVersion, Result,
    json::{response_from_str, response_text},
    v1::StreamResponse,
};
use a2a_kit_http::{Payload, content_type};
use a2a_kit_operations::{Delivery, StreamEnd, Webhook};
use bytes::Bytes;
use http::HeaderName;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use crate::{
    Dialect as _,
    v0_1::{print_task_id, write_webhook},
    v0_3::{self, V0_3},
    v1_draft::V1Draft,
};

/// The token header of 0.1.
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-token");
/// The token header of later revisions.
const NOTIFICATION_TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// Writes the notification for an event in the revision in which the webhook was registered; `None`
/// if that revision does not notify of the event. For [`a2a_kit_http::Webhooks::with_payload`].
///
/// Before the draft, receivers are only notified when a task ends or is interrupted.
pub fn payload(webhook: &Webhook, delivery: &Delivery) -> Option<Payload> {
    let is_settled = delivery.event.stream_end() != StreamEnd::Open;
    match webhook.revision {
        ProtocolVersion::V0_1 => {
            let mut written = write_webhook(delivery.event.response())?;
            // The id of the webhook is the task id that the client chose.
            if !webhook.config.id.is_empty() {
                print_task_id(&mut written, &webhook.config.id);
            }
            Some(of(TOKEN, &written))
        }
        ProtocolVersion::V0_2 | ProtocolVersion::V0_3 => {
            is_settled.then(|| of(NOTIFICATION_TOKEN, &v0_3::write_task(&delivery.task)))
        }
        ProtocolVersion::V1Draft => {
            let is_last = delivery.event.stream_end() == StreamEnd::Terminal;
            let written = V1Draft.write_event(delivery.event.response(), is_last);
            Some(of(NOTIFICATION_TOKEN, &written))
        }
        ProtocolVersion::V1_0 => Some(Payload::current(delivery)),
    }
}

/// Reads a notification body of 1.0, 0.2 or 0.3. For `Receiver::with_body_reader` of `a2a-kit-auth`.
///
/// # Errors
///
/// Those of the revision of the body.
pub fn read(body: &[u8]) -> Result<StreamResponse> {
    #[derive(Deserialize)]
    struct Kind {
        kind: Option<IgnoredAny>,
    }
    let text = response_text(body);
    let kind = serde_json::from_str::<Kind>(&text).ok().and_then(|body| body.kind);
    if kind.is_none() {
        return response_from_str(&text);
    }
    V0_3.read_event(response_from_str(&text)?)
}

fn of(token: HeaderName, body: &Value) -> Payload {
    let body = Bytes::from(body.to_string());
    Payload { content_type: content_type::JSON, version: None, token, body }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use a2a_core::{
        Task, TaskState,
        v1::{TaskPushNotificationConfig, TaskStatus, TaskStatusUpdateEvent, stream_response},
    };
    use a2a_kit_operations::Event;
    use serde_json::json;

    use super::*;

    fn delivery(state: TaskState) -> Delivery {
        let status = Some(TaskStatus { state: state.into(), ..TaskStatus::default() });
        let update = TaskStatusUpdateEvent {
            task_id: "ours".into(),
            context_id: "c".into(),
            status: status.clone(),
            ..TaskStatusUpdateEvent::default()
        };
        let payload = Some(stream_response::Payload::StatusUpdate(update));
        let task = Task { id: "ours".into(), context_id: "c".into(), status, ..Task::default() };
        Delivery { event: Event::new(None, StreamResponse { payload }), task: Arc::new(task) }
    }

    fn webhook(revision: ProtocolVersion, id: &str) -> Webhook {
        let config = TaskPushNotificationConfig {
            id: id.into(),
            url: "https://a.example".into(),
            ..TaskPushNotificationConfig::default()
        };
        Webhook::from(config).with_revision(revision)
    }

    fn body(payload: &Payload) -> Value {
        serde_json::from_slice(&payload.body).unwrap()
    }

    #[test]
    fn receivers_before_the_draft_are_only_notified_of_settled_tasks() {
        use ProtocolVersion::{V0_1, V0_2, V0_3, V1_0, V1Draft};
        for (revision, receives_all) in
            [(V0_1, false), (V0_2, false), (V0_3, false), (V1Draft, true), (V1_0, true)]
        {
            let notifies = |state| payload(&webhook(revision, ""), &delivery(state)).is_some();
            assert_eq!(notifies(TaskState::Working), receives_all, "{revision}");
            assert!(notifies(TaskState::InputRequired), "{revision}");
            assert!(notifies(TaskState::Completed), "{revision}");
        }
    }

    #[test]
    fn receiver_reads_bodies_of_0_2_0_3_and_1_0() {
        for revision in [ProtocolVersion::V0_2, ProtocolVersion::V0_3, ProtocolVersion::V1_0] {
            for state in [TaskState::Completed, TaskState::InputRequired] {
                let sent = payload(&webhook(revision, "w"), &delivery(state)).unwrap();
                let (id, status) = match read(&sent.body).unwrap().payload.unwrap() {
                    stream_response::Payload::Task(task) => (task.id, task.status),
                    stream_response::Payload::StatusUpdate(update) => {
                        (update.task_id, update.status)
                    }
                    other => panic!("{revision}: {other:?}"),
                };
                assert_eq!((&*id, status.unwrap().state()), ("ours", state), "{revision}");
            }
        }
        // Agents of 0.3 may send events instead of the task.
        let update = json!({
            "kind": "status-update", "taskId": "t", "contextId": "c", "final": true,
            "status": {"state": "completed"},
        });
        let update = read(update.to_string().as_bytes()).unwrap();
        assert!(matches!(update.payload, Some(stream_response::Payload::StatusUpdate(_))));
        for body in ["", "[]", "{}", r#"{"kind":"x"}"#, r#"{"kind":"task"}"#, r#"{"kind":"task""#] {
            let read = read(body.as_bytes());
            assert!(!matches!(&read, Ok(event) if event.payload.is_some()), "{body} {read:?}");
        }
    }

    #[test]
    fn body_and_token_header_depend_on_the_revision() {
        let done = delivery(TaskState::Completed);
        let oldest = payload(&webhook(ProtocolVersion::V0_1, "mine"), &done).unwrap();
        assert_eq!(body(&oldest)["taskId"], "mine");
        assert_eq!(body(&oldest)["finalStatus"]["state"], "completed");
        assert_eq!(oldest.token, "x-a2a-token");
        let older = payload(&webhook(ProtocolVersion::V0_3, "w"), &done).unwrap();
        assert_eq!(body(&older)["kind"], "task");
        assert_eq!(body(&older)["id"], "ours");
        let draft = payload(&webhook(ProtocolVersion::V1Draft, "w"), &done).unwrap();
        assert_eq!(body(&draft)["statusUpdate"]["taskId"], "ours");
        for payload in [&older, &draft] {
            assert_eq!(payload.token, "x-a2a-notification-token");
        }
        for payload in [&oldest, &older, &draft] {
            assert_eq!(payload.content_type, "application/json");
            assert_eq!(payload.version, None);
        }
        let current = payload(&webhook(ProtocolVersion::V1_0, "w"), &done).unwrap();
        assert_eq!(current.content_type, "application/a2a+json");
        assert_eq!(current.version.unwrap(), "1.0");
        assert_eq!(
            json!(body(&payload(&webhook(ProtocolVersion::V1_0, "w"), &done).unwrap()))["statusUpdate"]
                ["status"]["state"],
            "TASK_STATE_COMPLETED"
        );
    }
}
