//! What is read, and what is written, form by form.

mod card;

use a2a_core::{
    Artifact, Error, ErrorKind, Message, Operation, Part, Role, Task, TaskState,
    v1::{
        self, SendMessageResponse, StreamResponse, TaskPushNotificationConfig, TaskStatus,
        TaskStatusUpdateEvent, send_message_response, stream_response::Payload,
    },
    well_known::Struct,
};
use serde_json::{Value, json};

use super::V0_3;
use crate::{AnyRequest, AnyResponse, Dialect};

fn read(method: &str, params: Value) -> AnyRequest {
    V0_3.read_request(method, params.clone()).unwrap_or_else(|e| panic!("{method} {params}: {e}"))
}

fn refusal(method: &str, params: Value) -> Error {
    V0_3.read_request(method, params.clone()).expect_err(&format!("{method} {params}"))
}

fn sent(params: Value) -> v1::SendMessageRequest {
    match read("message/send", params) {
        AnyRequest::SendMessage(request) => request,
        other => panic!("{other:?}"),
    }
}

fn part(part: Value) -> Part {
    let params = json!({"message": {"messageId": "m", "role": "user", "parts": [part]}});
    sent(params).message.unwrap().parts.remove(0)
}

fn written(part: Part) -> Value {
    let message = Message { message_id: "m".into(), ..Message::agent(part) };
    let event = StreamResponse { payload: Some(Payload::Message(message)) };
    V0_3.write_event(&event, false)["parts"][0].take()
}

