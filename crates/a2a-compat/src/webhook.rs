//! What a webhook gets that was registered in an older revision, and how its receiver reads it.

use a2a_core::{ProtocolVersion, Result, v1::StreamResponse};
use a2a_http::{Payload, content_type};
use a2a_operations::{Delivery, StreamEnd, Webhook};
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

/// The header of 0.1 for the token by which a receiver knows its notifications.
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-token");
/// The same in every revision since.
const NOTIFICATION_TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// Writes an event for a webhook, in the revision in which the webhook was registered; `None`
/// where that revision does not notify of such an event. It is what
/// [`a2a_http::Webhooks::with_payload`] takes.
///
/// Before the draft, receivers are told when a task ends or waits for its client, and not of what
/// is in between.
pub fn payload(webhook: &Webhook, delivery: &Delivery) -> Option<Payload> {
    let settles = delivery.event.stream_end() != StreamEnd::Open;
    match webhook.revision {
        ProtocolVersion::V0_1 => {
            let mut written = write_webhook(delivery.event.response())?;
            // The id of the webhook is what its client calls the task.
            if !webhook.config.id.is_empty() {
                print_task_id(&mut written, &webhook.config.id);
            }
            Some(of(TOKEN, &written))
        }
        ProtocolVersion::V0_2 | ProtocolVersion::V0_3 => {
            settles.then(|| of(NOTIFICATION_TOKEN, &v0_3::write_task(&delivery.task)))
        }
        ProtocolVersion::V1Draft => {
            let is_last = delivery.event.stream_end() == StreamEnd::Terminal;
            let written = V1Draft.write_event(delivery.event.response(), is_last);
            Some(of(NOTIFICATION_TOKEN, &written))
        }
        ProtocolVersion::V1_0 => Some(Payload::current(delivery)),
    }
}

/// Reads the body of a webhook: of 1.0, or of 0.2 and 0.3, whose objects say their `kind`. It is
/// what a receiver of `a2a-auth` takes (`Receiver::with_body_reader`).
///
/// # Errors
///
/// Those of the revision that the body is in.
pub fn read(body: &[u8]) -> Result<StreamResponse> {
    #[derive(Deserialize)]
    struct Kind {
        kind: Option<IgnoredAny>,
    }
    let kind = serde_json::from_slice::<Kind>(body).ok().and_then(|body| body.kind);
    if kind.is_none() {
        return a2a_core::json::from_slice(body);
    }
    let body = a2a_core::json::from_slice(body)?;
    V0_3.read_event(body)
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
    use a2a_operations::Event;
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
        Webhook { revision, ..Webhook::from(config) }
    }

    fn body(payload: &Payload) -> Value {
        serde_json::from_slice(&payload.body).unwrap()
    }

    #[test]
    fn receivers_before_the_draft_hear_only_of_ends_and_of_questions() {
        use ProtocolVersion::{V0_1, V0_2, V0_3, V1_0, V1Draft};
        for (revision, hears_all) in
            [(V0_1, false), (V0_2, false), (V0_3, false), (V1Draft, true), (V1_0, true)]
        {
            let hears = |state| payload(&webhook(revision, ""), &delivery(state)).is_some();
            assert_eq!(hears(TaskState::Working), hears_all, "{revision}");
            assert!(hears(TaskState::InputRequired), "{revision}");
            assert!(hears(TaskState::Completed), "{revision}");
        }
    }

    #[test]
    fn a_receiver_reads_what_agents_of_0_2_0_3_and_1_0_send() {
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
        // Events too, which agents of 0.3 may send in place of the task.
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
    fn each_revision_has_its_own_body_and_header_for_the_token() {
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
