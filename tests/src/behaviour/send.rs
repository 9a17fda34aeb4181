//! Sending messages.

use a2a_core::{
    ErrorKind, Message, Part, Role, TaskState,
    v1::SendMessageConfiguration,
    well_known::{Struct, Value},
};
use a2a_kit_operations::Call;

use crate::{
    Options, Topology,
    call::{
        at_once, configured, get, message_of, next, rejection_of, send, stream_of, subscribe,
        subscription, task_of, to_task, with,
    },
};

//
pub async fn send_waits_for_the_end_of_the_task(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, send("hello there")).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(task.text(), "hello there");
    assert!(!task.id.is_empty() && !task.context_id.is_empty());
    assert!(task.status.as_ref().unwrap().timestamp.is_some());
    let message = task.status_message().unwrap();
    assert_eq!((message.role(), message.text().as_str()), (Role::Agent, "done"));
    assert_eq!((&message.task_id, &message.context_id), (&task.id, &task.context_id));
    let stored = fixture.agent.get_task(get(&task.id)).await.unwrap().response;
    assert_eq!(*stored, task);
    let other = task_of(&fixture.agent, send("hello again")).await;
    assert_ne!(other.id, task.id);
}

//
pub async fn immediate_send_returns_the_running_task(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, at_once(send("gate"))).await;
    assert!(!task.state().is_settled(), "{:?}", task.state());
    let mut stream = subscription(&fixture.agent, subscribe(&task.id)).await;
    fixture.control.open();
    while next(&mut stream).await.state() != Some(TaskState::Completed) {}
}

//
pub async fn message_response_creates_no_task(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    for call in [send("message hello"), at_once(send("message hello"))] {
        let wants_at_once = call.request.configuration.is_some();
        let answer = fixture.agent.send_message(call).await.unwrap().response;
        // A caller that does not wait may get the task before the agent responds.
        if !wants_at_once {
            let Some(a2a_core::v1::send_message_response::Payload::Message(message)) =
                answer.payload
            else {
                panic!("not a message: {answer:?}");
            };
            assert_eq!(message.text(), "hello");
            assert_eq!(message.role(), Role::Agent);
            assert!(!message.context_id.is_empty() && message.task_id.is_empty());
        }
    }
    let message = message_of(&fixture.agent, send("message again")).await;
    assert_eq!(message.text(), "again");
}

//
pub async fn violations_name_the_path_of_each_member(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let rejected = rejection_of(&fixture.agent, Call::default()).await;
    assert_eq!(rejected.kind(), ErrorKind::InvalidParams);
    assert_eq!(rejected.violations()[0].field, "message");

    let message = Message { message_id: String::new(), ..Message::new(Role::Unspecified, vec![]) };
    let rejected = rejection_of(&fixture.agent, with(message)).await;
    let fields: Vec<_> =
        rejected.violations().iter().map(|violation| violation.field.as_str()).collect();
    assert_eq!(fields, ["message.messageId", "message.role", "message.parts"]);

    let empty_part = with(Message::new(Role::User, vec![Part::text("a"), Part::default()]));
    let rejected = rejection_of(&fixture.agent, empty_part).await;
    assert_eq!(rejected.violations()[0].field, "message.parts[1]");
    let listed = fixture.engine.list_tasks(Call::default()).await.unwrap().response;
    assert_eq!(listed.total_size, 0, "a rejected message has no effect");
}

//
pub async fn message_to_an_unknown_task_is_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let rejected = rejection_of(&fixture.agent, to_task("no-such-task", "hi")).await;
    assert_eq!(rejected.kind(), ErrorKind::TaskNotFound);
    assert_eq!(rejected.metadata().get("taskId").map(String::as_str), Some("no-such-task"));
    let found = fixture.agent.get_task(get("no-such-task")).await.unwrap_err();
    assert_eq!(found.kind(), ErrorKind::TaskNotFound, "no task was made under that id");
}

//
pub async fn message_to_an_ended_task_is_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, send("hello")).await;
    let rejected = rejection_of(&fixture.agent, to_task(&task.id, "more")).await;
    assert_eq!(rejected.kind(), ErrorKind::UnsupportedOperation);
    let rejected = fixture.agent.send_streaming_message(to_task(&task.id, "more")).await;
    assert_eq!(rejected.unwrap_err().kind(), ErrorKind::UnsupportedOperation);
}

//
pub async fn message_to_a_waiting_task_continues_it(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    for (first, second, end) in [("ask", "this", "so this"), ("input", "more", "enough")] {
        let task = task_of(&fixture.agent, send(first)).await;
        assert_eq!(task.state(), TaskState::InputRequired, "{first}");
        let question = task.status_message().unwrap().text();
        let after = task_of(&fixture.agent, to_task(&task.id, second)).await;
        assert_eq!(after.state(), TaskState::Completed, "{first}");
        assert_eq!(after.status_message().unwrap().text(), end);
        assert_eq!((&after.id, &after.context_id), (&task.id, &task.context_id));
        let said: Vec<_> = after.history.iter().map(Message::text).collect();
        assert_eq!(said, [first, &question, second]);
    }
}

