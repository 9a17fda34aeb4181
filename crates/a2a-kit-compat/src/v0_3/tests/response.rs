//! Responses, events and errors.

use a2a_core::{
    Artifact, Error, ErrorKind, Message, Operation, Task, TaskState,
    v1::{
        self, SendMessageResponse, StreamResponse, TaskPushNotificationConfig, TaskStatus,
        TaskStatusUpdateEvent, send_message_response, stream_response::Payload,
    },
};
use serde_json::{Value, json};

use super::V0_3;
use crate::{AnyResponse, Dialect};

#[test]
fn status_is_final_if_the_task_or_the_stream_ends() {
    for (state, is_last, name, is_final) in [
        (TaskState::Submitted, false, "submitted", false),
        (TaskState::Working, false, "working", false),
        (TaskState::Working, true, "working", true),
        (TaskState::InputRequired, false, "input-required", false),
        (TaskState::InputRequired, true, "input-required", true),
        (TaskState::AuthRequired, true, "auth-required", true),
        (TaskState::Completed, false, "completed", true),
        (TaskState::Failed, true, "failed", true),
        (TaskState::Canceled, false, "canceled", true),
        (TaskState::Rejected, false, "rejected", true),
        (TaskState::Unspecified, false, "unknown", false),
    ] {
        let status = TaskStatus { state: state.into(), ..Default::default() };
        let event = StreamResponse {
            payload: Some(Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: "t".into(),
                context_id: "c".into(),
                status: Some(status),
                metadata: None,
            })),
        };
        let expected = json!({"kind": "status-update", "taskId": "t", "contextId": "c",
            "status": {"state": name}, "final": is_final});
        let written = V0_3.write_event(&event, is_last);
        assert_eq!(written, expected);
        assert_eq!(V0_3.read_event(written).unwrap(), event);
    }
}

#[test]
fn states_and_timestamps_are_read_leniently() {
    for (status, state, time) in [
        (json!({"state": "cancelled"}), TaskState::Canceled, None),
        (json!({"state": "input_required"}), TaskState::InputRequired, None),
        (json!({"state": "TASK_STATE_WORKING"}), TaskState::Working, None),
        (json!({"state": "unknown"}), TaskState::Unspecified, None),
        (json!(null), TaskState::Unspecified, None),
        (
            json!({"state": "working", "timestamp": "2025-04-02T16:59:25.331844"}),
            TaskState::Working,
            Some("2025-04-02T16:59:25.331844Z"),
        ),
        (
            json!({"state": "working", "timestamp": "2025-04-02T16:59:25+02:00", "message": null}),
            TaskState::Working,
            Some("2025-04-02T14:59:25.000Z"),
        ),
        (json!({"state": "working", "timestamp": "yesterday"}), TaskState::Working, None),
    ] {
        let task = json!({"kind": "task", "id": "t", "contextId": "c", "status": status});
        let Ok(AnyResponse::Task(task)) = V0_3.read_response(Operation::GetTask, task) else {
            panic!("{status}");
        };
        assert_eq!(task.state(), state, "{status}");
        let read = task.status.as_ref().unwrap().timestamp.map(|time| time.to_string());
        assert_eq!(read.as_deref(), time, "{status}");
    }
}

#[test]
fn unknown_state_is_an_error_that_quotes_it() {
    let task = json!({"kind": "task", "id": "t", "status": {"state": "paused"}});
    let error = V0_3.read_response(Operation::GetTask, task).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    assert!(error.message().contains(r#"unknown task state "paused""#), "{error}");
}

#[test]
fn events_are_identified_by_kind_wrapper_or_members() {
    let task = json!({"id": "t", "contextId": "c", "status": {"state": "working"}});
    let message = json!({"messageId": "m", "parts": [{"kind": "text", "text": "x"}]});
    let status = json!({"taskId": "t", "contextId": "c", "status": {"state": "working"}});
    let artifact = json!({"taskId": "t", "contextId": "c",
        "artifact": {"artifactId": "a", "parts": [{"type": "text", "text": "x"}]}});
    let with = |object: &Value, member: &str, name: &str| {
        let mut object = object.clone();
        object[member] = name.into();
        object
    };
    for (bare, kind, class, wrapper) in [
        (task, "task", "Task", "task"),
        (message, "message", "Message", "message"),
        (status, "status-update", "TaskStatusUpdateEvent", "statusUpdate"),
        (artifact, "artifact-update", "TaskArtifactUpdateEvent", "artifactUpdate"),
    ] {
        let expected = V0_3.read_event(with(&bare, "kind", kind)).unwrap();
        let written = V0_3.write_event(&expected, false);
        assert_eq!(written["kind"], kind);
        for form in [
            with(&bare, "type", kind),
            with(&bare, "kind", class),
            json!({ wrapper: bare.clone() }),
            json!({ wrapper: with(&bare, "kind", kind) }),
            bare,
        ] {
            assert_eq!(V0_3.read_event(form.clone()).unwrap(), expected, "{form}");
        }
    }
    for other in [json!(null), json!([]), json!("x"), json!({}), json!({"kind": "poem"})] {
        let error = V0_3.read_event(other.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{other}");
    }
}

#[test]
fn required_members_of_tasks_are_written() {
    let task = Task {
        id: "t".into(),
        artifacts: vec![Artifact::new("", "x").with_id("a")],
        ..Default::default()
    };
    let written = V0_3.write_response(Operation::GetTask, AnyResponse::Task(task.into()));
    assert_eq!(
        written,
        json!({"kind": "task", "id": "t", "contextId": "t", "status": {"state": "unknown"},
            "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": "x"}]}]})
    );
}

