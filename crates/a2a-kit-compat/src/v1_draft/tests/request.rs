//! Requests.

use a2a_core::{
    ErrorKind, Message, Operation,
    v1::{self, SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig},
    well_known::Timestamp,
};
use serde_json::{Value, json};

use super::property::through;
use crate::{
    AnyRequest, Dialect as _,
    v1_draft::{V1Draft, read_rest},
};

//
#[test]
fn send_is_non_blocking_by_default() {
    let message = json!({"messageId": "m", "role": "user", "parts": [{"text": "x"}]});
    for (configuration, at_once) in [
        (json!(null), true),
        (json!({}), true),
        (json!({"blocking": null}), true),
        (json!({"blocking": false}), true),
        (json!({"blocking": true}), false),
    ] {
        let params = json!({"message": message, "configuration": configuration});
        let request = V1Draft.read_request("SendMessage", params).unwrap();
        let AnyRequest::SendMessage(request) = request else { panic!("{request:?}") };
        assert_eq!(request.configuration.unwrap().return_immediately, at_once, "{configuration}");
    }
    let wait = SendMessageRequest { configuration: None, ..SendMessageRequest::default() };
    let (_, params) = V1Draft.write_request(AnyRequest::SendMessage(wait)).unwrap();
    assert_eq!(params["configuration"]["blocking"], true, "blocking is the default of 1.0");
}

#[test]
fn default_configuration_of_1_0_is_blocking() {
    let sent = SendMessageRequest {
        message: Some(Message::user("x")),
        configuration: Some(SendMessageConfiguration::default()),
        ..SendMessageRequest::default()
    };
    assert_eq!(through(&AnyRequest::SendMessage(sent.clone())), AnyRequest::SendMessage(sent));
}

