//! What is lost on the way through the draft, and what is not.

use a2a_core::{
    Error, ErrorKind, Message, Operation, Part, Role, Task, TaskState, Violation,
    v1::{
        self, Artifact, ListTasksRequest, SendMessageConfiguration, SendMessageRequest,
        SendMessageResponse, StreamResponse, TaskPushNotificationConfig, TaskStatus, part::Content,
        send_message_response, stream_response::Payload,
    },
    well_known::Timestamp,
};
use proptest::prelude::{any, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::{V1Draft, grpc_status, http_status, problem, read_problem, read_rest, write_rest};
use crate::{AnyRequest, AnyResponse, Dialect as _, arbitrary};

/// What is left of a part: a media type and a name only where there is a file.
fn part(mut part: Part) -> Part {
    if !matches!(part.content, Some(Content::Raw(_) | Content::Url(_))) {
        part.metadata = crate::common::part::with_lost_members(&part);
        part.media_type.clear();
        part.filename.clear();
    }
    part
}

fn message(mut message: Message) -> Message {
    message.parts = message.parts.into_iter().map(part).collect();
    message
}

fn status(status: TaskStatus) -> TaskStatus {
    TaskStatus { message: status.message.map(message), ..status }
}

fn artifact(mut artifact: Artifact) -> Artifact {
    artifact.parts = artifact.parts.into_iter().map(part).collect();
    artifact
}

fn task(task: Task) -> Task {
    Task {
        status: task.status.map(status),
        history: task.history.into_iter().map(message).collect(),
        artifacts: task.artifacts.into_iter().map(artifact).collect(),
        ..task
    }
}

fn event(payload: Payload) -> Payload {
    match payload {
        Payload::Task(inner) => Payload::Task(task(inner)),
        Payload::Message(inner) => Payload::Message(message(inner)),
        Payload::StatusUpdate(update) => Payload::StatusUpdate(v1::TaskStatusUpdateEvent {
            status: update.status.map(status),
            ..update
        }),
        Payload::ArtifactUpdate(update) => Payload::ArtifactUpdate(v1::TaskArtifactUpdateEvent {
            artifact: update.artifact.map(artifact),
            ..update
        }),
    }
}

/// Passes a request through the methods, and through the routes.
fn through(request: &AnyRequest) -> AnyRequest {
    let (method, params) = V1Draft.write_request(request.clone()).unwrap();
    let read = V1Draft.read_request(method, params).unwrap();
    assert_eq!(through_rest(request), read);
    read
}

/// Does what a server does with a route: its variables are members beside those of the query.
fn through_rest(request: &AnyRequest) -> AnyRequest {
    let written = write_rest(request);
    let mut members: Vec<_> =
        written.query.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    let mut segments = written.path.split(['/', ':']).skip(3);
    if written.path.starts_with("/v1/tasks/") {
        let id = segments.next().unwrap().to_owned();
        match segments.next() {
            Some("pushNotificationConfigs") => {
                members.push(("taskId".into(), id));
                let config_id = segments.next().map(str::to_owned);
                members.extend(config_id.map(|id| ("configId".into(), id)));
            }
            _ => members.push(("id".into(), id)),
        }
    }
    read_rest(request.operation(), written.body.unwrap_or_default(), members).unwrap()
}

proptest! {
    #[test]
    fn an_event_keeps_all_that_the_draft_has(
        sent in arbitrary::event(),
        is_last in any::<bool>(),
    ) {
        let written = V1Draft.write_event(&sent, is_last);
        let read = V1Draft.read_event(written.clone()).unwrap();
        prop_assert_eq!(V1Draft.write_event(&read, is_last), written.clone());
        prop_assert_eq!(&read.payload, &sent.payload.map(event));
        // Some leave out the name of what it is.
        let bare = written.as_object().unwrap().values().next().unwrap().clone();
        prop_assert_eq!(V1Draft.read_event(bare).unwrap(), read);
    }

    #[test]
    fn an_answer_keeps_all_that_the_draft_has(
        sent in arbitrary::task(),
        reply in arbitrary::message(),
        page_size in 0..100_i32,
    ) {
        let write = |operation, response| {
            let written = V1Draft.write_response(operation, response);
            V1Draft.read_response(operation, written).unwrap()
        };
        let read = write(Operation::GetTask, AnyResponse::Task(sent.clone().into()));
        prop_assert_eq!(read, AnyResponse::Task(task(sent.clone()).into()));
        let list = |tasks: Vec<Task>| AnyResponse::Tasks(v1::ListTasksResponse {
            tasks,
            next_page_token: "next".into(),
            page_size,
            total_size: 7,
        });
        prop_assert_eq!(write(Operation::ListTasks, list(vec![sent.clone()])), list(vec![task(sent)]));
        let sent = |message: Message| AnyResponse::Sent(SendMessageResponse {
            payload: Some(send_message_response::Payload::Message(message)),
        });
        prop_assert_eq!(write(Operation::SendMessage, sent(reply.clone())), sent(message(reply)));
    }

    #[test]
    fn a_send_keeps_all_that_the_draft_has(sent in arbitrary::send_request()) {
        let expected = SendMessageRequest {
            message: sent.message.clone().map(message),
            // Nothing said is not the same in both.
            configuration: Some(sent.configuration.clone().unwrap_or_default()),
            ..sent.clone()
        };
        let read = through(&AnyRequest::SendMessage(sent.clone()));
        prop_assert_eq!(read, AnyRequest::SendMessage(expected.clone()));
        let read = through(&AnyRequest::SendStreamingMessage(sent));
        prop_assert_eq!(read, AnyRequest::SendStreamingMessage(expected));
    }

    #[test]
    fn a_push_config_keeps_all(sent in arbitrary::push_config()) {
        let request = AnyRequest::CreateTaskPushNotificationConfig(sent.clone());
        prop_assert_eq!(through(&request), request);
        let answer = AnyResponse::Config(sent.clone());
        let operation = Operation::GetTaskPushNotificationConfig;
        let written = V1Draft.write_response(operation, answer.clone());
        prop_assert_eq!(V1Draft.read_response(operation, written).unwrap(), answer);
        let answer = AnyResponse::Configs(v1::ListTaskPushNotificationConfigsResponse {
            configs: vec![sent],
            next_page_token: String::new(),
        });
        let operation = Operation::ListTaskPushNotificationConfigs;
        let written = V1Draft.write_response(operation, answer.clone());
        prop_assert_eq!(V1Draft.read_response(operation, written).unwrap(), answer);
    }

    #[test]
    fn a_request_for_tasks_keeps_all_but_what_is_finer_than_milliseconds(
        context_id in arbitrary::maybe_id(),
        state in arbitrary::state(),
        millis in 0_i64..4_000_000_000_000,
        length in 0..10_i32,
        include_artifacts in proptest::option::of(any::<bool>()),
    ) {
        let request = AnyRequest::ListTasks(ListTasksRequest {
            context_id,
            status: state.into(),
            page_size: Some(5),
            page_token: "token".into(),
            history_length: Some(length),
            status_timestamp_after: Some(Timestamp::from_millis(millis)),
            include_artifacts,
            ..ListTasksRequest::default()
        });
        prop_assert_eq!(through(&request), request);
    }

    #[test]
    fn a_request_for_one_task_or_config_keeps_its_ids(
        task_id in arbitrary::id(),
        id in arbitrary::id(),
        length in proptest::option::of(0..10_i32),
        metadata in arbitrary::metadata(),
    ) {
        for request in [
            AnyRequest::GetTask(v1::GetTaskRequest {
                id: task_id.clone(),
                history_length: length,
                ..Default::default()
            }),
            AnyRequest::CancelTask(v1::CancelTaskRequest {
                id: task_id.clone(),
                metadata,
                ..Default::default()
            }),
            AnyRequest::SubscribeToTask(v1::SubscribeToTaskRequest {
                id: task_id.clone(),
                ..Default::default()
            }),
            AnyRequest::GetTaskPushNotificationConfig(v1::GetTaskPushNotificationConfigRequest {
                task_id: task_id.clone(),
                id: id.clone(),
                ..Default::default()
            }),
            AnyRequest::DeleteTaskPushNotificationConfig(
                v1::DeleteTaskPushNotificationConfigRequest {
                    task_id: task_id.clone(),
                    id,
                    ..Default::default()
                },
            ),
            AnyRequest::ListTaskPushNotificationConfigs(
                v1::ListTaskPushNotificationConfigsRequest {
                    task_id,
                    page_size: 3,
                    page_token: "token".into(),
                    ..Default::default()
                },
            ),
            AnyRequest::GetExtendedAgentCard(Default::default()),
        ] {
            prop_assert_eq!(through(&request), request);
        }
    }

    #[test]
    fn a_card_keeps_all_that_the_draft_has(sent in arbitrary::card("1.0")) {
        let answer = AnyResponse::Card(sent);
        let operation = Operation::GetExtendedAgentCard;
        let written = V1Draft.write_response(operation, answer.clone());
        prop_assert_eq!(V1Draft.read_response(operation, written).unwrap(), answer);
    }
}

//
#[test]
fn a_send_that_does_not_say_is_answered_at_once() {
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
    assert_eq!(params["configuration"]["blocking"], true, "1.0 waits where nothing is said");
}

#[test]
fn a_task_is_named_in_every_way_that_the_document_has() {
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
fn a_config_is_set_in_every_way_that_the_document_and_its_routes_have() {
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
    // The body of the route is the config; its task is in the path.
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
fn the_time_bound_is_read_as_a_number_as_text_and_in_the_form_of_1_0() {
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
fn each_state_has_its_name_and_its_end() {
    for (state, name, is_final_inside, is_final_at_the_end) in [
        (TaskState::Submitted, json!("submitted"), false, false),
        (TaskState::Working, json!("working"), false, false),
        (TaskState::Completed, json!("completed"), true, true),
        (TaskState::Failed, json!("failed"), true, true),
        (TaskState::Canceled, json!("cancelled"), true, true),
        (TaskState::Rejected, json!("rejected"), true, true),
        (TaskState::InputRequired, json!("input-required"), false, true),
        (TaskState::AuthRequired, json!("auth-required"), false, true),
        (TaskState::Unspecified, json!(null), false, false),
    ] {
        let status = TaskStatus { state: state.into(), ..TaskStatus::default() };
        let update = v1::TaskStatusUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            status: Some(status),
            ..Default::default()
        };
        let event = StreamResponse { payload: Some(Payload::StatusUpdate(update)) };
        for (is_last, is_final) in [(false, is_final_inside), (true, is_final_at_the_end)] {
            let written = V1Draft.write_event(&event, is_last);
            assert_eq!(written["statusUpdate"]["status"]["state"], name, "{state:?}");
            assert_eq!(written["statusUpdate"]["final"], is_final, "{state:?}");
        }
    }
}

#[test]
fn a_part_with_two_contents_or_none_is_refused() {
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

#[test]
fn an_answer_without_ids_is_read_all_the_same() {
    let parts = json!([{"text": "x"}]);
    let event = json!({"msg": {"parts": parts}});
    let Some(Payload::Message(message)) = V1Draft.read_event(event).unwrap().payload else {
        panic!("no message")
    };
    assert_eq!(message.role(), Role::Agent);
    assert!(!message.message_id.is_empty());
    for wrong in [json!(null), json!({}), json!({"task": {"id": "t"}}), json!({"message": {}})] {
        let error = V1Draft.read_event(wrong.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{wrong}");
    }
}

//
#[test]
fn each_error_keeps_its_kind_as_a_problem_and_has_the_status_of_the_draft() {
    for kind in ErrorKind::ALL {
        let error = Error::new(kind, "why").with_metadata("taskId", "t").with_metadata("type", "x");
        let written = problem(&error);
        assert_eq!(written.status, http_status(kind));
        assert_eq!(written.body["status"], http_status(kind));
        assert_eq!(written.body["detail"], "why");
        assert_eq!(written.body["taskId"], "t");
        let read = read_problem(written.status, &written.body).unwrap();
        assert_eq!((read.message(), &*read.metadata()["taskId"]), ("why", "t"));
        if let Some(name) = written.body.get("type") {
            // Of two kinds, what can't be read and what is not wanted, the document knows one.
            assert_eq!(read.kind().codes().reason, kind.codes().reason, "{name}");
        }
    }
    // Name, HTTP and gRPC status by section 5.4 of the document.
    for (kind, name, http, grpc) in [
        (ErrorKind::TaskNotFound, "task-not-found", 404, 5),
        (ErrorKind::TaskNotCancelable, "task-not-cancelable", 409, 9),
        (ErrorKind::PushNotificationNotSupported, "push-notification-not-supported", 400, 12),
        (ErrorKind::UnsupportedOperation, "unsupported-operation", 400, 12),
        (ErrorKind::ContentTypeNotSupported, "content-type-not-supported", 415, 3),
        (ErrorKind::InvalidAgentResponse, "invalid-agent-response", 502, 13),
        (ErrorKind::ExtendedAgentCardNotConfigured, "extended-agent-card-not-configured", 400, 9),
        (ErrorKind::ExtensionSupportRequired, "extension-support-required", 400, 9),
        (ErrorKind::VersionNotSupported, "version-not-supported", 400, 12),
    ] {
        let written = problem(&Error::new(kind, "why"));
        assert_eq!(written.body["type"], format!("https://a2a-protocol.org/errors/{name}"));
        assert_eq!((http_status(kind), grpc_status(kind)), (http, grpc), "{kind:?}");
    }
    assert_eq!(read_problem(500, &json!({"error": {"code": 500}})).map(|e| e.kind()), None);
}

#[test]
fn the_data_of_an_error_is_a_plain_object() {
    let violation = Violation::new("message.parts", "is required");
    let error =
        Error::from_violations(vec![violation]).with_metadata("supportedVersions", "1.0,0.3");
    let written = V1Draft.write_error(&error);
    assert_eq!(written.code, -32602);
    assert_eq!(
        written.data,
        json!({"reason": "INVALID_PARAMS", "supportedVersions": ["1.0", "0.3"],
            "errors": [{"field": "message.parts", "message": "is required"}]})
    );
    for kind in ErrorKind::ALL {
        let written = V1Draft.write_error(&Error::new(kind, "why"));
        assert_eq!(written.code, kind.codes().jsonrpc, "{kind:?}");
        assert_eq!(written.data["reason"], kind.codes().reason, "{kind:?}");
    }
}

#[test]
fn a_configuration_that_is_the_default_of_1_0_waits() {
    let sent = SendMessageRequest {
        message: Some(Message::user("x")),
        configuration: Some(SendMessageConfiguration::default()),
        ..SendMessageRequest::default()
    };
    assert_eq!(through(&AnyRequest::SendMessage(sent.clone())), AnyRequest::SendMessage(sent));
}

#[test]
fn security_schemes_are_read_in_both_styles() {
    let card = |schemes: Value, security: Value| {
        let card = json!({"name": "n", "url": "https://a.b", "supportsExtendedAgentCard": true,
            "additionalInterfaces": [{"url": "https://a.b", "transport": "JSONRPC"},
                {"url": "https://c.d", "transport": "GRPC"}],
            "securitySchemes": schemes, "security": security});
        super::read_card(&card).unwrap()
    };
    let flow = json!({"tokenUrl": "https://t", "scopes": {"a": "b"}});
    let flat = card(
        json!({
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "http": {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"},
            "oauth": {"type": "oauth2", "flows": {"password": flow, "clientCredentials": flow}},
            "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://o"},
            "tls": {"type": "mutualTLS", "description": "d"},
            "new": {"type": "somethingElse"},
        }),
        json!([{"key": [], "oauth": ["a"]}]),
    );
    let nested = card(
        json!({
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "http": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": flow}}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o"}},
            "tls": {"mtlsSecurityScheme": {"description": "d"}},
            "new": {},
        }),
        json!([{"schemes": {"key": {"list": []}, "oauth": {"list": ["a"]}}}]),
    );
    assert_eq!(flat, nested);
    assert!(flat.has_extended_card());
    let interfaces: Vec<_> = flat
        .supported_interfaces
        .iter()
        .map(|i| (&*i.url, &*i.protocol_binding, &*i.protocol_version))
        .collect();
    assert_eq!(interfaces, [("https://a.b", "JSONRPC", "1.0"), ("https://c.d", "GRPC", "1.0")]);
}