#[test]
fn answers_are_bare() {
    let config = TaskPushNotificationConfig {
        task_id: "t".into(),
        id: "c".into(),
        url: "https://a".into(),
        authentication: Some(v1::AuthenticationInfo {
            scheme: "Bearer".into(),
            credentials: String::new(),
        }),
        ..Default::default()
    };
    let form = json!({"taskId": "t", "pushNotificationConfig":
        {"id": "c", "url": "https://a", "authentication": {"schemes": ["Bearer"]}}});
    let page = v1::ListTaskPushNotificationConfigsResponse {
        configs: vec![config.clone()],
        ..Default::default()
    };
    let message = Message { message_id: "m".into(), ..Message::agent("x") };
    let sent =
        SendMessageResponse { payload: Some(send_message_response::Payload::Message(message)) };
    for (operation, response, expected) in [
        (
            Operation::SendMessage,
            AnyResponse::Sent(sent),
            json!({"kind": "message", "messageId": "m", "role": "agent",
                "parts": [{"kind": "text", "text": "x"}]}),
        ),
        (
            Operation::CreateTaskPushNotificationConfig,
            AnyResponse::Config(config.clone()),
            form.clone(),
        ),
        (Operation::ListTaskPushNotificationConfigs, AnyResponse::Configs(page), json!([form])),
        (Operation::DeleteTaskPushNotificationConfig, AnyResponse::Deleted, Value::Null),
    ] {
        let written = V0_3.write_response(operation, response.clone());
        assert_eq!(written, expected, "{operation:?}");
        assert_eq!(V0_3.read_response(operation, written).unwrap(), response, "{operation:?}");
    }
    let loose = json!({"configs": [{"taskId": "t", "config": {"id": "c", "url": "https://a",
        "authentication": {"schemes": "Bearer"}}}]});
    let operation = Operation::ListTaskPushNotificationConfigs;
    let AnyResponse::Configs(page) = V0_3.read_response(operation, loose).unwrap() else {
        panic!("not a list");
    };
    assert_eq!(page.configs, [config]);
}

// covers: R-177
#[test]
fn errors_have_code_and_reason() {
    for (kind, code) in [
        (ErrorKind::ParseError, -32700),
        (ErrorKind::InvalidRequest, -32600),
        (ErrorKind::MethodNotFound, -32601),
        (ErrorKind::InvalidParams, -32602),
        (ErrorKind::Internal, -32603),
        (ErrorKind::TaskNotFound, -32001),
        (ErrorKind::TaskNotCancelable, -32002),
        (ErrorKind::PushNotificationNotSupported, -32003),
        (ErrorKind::UnsupportedOperation, -32004),
        (ErrorKind::ContentTypeNotSupported, -32005),
        (ErrorKind::InvalidAgentResponse, -32006),
        (ErrorKind::ExtendedAgentCardNotConfigured, -32007),
        (ErrorKind::ExtensionSupportRequired, -32008),
        (ErrorKind::VersionNotSupported, -32009),
    ] {
        let written = V0_3.write_error(&Error::new(kind, "why").with_metadata("taskId", "t"));
        assert_eq!((written.code, written.message.as_str()), (code, "why"), "{kind:?}");
        assert_eq!(written.data["reason"], kind.codes().reason);
        assert_eq!(written.data["taskId"], "t");
    }
}