pub async fn message_to_a_running_task_is_queued(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let mut first = stream_of(&fixture.agent, send("auth")).await;
    let task_id = next(&mut first).await.task().unwrap().id.clone();
    while next(&mut first).await.state() != Some(TaskState::AuthRequired) {}
    let agent = fixture.agent.clone();
    let queued = to_task(&task_id, "hello");
    let queued = tokio::spawn(async move { agent.send_message(queued).await });
    fixture.control.open();
    // The task ends with the first message, so the second one has nothing to wait for.
    let rejected = queued.await.unwrap().unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::UnsupportedOperation);
}

//
pub async fn unsupported_part_media_type_is_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let foreign = Part::text("x").with_media_type("application/x-foreign");
    let rejected = rejection_of(&fixture.agent, with(Message::user(foreign))).await;
    assert_eq!(rejected.kind(), ErrorKind::ContentTypeNotSupported);
    let image = Part::raw(vec![1]).with_media_type("image/png");
    let message = Message::user("parts").with_part(image);
    assert_eq!(task_of(&fixture.agent, with(message)).await.state(), TaskState::Completed);
}

//
pub async fn all_kinds_of_parts_pass_unchanged(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let data: Value =
        serde_json::json!({"n": 1, "f": 0.5, "null": null, "list": [true, "x"]}).into();
    let parts = vec![
        Part::text(""),
        Part::text("ünï\u{0}cödé").with_filename("a.txt").with_media_type("text/plain"),
        Part::raw((0..=255).collect::<Vec<u8>>()).with_media_type("application/octet-stream"),
        Part::raw(vec![]).with_media_type("application/octet-stream"),
        Part::url("https://example.com/a?b=c"),
        Part::data(data).with_metadata(Struct::from([("k", Value::Null)])),
        Part::data(Value::Null),
        Part::data(9_007_199_254_740_991_i64),
    ];
    let mut message = Message::user("parts ");
    message.parts.extend(parts.clone());
    let task = task_of(&fixture.agent, with(message)).await;
    assert_eq!(task.artifacts[0].parts, parts);
}

//
pub async fn executor_error_fails_the_task_without_internals(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    for (word, state, text) in [
        ("fail", TaskState::Failed, Some("no such thing")),
        ("reject", TaskState::Rejected, Some("not that")),
        ("leak", TaskState::Failed, None),
        ("panic", TaskState::Failed, None),
    ] {
        let task = task_of(&fixture.agent, send(word)).await;
        assert_eq!(task.state(), state, "{word}");
        let message = task.status_message().unwrap().text();
        assert!(!message.contains("1234"), "{message}");
        assert!(text.is_none_or(|text| message == text), "{message}");
    }
}

//
pub async fn response_has_the_requested_history_length(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, send("ask")).await;
    let task = task_of(&fixture.agent, to_task(&task.id, "this")).await;
    assert_eq!(task.history.len(), 3, "unset is all there is");
    for (asked, texts) in [
        (0, vec![]),
        (1, vec!["this"]),
        (2, vec!["which?", "this"]),
        (9, vec!["ask", "which?", "this"]),
    ] {
        let mut call = get(&task.id);
        call.request.history_length = Some(asked);
        let found = fixture.agent.get_task(call).await.unwrap().response;
        let said: Vec<_> = found.history.iter().map(Message::text).collect();
        assert_eq!(said, texts, "{asked}");
    }
    let none = SendMessageConfiguration { history_length: Some(0), ..Default::default() };
    assert!(task_of(&fixture.agent, configured(send("x"), none)).await.history.is_empty());
    let negative = SendMessageConfiguration { history_length: Some(-1), ..Default::default() };
    let rejected = rejection_of(&fixture.agent, configured(send("x"), negative)).await;
    assert_eq!(rejected.violations()[0].field, "configuration.historyLength");
}

pub async fn retry_with_the_same_key_joins_the_first_task(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let mut call = send("hello");
    call.context.idempotency_key = Some("key-1".into());
    let first = task_of(&fixture.agent, call.clone()).await;
    let second = task_of(&fixture.agent, call.clone()).await;
    assert_eq!(first.id, second.id);
    call.request.message = Some(Message::user("something else"));
    assert_eq!(rejection_of(&fixture.agent, call).await.kind(), ErrorKind::InvalidParams);
}

//
pub async fn reused_message_ids_are_separate_messages(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let call = send("hello");
    let first = task_of(&fixture.agent, call.clone()).await;
    let second = task_of(&fixture.agent, call).await;
    assert_ne!(first.id, second.id);
}
