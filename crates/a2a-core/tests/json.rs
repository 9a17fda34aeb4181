//! Reading JSON: lenient timestamps of responses, and paths of invalid members.

#![allow(clippy::unwrap_used, reason = "a failed test")]

use a2a_core::{
    AgentCard, ErrorKind, Message, Role, TaskState, Violation,
    json::{self, from_slice},
    v1::{ListTasksRequest, SendMessageRequest, Task, TaskStatus},
};
use serde::Deserialize;

#[test]
fn timestamp_without_time_zone_is_only_accepted_in_responses() {
    let with_zone: TaskStatus =
        serde_json::from_str(r#"{"timestamp":"2026-11-22T13:18:42.965969Z"}"#).unwrap();
    let status: TaskStatus = from_slice(br#"{"timestamp":"2026-11-22T13:18:42.965969"}"#).unwrap();
    assert_eq!(status, with_zone);
    assert_eq!(from_slice::<TaskStatus>(br#"{"timestamp":null}"#).unwrap().timestamp, None);
    for text in [
        "",
        "now",
        "2026-11-22",
        "13:18:42",
        "2026-11-22T13:18",
        "2026-11-22T13:18:42+01",
        "2026-11-22T13:18:42 ",
        "2026-11-22T25:18:42",
        "0000-01-01T00:00:00",
    ] {
        let json = serde_json::json!({ "timestamp": text }).to_string();
        let error = from_slice::<TaskStatus>(json.as_bytes()).unwrap_err();
        assert_eq!(error.violations()[0].field, "timestamp", "{text}");
    }
    let json = br#"{"statusTimestampAfter":"2026-11-22T13:18:42.965969"}"#;
    let error = from_slice::<ListTasksRequest>(json).unwrap_err();
    assert_eq!(error.violations()[0].field, "statusTimestampAfter");
}

#[test]
fn message_that_is_no_object_is_named_without_its_type() {
    let error = from_slice::<AgentCard>(br#"{"capabilities":"all"}"#).unwrap_err();
    assert_eq!(error.violations()[0].field, "capabilities");
    let text = &error.violations()[0].description;
    assert!(text.contains("expected an object") && !text.contains("struct"), "{text}");
}

#[test]
fn errors_have_the_path_of_the_invalid_member() {
    for (json, path) in [
        ("[]", ""),
        (r#"{"message":["m","c","t","ROLE_USER",[{"text":"x"}]]}"#, "message"),
        (r#"{"configuration":[]}"#, "configuration"),
        (r#"{"message":{"parts":[[]]}}"#, "message.parts[0]"),
    ] {
        let error = from_slice::<SendMessageRequest>(json.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{json}");
        assert_eq!(error.violations()[0].field, path, "{json}");
    }
    for json in ["[", r#"{"id":7"#, r#"{"id":[]}}"#] {
        let error = from_slice::<Task>(json.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ParseError, "{json}");
    }
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Needy {
        name: String,
        inner: Option<Box<Self>>,
    }
    for (json, path) in [("{}", "name"), (r#"{"name":"a","inner":{}}"#, "inner.name")] {
        let error = from_slice::<Needy>(json.as_bytes()).unwrap_err();
        assert_eq!(error.violations(), [Violation::new(path, "is required")], "{json}");
    }
    assert!(from_slice::<Task>(b"[]").is_err());
    assert!(from_slice::<Task>(b"null").is_err());
}

#[test]
fn names_of_any_revision_are_read_in_responses_only() {
    let task = |state: &str| format!(r#"{{"id":"t","status":{{"state":{state}}}}}"#);
    for (state, expected) in [
        ("\"completed\"", TaskState::Completed),
        ("\"Completed\"", TaskState::Completed),
        ("\"COMPLETED\"", TaskState::Completed),
        ("\"TASK_STATE_CANCELLED\"", TaskState::Canceled),
        ("\"cancelled\"", TaskState::Canceled),
        ("\"input-required\"", TaskState::InputRequired),
        ("\"inputRequired\"", TaskState::InputRequired),
        ("\"unknown\"", TaskState::Unspecified),
        ("\"TASK_STATE_UNSPECIFIED\"", TaskState::Unspecified),
        ("3", TaskState::Completed),
    ] {
        let read: Task = json::response_from_slice(task(state).as_bytes()).unwrap();
        assert_eq!(read.status.unwrap().state, expected as i32, "{state}");
    }
    let strict: Task = from_slice(task("\"completed\"").as_bytes()).unwrap();
    assert!(TaskState::try_from(strict.status.unwrap().state).is_err());
    for (role, expected) in [("user", Role::User), ("agent", Role::Agent), ("bot", Role::Agent)] {
        let message = format!(r#"{{"role":"{role}"}}"#);
        let read: Message = json::response_from_slice(message.as_bytes()).unwrap();
        assert_eq!(read.role(), expected, "{role}");
    }
}

#[test]
fn unknown_state_is_an_error_that_quotes_it() {
    for (state, quoted) in [("\"TASK_STATE_PAUSED\"", "\"TASK_STATE_PAUSED\""), ("42", "42")] {
        let task = format!(r#"{{"status":{{"state":{state}}}}}"#);
        let error = json::response_from_slice::<Task>(task.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
        let expected = format!("status.state unknown task state {quoted}");
        assert!(error.message().ends_with(&expected), "{error}");
    }
}
