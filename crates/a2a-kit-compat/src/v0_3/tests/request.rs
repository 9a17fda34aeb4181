//! Requests.

use a2a_core::{
    ErrorKind, Message, Role,
    v1::{self, TaskPushNotificationConfig},
    well_known::Struct,
};
use serde_json::{Value, json};

use super::{V0_3, read, rejection, sent};
use crate::{AnyRequest, Dialect};

#[test]
fn send_defaults() {
    let request = sent(json!({
        "message": {"role": "user", "parts": [{"type": "text", "text": "x"}], "contextId": null},
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
fn send_is_blocking_by_default() {
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
fn blocking_is_always_written() {
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
fn webhook_of_a_send_is_read_from_either_member() {
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
fn missing_required_members_are_named() {
    let message = json!({"messageId": "m", "role": "user", "parts": [{"text": "x"}]});
    let part = |part: Value| json!({"messageId": "m", "role": "user", "parts": [part]});
    for (method, params, field) in [
        ("message/send", json!({}), "message"),
        (
            "message/send",
            json!({"message": {"role": "user", "parts": [{"text": "x"}]}}),
            "message.messageId",
        ),
        (
            "message/stream",
            json!({"message": {"messageId": "m", "role": "user", "parts": []}}),
            "message.parts",
        ),
        ("message/send", json!({"message": {"messageId": "m", "role": "user"}}), "message.parts"),
        (
            "message/send",
            json!({"message": {"messageId": "m", "parts": [{"text": "x"}]}}),
            "message.role",
        ),
        (
            "message/stream",
            json!({"message": {"messageId": "m", "role": null, "parts": [{"text": "x"}]}}),
            "message.role",
        ),
        (
            "message/send",
            json!({"message": {"messageId": "m", "role": "", "parts": [{"text": "x"}]}}),
            "message.role",
        ),
        (
            "message/send",
            json!({"message": {"messageId": "m", "role": "system", "parts": [{"text": "x"}]}}),
            "message.role",
        ),
        ("message/send", json!({"message": part(json!({"kind": "text"}))}), "text"),
        ("message/send", json!({"message": part(json!({"kind": "data"}))}), "data"),
        ("message/send", json!({"message": part(json!({"kind": "file"}))}), "file"),
        ("message/send", json!({"message": part(json!({}))}), "kind"),
        (
            "message/send",
            json!({"message": message, "configuration": {"historyLength": "many"}}),
            "configuration.historyLength",
        ),
        (
            "message/send",
            json!({"message": message, "configuration": {"pushNotificationConfig": {}}}),
            "configuration.pushNotificationConfig.url",
        ),
        ("tasks/get", json!({}), "id"),
        ("tasks/get", json!({"id": ""}), "id"),
        ("tasks/cancel", json!({}), "id"),
        ("tasks/cancel", json!({"id": 7}), "id"),
        ("tasks/resubscribe", json!({"historyLength": 1}), "id"),
        ("tasks/pushNotificationConfig/get", json!({}), "id"),
        ("tasks/pushNotificationConfig/get", json!({"id": ""}), "id"),
        ("tasks/pushNotificationConfig/list", json!({}), "id"),
        ("tasks/pushNotificationConfig/list", json!({"id": ""}), "id"),
        ("tasks/pushNotificationConfig/delete", json!({"pushNotificationConfigId": "c"}), "id"),
        ("tasks/pushNotificationConfig/delete", json!({"id": "t"}), "pushNotificationConfigId"),
        (
            "tasks/pushNotificationConfig/set",
            json!({"pushNotificationConfig": {"url": "https://a"}}),
            "taskId",
        ),
        ("tasks/pushNotificationConfig/set", json!({"taskId": "t"}), "pushNotificationConfig"),
        (
            "tasks/pushNotificationConfig/set",
            json!({"taskId": "t", "pushNotificationConfig": {}}),
            "pushNotificationConfig.url",
        ),
    ] {
        let error = rejection(method, params.clone());
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{method} {params}");
        let violation = &error.violations()[0];
        // Required members of a part depend on its kind, so they are only named in the message.
        let named = violation.field == field
            || violation.field == "message.parts[0]" && violation.description.starts_with(field);
        assert!(named, "{method} {params}: {violation:?}");
    }
    for params in [json!(null), json!([]), json!("x")] {
        assert_eq!(rejection("tasks/get", params).kind(), ErrorKind::InvalidParams);
    }
    for method in ["tasks/send", "SendMessage", "tasks/list", ""] {
        assert_eq!(rejection(method, json!({})).kind(), ErrorKind::MethodNotFound, "{method}");
    }
}

#[test]
fn methods_map_to_operations() {
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