//
#[test]
fn parts_are_written_with_their_kind_and_read_back() {
    for (v1, v0_3) in [
        (Part::text("hi"), json!({"kind": "text", "text": "hi"})),
        (
            Part::raw(vec![0xff, 0xfe]).with_filename("x.png").with_media_type("image/png"),
            json!({"kind": "file",
                "file": {"name": "x.png", "mimeType": "image/png", "bytes": "//4="}}),
        ),
        (Part::url("https://a"), json!({"kind": "file", "file": {"uri": "https://a"}})),
        (Part::data(json!({"a": 1})), json!({"kind": "data", "data": {"a": 1}})),
        (
            Part::data(json!([1])),
            json!({"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true}}),
        ),
        (
            Part::text("x").with_metadata(Struct::from([("k", 1)])),
            json!({"kind": "text", "text": "x", "metadata": {"k": 1}}),
        ),
    ] {
        assert_eq!(written(v1.clone()), v0_3);
        assert_eq!(part(v0_3), v1);
    }
}

#[test]
fn a_media_type_of_text_is_kept_in_its_metadata() {
    let v1 = Part::text("x").with_media_type("text/markdown").with_filename("x.md");
    assert_eq!(
        written(v1),
        json!({"kind": "text", "text": "x",
            "metadata": {"mediaType": "text/markdown", "filename": "x.md"}})
    );
}

//
#[test]
fn parts_are_read_in_every_form_that_is_about() {
    let bytes = Part::raw(vec![0xff, 0xfe]);
    for (form, expected) in [
        (json!({"type": "text", "text": "hi"}), Part::text("hi")),
        (json!({"kind": "TextPart", "text": "hi"}), Part::text("hi")),
        (json!({"text": "hi", "metadata": null}), Part::text("hi")),
        (json!({"kind": null, "data": {"a": 1}}), Part::data(json!({"a": 1}))),
        (json!({"kind": "data", "data": [1, 2]}), Part::data(json!([1, 2]))),
        (json!({"kind": "file", "file": {"data": "//4="}}), bytes.clone()),
        (json!({"kind": "file", "file": {"bytes": "__4", "uri": null}}), bytes.clone()),
        (json!({"file": {"fileWithBytes": "//4="}}), bytes.clone()),
        (
            json!({"kind": "FilePart", "mimeType": "image/png", "fileWithBytes": "//4="}),
            bytes.with_media_type("image/png"),
        ),
        (
            json!({"kind": "FilePart", "name": "x", "fileWithUri": "https://a"}),
            Part::url("https://a").with_filename("x"),
        ),
    ] {
        assert_eq!(part(form.clone()), expected, "{form}");
    }
}

//
#[test]
fn a_part_without_its_content_is_refused_where_it_stands() {
    for form in [
        json!({"kind": "text"}),
        json!({"kind": "data", "data": null}),
        json!({"kind": "file"}),
        json!({"kind": "file", "file": {"name": "x"}}),
        json!({"kind": "file", "file": {"bytes": "AA==", "uri": "https://a"}}),
        json!({"kind": "file", "file": {"bytes": "no base64!"}}),
        json!({"kind": "video", "text": "x"}),
        json!({}),
        json!("text"),
    ] {
        let params = json!({"message": {"messageId": "m", "role": "user",
            "parts": [{"kind": "text", "text": "x"}, form]}});
        let error = refusal("message/send", params);
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{form}");
        let field = &error.violations()[0].field;
        assert!(field.starts_with("message.parts[1]"), "{form}: {field}");
    }
}

#[test]
fn a_send_is_read_with_what_it_leaves_out() {
    let request = sent(json!({
        "message": {"parts": [{"type": "text", "text": "x"}], "contextId": null},
        "messageId": "beside",
        "configuration": null,
        "metadata": null,
    }));
    let message = request.message.unwrap();
    assert_eq!(message.message_id, "beside");
    assert_eq!(message.role(), Role::User);
    assert_eq!((request.configuration, request.metadata), (None, None));
}

#[test]
fn a_send_waits_unless_it_says_otherwise() {
    for (blocking, returns_at_once) in
        [(json!({}), false), (json!({"blocking": true}), false), (json!({"blocking": null}), false)]
            .into_iter()
            .chain([(json!({"blocking": false}), true)])
    {
        let message = json!({"messageId": "m", "role": "user", "parts": [{"text": "x"}]});
        let request = sent(json!({"message": message, "configuration": blocking}));
        let configuration = request.configuration.unwrap();
        assert_eq!(configuration.return_immediately, returns_at_once, "{blocking}");
        assert_eq!(configuration.history_length, None);
    }
}

#[test]
fn a_send_says_whether_it_waits() {
    for (configuration, blocking) in [
        (None, true),
        (Some(v1::SendMessageConfiguration::default()), true),
        (
            Some(v1::SendMessageConfiguration { return_immediately: true, ..Default::default() }),
            false,
        ),
    ] {
        let request = v1::SendMessageRequest {
            message: Some(Message::user("x")),
            configuration,
            ..Default::default()
        };
        let (method, params) = V0_3.write_request(AnyRequest::SendMessage(request)).unwrap();
        assert_eq!(method, "message/send");
        let expected = json!({"acceptedOutputModes": [], "blocking": blocking});
        assert_eq!(params["configuration"], expected);
        assert_eq!(params["message"]["kind"], "message");
    }
}

#[test]
fn a_webhook_is_read_out_of_either_place() {
    let message = json!({"messageId": "m", "role": "user", "parts": [{"text": "x"}]});
    let webhook = json!({"url": "https://a", "token": "t",
        "authentication": {"schemes": ["jwt", "Bearer"], "credentials": "c"}});
    for params in [
        json!({"message": message, "configuration": {"pushNotificationConfig": webhook}}),
        json!({"message": message, "pushNotification": webhook}),
    ] {
        let config = sent(params).configuration.unwrap().task_push_notification_config.unwrap();
        assert_eq!(config.url, "https://a");
        assert_eq!(config.token, "t");
        let authentication = config.authentication.unwrap();
        assert_eq!(authentication.scheme, "Bearer");
        assert_eq!(authentication.credentials, "c");
    }
}

#[test]
fn what_a_request_must_have_is_named_where_it_lacks() {
    let message = json!({"messageId": "m", "parts": [{"text": "x"}]});
    for (method, params, field) in [
        ("message/send", json!({}), "message"),
        ("message/send", json!({"message": {"parts": [{"text": "x"}]}}), "message.messageId"),
        ("message/stream", json!({"message": {"messageId": "m", "parts": []}}), "message.parts"),
        (
            "message/send",
            json!({"message": {"messageId": "m", "role": "system", "parts": [{"text": "x"}]}}),
            "message.role",
        ),
        (
            "message/send",
            json!({"message": message, "configuration": {"historyLength": "many"}}),
            "configuration.historyLength",
        ),
        ("tasks/get", json!({}), "id"),
        ("tasks/get", json!({"id": ""}), "id"),
        ("tasks/cancel", json!({"id": 7}), "id"),
        ("tasks/resubscribe", json!({"historyLength": 1}), "id"),
        ("tasks/pushNotificationConfig/get", json!({"id": ""}), "id"),
        ("tasks/pushNotificationConfig/delete", json!({"id": "t"}), "id"),
        (
            "tasks/pushNotificationConfig/set",
            json!({"taskId": "t", "pushNotificationConfig": {}}),
            "pushNotificationConfig.url",
        ),
    ] {
        let error = refusal(method, params.clone());
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{method} {params}");
        let violation = &error.violations()[0];
        // A member that is missing is named in the text, and the path is that of its parent.
        let named = violation.field == field
            || violation.description.contains(field.rsplit('.').next().unwrap());
        assert!(named, "{method} {params}: {violation:?}");
    }
    for params in [json!(null), json!([]), json!("x")] {
        assert_eq!(refusal("tasks/get", params).kind(), ErrorKind::InvalidParams);
    }
    for method in ["tasks/send", "SendMessage", "tasks/list", ""] {
        assert_eq!(refusal(method, json!({})).kind(), ErrorKind::MethodNotFound, "{method}");
    }
}

#[test]
fn each_method_is_the_operation_that_it_became() {
    for (method, params, expected) in [
        (
            "tasks/get",
            json!({"id": "t", "historyLength": 2, "metadata": {}}),
            AnyRequest::GetTask(v1::GetTaskRequest {
                id: "t".into(),
                history_length: Some(2),
                ..Default::default()
            }),
        ),
        (
            "tasks/cancel",
            json!({"id": "t", "metadata": {"k": 1}}),
            AnyRequest::CancelTask(v1::CancelTaskRequest {
                id: "t".into(),
                metadata: Some(Struct::from([("k", 1)])),
                ..Default::default()
            }),
        ),
        (
            "tasks/resubscribe",
            json!({"id": "t", "historyLength": 2}),
            AnyRequest::SubscribeToTask(v1::SubscribeToTaskRequest {
                id: "t".into(),
                ..Default::default()
            }),
        ),
        (
            "tasks/pushNotificationConfig/set",
            json!({"taskId": "t", "pushNotificationConfig": {"id": "c", "url": "https://a"}}),
            AnyRequest::CreateTaskPushNotificationConfig(TaskPushNotificationConfig {
                task_id: "t".into(),
                id: "c".into(),
                url: "https://a".into(),
                ..Default::default()
            }),
        ),
        (
            "tasks/pushNotificationConfig/get",
            json!({"id": "t"}),
            AnyRequest::GetTaskPushNotificationConfig(v1::GetTaskPushNotificationConfigRequest {
                task_id: "t".into(),
                ..Default::default()
            }),
        ),
        (
            "tasks/pushNotificationConfig/get",
            json!({"id": "t", "pushNotificationConfigId": "c"}),
            AnyRequest::GetTaskPushNotificationConfig(v1::GetTaskPushNotificationConfigRequest {
                task_id: "t".into(),
                id: "c".into(),
                ..Default::default()
            }),
        ),
        (
            "tasks/pushNotificationConfig/list",
            json!({"id": "t"}),
            AnyRequest::ListTaskPushNotificationConfigs(
                v1::ListTaskPushNotificationConfigsRequest {
                    task_id: "t".into(),
                    ..Default::default()
                },
            ),
        ),
        (
            "tasks/pushNotificationConfig/delete",
            json!({"id": "t", "pushNotificationConfigId": "c"}),
            AnyRequest::DeleteTaskPushNotificationConfig(
                v1::DeleteTaskPushNotificationConfigRequest {
                    task_id: "t".into(),
                    id: "c".into(),
                    ..Default::default()
                },
            ),
        ),
    ] {
        assert_eq!(read(method, params.clone()), expected, "{method} {params}");
        let (back, params) = V0_3.write_request(expected.clone()).unwrap();
        assert_eq!(back, method);
        assert_eq!(read(method, params), expected, "{method}");
    }
    for name in ["agent/getAuthenticatedExtendedCard", "agent/authenticatedExtendedCard"] {
        let expected = AnyRequest::GetExtendedAgentCard(Default::default());
        assert_eq!(read(name, Value::Null), expected, "{name}");
    }
    let unlisted = V0_3.write_request(AnyRequest::ListTasks(Default::default())).unwrap_err();
    assert_eq!(unlisted.kind(), ErrorKind::UnsupportedOperation);
}

#[test]
fn a_status_is_final_where_the_task_has_ended_or_the_stream_ends_with_it() {
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
fn states_and_times_are_read_as_implementations_write_them() {
    for (status, state, time) in [
        (json!({"state": "cancelled"}), TaskState::Canceled, None),
        (json!({"state": "input_required"}), TaskState::InputRequired, None),
        (json!({"state": "TASK_STATE_WORKING"}), TaskState::Working, None),
        (json!({"state": "unknown"}), TaskState::Unspecified, None),
        (json!({"state": "paused"}), TaskState::Unspecified, None),
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
fn events_are_known_by_kind_wrapper_or_members() {
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
fn a_task_is_written_with_all_that_is_required_of_it() {
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

//
#[test]
fn errors_have_the_codes_of_the_revision_and_say_their_reason() {
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