#[test]
fn tasks_are_identified_by_id_or_name() {
    for params in [
        json!({"id": "t"}),
        json!({"name": "tasks/t"}),
        json!({"id": "tasks/t"}),
        json!({"id": "t", "name": "tasks/t"}),
    ] {
        let request = V1Draft.read_request("SubscribeToTask", params.clone()).unwrap();
        let AnyRequest::SubscribeToTask(request) = request else { panic!("{request:?}") };
        assert_eq!(request.id, "t", "{params}");
    }
    for params in [
        json!({"name": "tasks/t/pushNotificationConfigs/c"}),
        json!({"taskId": "t", "configId": "c"}),
        json!({"taskId": "t", "id": "c"}),
    ] {
        let request =
            V1Draft.read_request("GetTaskPushNotificationConfig", params.clone()).unwrap();
        let AnyRequest::GetTaskPushNotificationConfig(request) = request else {
            panic!("{request:?}")
        };
        assert_eq!((&*request.task_id, &*request.id), ("t", "c"), "{params}");
    }
    for params in [json!({"parent": "tasks/t"}), json!({"taskId": "t"})] {
        let request = V1Draft.read_request("ListTaskPushNotificationConfig", params).unwrap();
        let AnyRequest::ListTaskPushNotificationConfigs(request) = request else {
            panic!("{request:?}")
        };
        assert_eq!(request.task_id, "t");
    }
    for (method, params) in [
        ("GetTask", json!({})),
        ("GetTaskPushNotificationConfig", json!({"taskId": "t"})),
        ("GetTaskPushNotificationConfig", json!({"name": "tasks/t"})),
        ("ListTaskPushNotificationConfig", json!({})),
        ("SetTaskPushNotificationConfig", json!({"pushNotificationConfig": {"url": "u"}})),
        ("ListTasks", json!({"status": "running"})),
        ("ListTasks", json!({"lastUpdatedAfter": "yesterday"})),
        ("SendMessage", json!({})),
    ] {
        let error = V1Draft.read_request(method, params.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{method} {params}");
    }
    let error = V1Draft.read_request("tasks/get", json!({"id": "t"})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MethodNotFound);
}

#[test]
fn configs_are_set_in_all_documented_formats() {
    let webhook = json!({"url": "https://a.b", "authentication": {"schemes": ["jwt", "Bearer"]}});
    let mut with_id = webhook.clone();
    with_id["id"] = "c".into();
    let mut of_task = with_id.clone();
    of_task["taskId"] = "t".into();
    let name = "tasks/t/pushNotificationConfigs/c";
    let expected = TaskPushNotificationConfig {
        id: "c".into(),
        task_id: "t".into(),
        url: "https://a.b".into(),
        authentication: Some(v1::AuthenticationInfo {
            scheme: "Bearer".into(),
            credentials: String::new(),
        }),
        ..Default::default()
    };
    for params in [
        json!({"parent": "tasks/t", "configId": "c",
            "config": {"name": name, "pushNotificationConfig": webhook}}),
        json!({"parent": "tasks/t", "config": {"pushNotificationConfig": with_id}}),
        json!({"parent": "tasks/t", "configId": "c", "config": webhook}),
        json!({"taskId": "t", "pushNotificationConfig": with_id}),
        json!({"taskId": "t", "configId": "c", "pushNotificationConfig": webhook}),
        json!({"name": name, "pushNotificationConfig": webhook}),
        of_task,
    ] {
        for method in ["SetTaskPushNotificationConfig", "CreateTaskPushNotificationConfig"] {
            let request = V1Draft.read_request(method, params.clone()).unwrap();
            let set = AnyRequest::CreateTaskPushNotificationConfig(expected.clone());
            assert_eq!(request, set, "{params}");
        }
    }
    // The body of the route is the config; the task id is in the path.
    for body in [
        json!({"name": name, "pushNotificationConfig": webhook}),
        json!({"config": with_id}),
        with_id,
    ] {
        let members = [("taskId".to_owned(), "t".to_owned())];
        let operation = Operation::CreateTaskPushNotificationConfig;
        let request = read_rest(operation, body, members).unwrap();
        assert_eq!(request, AnyRequest::CreateTaskPushNotificationConfig(expected.clone()));
    }
}

//
#[test]
fn list_timestamp_is_read_as_number_string_or_rfc_3339() {
    for bound in
        [json!(1_700_000_000_123_i64), json!("1700000000123"), json!("2023-11-14T22:13:20.123Z")]
    {
        let params = json!({"lastUpdatedAfter": bound, "metadata": {"a": 1}});
        let request = V1Draft.read_request("ListTasks", params).unwrap();
        let AnyRequest::ListTasks(request) = request else { panic!("{request:?}") };
        let expected = Timestamp::from_millis(1_700_000_000_123);
        assert_eq!(request.status_timestamp_after, Some(expected), "{bound}");
        assert_eq!(request.history_length, Some(0), "a missing length is none");
    }
    let query = [("lastUpdatedAfter", "5"), ("pageSize", "3"), ("includeArtifacts", "true")];
    let query = query.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let request = read_rest(Operation::ListTasks, Value::Null, query).unwrap();
    let AnyRequest::ListTasks(request) = request else { panic!("{request:?}") };
    assert_eq!(request.status_timestamp_after, Some(Timestamp::from_millis(5)));
    assert_eq!((request.page_size, request.include_artifacts), (Some(3), Some(true)));
}

#[test]
fn part_must_have_exactly_one_content() {
    for part in [
        json!({}),
        json!({"text": "x", "file": {"fileWithUri": "https://a.b"}}),
        json!({"file": {"name": "n"}}),
        json!({"file": {"fileWithUri": "https://a.b", "fileWithBytes": "aGk="}}),
        json!({"data": {}}),
        json!({"raw": "aGk="}),
    ] {
        let params = json!({"message": {"messageId": "m", "role": "user", "parts": [part]}});
        let error = V1Draft.read_request("SendMessage", params).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{part}");
        assert!(error.violations()[0].field.starts_with("message.parts[0]"), "{error:?}");
    }
}
