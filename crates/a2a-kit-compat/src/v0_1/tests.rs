//! Tests of conversions to and from 0.1, and of what they lose.

use a2a_core::{
    ErrorKind, Message, Operation, Part, Role, Task, TaskState,
    v1::{
        self, Artifact, SendMessageConfiguration, SendMessageRequest, SendMessageResponse,
        StreamResponse, TaskPushNotificationConfig, TaskStatus, send_message_response,
        stream_response::Payload,
    },
    well_known::Value as CoreValue,
};
use proptest::prelude::{any, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::{EventSplitter, V0_1};
use crate::{
    AnyRequest, AnyResponse, Dialect as _,
    arbitrary::{self, through_metadata},
    common::{parts::Parts as _, task::index_of_id},
};

/// The state after a round trip.
fn state(state: TaskState) -> TaskState {
    match state {
        TaskState::Rejected => TaskState::Failed,
        TaskState::AuthRequired => TaskState::InputRequired,
        other => other,
    }
}

/// The parts after a round trip.
fn parts(mut parts: Vec<Part>) -> Vec<Part> {
    parts.each_part(through_metadata);
    parts
}

/// The message after a round trip: it gets the ids of its task, and a new id.
fn message(message: Message, task_id: &str, context_id: &str) -> Message {
    Message {
        message_id: String::new(),
        task_id: task_id.to_owned(),
        context_id: context_id.to_owned(),
        parts: parts(message.parts),
        role: message.role,
        metadata: message.metadata,
        ..Message::default()
    }
}

fn status(status: TaskStatus, task_id: &str, context_id: &str) -> TaskStatus {
    TaskStatus {
        state: state(status.state()).into(),
        message: status.message.map(|inner| message(inner, task_id, context_id)),
        timestamp: status.timestamp,
    }
}

/// The artifact after a round trip: its id is its position.
fn artifact(artifact: Artifact, position: u32) -> Artifact {
    Artifact {
        artifact_id: format!("artifact-{position}"),
        parts: parts(artifact.parts),
        extensions: Vec::new(),
        ..artifact
    }
}

fn task(task: Task) -> Task {
    let (id, context_id) = (task.id, task.context_id);
    Task {
        status: task.status.map(|inner| status(inner, &id, &context_id)),
        history: task.history.into_iter().map(|inner| message(inner, &id, &context_id)).collect(),
        artifacts: task.artifacts.into_iter().zip(0..).map(|(a, at)| artifact(a, at)).collect(),
        id,
        context_id,
        ..task
    }
}

/// Clears message ids, which are generated.
fn without_message_ids(mut task: Task) -> Task {
    let current = task.status.iter_mut().filter_map(|status| status.message.as_mut());
    for message in task.history.iter_mut().chain(current) {
        assert!(!message.message_id.is_empty(), "every message has an id");
        message.message_id.clear();
    }
    task
}

fn read_task(written: Value) -> Task {
    match V0_1.read_response(Operation::GetTask, written).unwrap() {
        AnyResponse::Task(task) => Task::clone(&task),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn tasks_round_trip(sent in arbitrary::task()) {
        let answer = AnyResponse::Task(sent.clone().into());
        let written = V0_1.write_response(Operation::GetTask, answer);
        prop_assert_eq!(without_message_ids(read_task(written.clone())), task(sent));
        // Writing the result yields the same JSON.
        let again = AnyResponse::Task(read_task(written.clone()).into());
        prop_assert_eq!(V0_1.write_response(Operation::GetTask, again), written);
    }

    #[test]
    fn events_round_trip(
        sent in arbitrary::event(),
        is_last in any::<bool>(),
    ) {
        let mut splitter = EventSplitter::new();
        for event in splitter.split(sent) {
            let written = V0_1.write_event(&event, is_last);
            let read = V0_1.read_event(written.clone()).unwrap();
            prop_assert_eq!(V0_1.write_event(&read, is_last), written);
            match (event.payload.unwrap(), read.payload.unwrap()) {
                (Payload::StatusUpdate(sent), Payload::StatusUpdate(mut read)) => {
                    let inner = read.status.iter_mut().filter_map(|status| status.message.as_mut());
                    inner.for_each(|message| message.message_id.clear());
                    prop_assert_eq!(read.status, sent.status.map(|s| status(s, &sent.task_id, "")));
                    prop_assert_eq!(read.metadata, sent.metadata);
                    prop_assert_eq!(read.task_id, sent.task_id);
                }
                (Payload::ArtifactUpdate(sent), Payload::ArtifactUpdate(read)) => {
                    let sent_artifact = sent.artifact.unwrap();
                    let at = index_of_id(&sent_artifact.artifact_id).expect("a position");
                    prop_assert_eq!(read.artifact, Some(artifact(sent_artifact, at)));
                    prop_assert_eq!(
                        (read.task_id, read.append, read.last_chunk, read.metadata),
                        (sent.task_id, sent.append, sent.last_chunk, sent.metadata)
                    );
                }
                (Payload::Task(sent), Payload::StatusUpdate(read)) => {
                    prop_assert_eq!(read.task_id, sent.id);
                    prop_assert_eq!(read.status.unwrap().state(), state(sent.status.unwrap().state()));
                }
                (Payload::Message(sent), Payload::StatusUpdate(read)) => {
                    let status = read.status.unwrap();
                    prop_assert_eq!(status.state(), TaskState::Completed);
                    prop_assert_eq!(status.message.unwrap().parts, parts(sent.parts));
                }
                (sent, read) => panic!("{sent:?} became {read:?}"),
            }
        }
    }

    #[test]
    fn send_requests_round_trip(sent in arbitrary::send_request()) {
        let (method, written) =
            V0_1.write_request(AnyRequest::SendMessage(sent.clone())).unwrap();
        prop_assert_eq!(method, "tasks/send");
        let AnyRequest::SendMessage(read) = V0_1.read_request(method, written).unwrap() else {
            panic!("another request")
        };
        let mut expected = sent.message.unwrap();
        let mut found = read.message.unwrap();
        prop_assert_eq!(found.task_id.is_empty(), false, "a task of this revision has an id");
        if expected.task_id.is_empty() {
            expected.task_id = found.task_id.clone();
        }
        found.message_id.clear();
        let id = expected.task_id.clone();
        let context_id = expected.context_id.clone();
        prop_assert_eq!(found, message(expected, &id, &context_id));
        prop_assert_eq!(read.metadata, sent.metadata);
        let sent = sent.configuration.unwrap_or_default();
        let webhook = sent.task_push_notification_config.map(|config| {
            TaskPushNotificationConfig { id, task_id: String::new(), ..config }
        });
        prop_assert_eq!(read.configuration, Some(SendMessageConfiguration {
            task_push_notification_config: webhook,
            history_length: Some(sent.history_length.unwrap_or(0)),
            ..SendMessageConfiguration::default()
        }));
    }

    #[test]
    fn push_configs_round_trip_without_id(sent in arbitrary::push_config()) {
        let request = AnyRequest::CreateTaskPushNotificationConfig(sent.clone());
        let (method, written) = V0_1.write_request(request).unwrap();
        let read = V0_1.read_request(method, written).unwrap();
        let expected = TaskPushNotificationConfig { id: sent.task_id.clone(), ..sent };
        prop_assert_eq!(read, AnyRequest::CreateTaskPushNotificationConfig(expected));
    }

    #[test]
    fn cards_round_trip(sent in arbitrary::card("0.1")) {
        let sent = v1::AgentCard { supported_interfaces: vec![v1::AgentInterface {
            url: "https://a.b".into(),
            protocol_binding: "JSONRPC".into(),
            protocol_version: "0.1".into(),
            ..v1::AgentInterface::default()
        }], ..sent };
        let written = super::write_card(&sent).unwrap();
        let read = super::read_card(&written).unwrap();
        prop_assert_eq!(super::write_card(&read).unwrap(), written);
        let mut expected = sent.clone();
        expected.icon_url = None;
        expected.capabilities = Some(v1::AgentCapabilities {
            streaming: Some(sent.can_stream()),
            push_notifications: Some(sent.can_push()),
            ..v1::AgentCapabilities::default()
        });
        prop_assert_eq!(read, expected);
    }
}

fn event(payload: Payload) -> StreamResponse {
    StreamResponse { payload: Some(payload) }
}

fn status_event(state: TaskState, is_last: bool) -> Value {
    let status = TaskStatus { state: state.into(), ..TaskStatus::default() };
    let update = v1::TaskStatusUpdateEvent {
        task_id: "t".into(),
        status: Some(status),
        ..Default::default()
    };
    V0_1.write_event(&event(Payload::StatusUpdate(update)), is_last)
}

//
#[test]
fn state_names_and_final_flags() {
    for (state, name, is_final_inside, is_final_at_the_end) in [
        (TaskState::Submitted, "submitted", false, false),
        (TaskState::Working, "working", false, false),
        (TaskState::Completed, "completed", true, true),
        (TaskState::Failed, "failed", true, true),
        (TaskState::Canceled, "canceled", true, true),
        (TaskState::Rejected, "failed", true, true),
        (TaskState::InputRequired, "input-required", false, true),
        (TaskState::AuthRequired, "input-required", false, true),
        (TaskState::Unspecified, "unknown", false, false),
    ] {
        for (is_last, is_final) in [(false, is_final_inside), (true, is_final_at_the_end)] {
            let expected = json!({"id": "t", "status": {"state": name}, "final": is_final});
            assert_eq!(status_event(state, is_last), expected, "{state:?}");
        }
    }
}

#[test]
fn method_defaults() {
    let message = json!({"parts": [{"type": "text", "text": "x"}]});
    let request = V0_1
        .read_request("tasks/send", json!({"id": "t", "sessionId": null, "message": message}))
        .unwrap();
    let AnyRequest::SendMessage(SendMessageRequest {
        message: Some(message), configuration, ..
    }) = request
    else {
        panic!("{request:?}")
    };
    assert_eq!((&*message.task_id, &*message.context_id), ("t", ""));
    assert_eq!((message.role(), &*message.text()), (Role::User, "x"));
    assert!(!message.message_id.is_empty());
    let configuration = configuration.unwrap();
    assert_eq!(configuration.history_length, Some(0), "a missing length is none");
    assert!(!configuration.return_immediately, "a send waits");

    for length in [json!(null), json!(0)] {
        let params = json!({"id": "t", "historyLength": length});
        let request = V0_1.read_request("tasks/get", params).unwrap();
        let AnyRequest::GetTask(request) = request else { panic!("{request:?}") };
        assert_eq!(request.history_length, Some(0));
    }
    for method in ["message/send", "tasks/list", "SendMessage", "tasks/pushNotification/delete"] {
        let error = V0_1.read_request(method, json!({"id": "t"})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MethodNotFound, "{method}");
    }
}

#[test]
fn unsupported_operations_are_rejected() {
    for request in [
        AnyRequest::ListTasks(Default::default()),
        AnyRequest::ListTaskPushNotificationConfigs(Default::default()),
        AnyRequest::DeleteTaskPushNotificationConfig(Default::default()),
        AnyRequest::GetExtendedAgentCard(Default::default()),
    ] {
        let error = V0_1.write_request(request.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{request:?}");
    }
}

//
#[test]
fn parts_are_read_in_all_documented_formats_only() {
    let read = |part: Value| {
        let params = json!({"id": "t", "message": {"role": "user", "parts": [part]}});
        V0_1.read_request("tasks/send", params)
    };
    let raw = Part::raw(b"hi".to_vec()).with_media_type("text/plain");
    for (part, expected) in [
        (json!({"type": "text", "text": ""}), Part::text("")),
        (json!({"kind": "text", "text": "x"}), Part::text("x")),
        (json!({"text": "x", "metadata": null}), Part::text("x")),
        (json!({"type": "file", "file": {"bytes": "aGk=", "mimeType": "text/plain"}}), raw.clone()),
        (json!({"type": "file", "file": {"data": "aGk", "mimeType": "text/plain"}}), raw),
        (
            json!({"type": "file", "file": {"uri": "https://a.b", "bytes": null, "name": "n"}}),
            Part::url("https://a.b").with_filename("n"),
        ),
        (json!({"type": "data", "data": {"a": 1}}), Part::data(json!({"a": 1}))),
        (json!({"type": "data", "data": [1]}), Part::data(json!([1]))),
        (
            json!({"type": "data", "data": {"value": 1}, "metadata": {"data_part_compat": true}}),
            Part::data(CoreValue::from(1)),
        ),
    ] {
        let request = read(part.clone()).unwrap();
        let AnyRequest::SendMessage(request) = request else { panic!("{request:?}") };
        assert_eq!(request.message.unwrap().parts, [expected], "{part}");
    }
    for part in [
        json!({"type": "file", "file": {"name": "n"}}),
        json!({"type": "file", "file": {"bytes": "aGk=", "uri": "https://a.b"}}),
        json!({"type": "file"}),
        json!({"type": "text"}),
        json!({"type": "video", "text": "x"}),
        json!({"metadata": {}}),
        json!("x"),
    ] {
        let error = read(part.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{part}");
        assert!(error.violations()[0].field.starts_with("message.parts[0]"), "{error:?}");
    }
}

#[test]
fn artifacts_with_missing_or_equal_indexes_get_unique_ids() {
    let part = json!({"type": "text", "text": "x"});
    let task = read_task(json!({"id": "t", "status": {"state": "completed"}, "artifacts": [
        {"parts": [part]}, {"parts": [part], "index": null}, {"parts": [part], "index": 5},
        {"parts": [part], "index": 5}, {"parts": [part], "index": 1},
    ]}));
    let ids: Vec<_> = task.artifacts.iter().map(|artifact| &*artifact.artifact_id).collect();
    assert_eq!(ids, ["artifact-0", "artifact-1", "artifact-5", "artifact-6", "artifact-2"]);
    let last = json!({"parts": [part], "index": u32::MAX});
    let task = json!({"id": "t", "status": {"state": "completed"}, "artifacts": [last]});
    assert_eq!(read_task(task).artifacts[0].artifact_id, "artifact-4294967295");
}

#[test]
fn message_response_becomes_a_completed_task() {
    let message = Message::agent("hi").with_task_id("t").with_context_id("c");
    let payload = Some(send_message_response::Payload::Message(message.clone()));
    let answer = AnyResponse::Sent(SendMessageResponse { payload });
    let reply = json!({"role": "agent", "parts": [{"type": "text", "text": "hi"}]});
    let status = json!({"state": "completed", "message": reply});
    assert_eq!(
        V0_1.write_response(Operation::SendMessage, answer),
        json!({"id": "t", "sessionId": "c", "status": status})
    );
    assert_eq!(
        V0_1.write_event(&event(Payload::Message(message)), false),
        json!({"id": "t", "status": status, "final": true})
    );
}

#[test]
fn ended_task_is_split_into_artifacts_and_a_final_status() {
    let mut splitter = EventSplitter::new();
    let artifact = |id: &str| Artifact::new("n", "x").with_id(id);
    let update = |id: &str| {
        event(Payload::ArtifactUpdate(v1::TaskArtifactUpdateEvent {
            task_id: "t".into(),
            artifact: Some(artifact(id)),
            append: true,
            ..Default::default()
        }))
    };
    let task = |state: TaskState| {
        event(Payload::Task(Task {
            id: "t".into(),
            status: Some(TaskStatus { state: state.into(), ..Default::default() }),
            artifacts: vec![artifact("b"), artifact("a")],
            ..Default::default()
        }))
    };
    let mut written = |event: StreamResponse| -> Vec<Value> {
        splitter.split(event).iter().map(|event| V0_1.write_event(event, false)).collect()
    };
    assert_eq!(
        written(task(TaskState::Working)),
        [json!({"id": "t", "status": {"state": "working"}, "final": false})]
    );
    for (id, index) in [("c", 2), ("a", 1), ("b", 0), ("c", 2)] {
        let events = written(update(id));
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["artifact"]["index"], index, "{id}");
    }
    let events = written(task(TaskState::Completed));
    assert_eq!(events.len(), 3);
    assert_eq!(events[0]["artifact"]["index"], 0);
    assert_eq!(events[0]["artifact"]["lastChunk"], true);
    assert_eq!(events[2], json!({"id": "t", "status": {"state": "completed"}, "final": true}));
}

#[test]
fn errors_have_codes_of_the_revision() {
    for kind in ErrorKind::ALL {
        let error = a2a_core::Error::new(kind, "why").with_metadata("taskId", "t");
        let written = V0_1.write_error(&error);
        let expected = match kind {
            ErrorKind::ExtendedAgentCardNotConfigured => -32004,
            ErrorKind::ExtensionSupportRequired | ErrorKind::VersionNotSupported => -32600,
            ErrorKind::InvalidAgentResponse => -32603,
            other => other.codes().jsonrpc,
        };
        assert_eq!((written.code, &*written.message), (expected, "why"), "{kind:?}");
        assert_eq!(written.data["taskId"], "t");
    }
}

#[test]
fn missing_webhook_is_reported_as_not_found() {
    for none in [json!(null), json!({})] {
        let read = V0_1.read_response(Operation::GetTaskPushNotificationConfig, none);
        assert_eq!(read.unwrap_err().kind(), ErrorKind::TaskNotFound);
    }
    for wrong in [json!(null), json!([]), json!("x"), json!({"id": "t"})] {
        let read = V0_1.read_response(Operation::GetTask, wrong.clone());
        assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidAgentResponse, "{wrong}");
    }
}

#[test]
fn card_url_is_that_of_the_oldest_interface() {
    let interface = |binding: &str, version: &str, url: &str| v1::AgentInterface {
        url: url.into(),
        protocol_binding: binding.into(),
        protocol_version: version.into(),
        ..Default::default()
    };
    let mut card = v1::AgentCard::new("n", "d");
    assert_eq!(super::write_card(&card), None);
    card.supported_interfaces = vec![
        interface("JSONRPC", "1.0", "https://new"),
        interface("HTTP+JSON", "0.3", "https://rest"),
    ];
    assert_eq!(super::write_card(&card), None);
    card.supported_interfaces.push(interface("JSONRPC", "0.3", "https://old"));
    assert_eq!(super::write_card(&card).unwrap()["url"], "https://old");
    card.supported_interfaces.push(interface("JSONRPC", "0.1", "https://oldest"));
    assert_eq!(super::write_card(&card).unwrap()["url"], "https://oldest");
}
