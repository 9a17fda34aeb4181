//! The demo agent's table 2: behaviour by the start of the text.

use crate::common::summary;
use std::time::{Duration, Instant};

use crate::common::Server;
use crate::common::summary::{get, message, send, send_at_once, stream, task, task_summary};
use a2a_core::{Part, TaskState, v1::CancelTaskRequest};
use a2a_kit_jsonrpc::Client;
use a2a_kit_operations::{Agent, Call};
use serde_json::{Value, json};

fn start() -> (Server, Client) {
    let server = Server::start(&["--profile", "conformance"]);
    let client = summary::client(&server.url());
    (server, client)
}

/// What each name comes to: its events behind SUBMITTED and WORKING, and the task at its end.
const ROWS: [(&str, &[&str], &str); 12] = [
    ("tck-complete-task", &["COMPLETED \"Completed at once\""], "COMPLETED \"Completed at once\""),
    ("tck-task-failure", &["FAILED \"Failed on purpose\""], "FAILED \"Failed on purpose\""),
    (
        "tck-reject-task",
        &["REJECTED \"This task is rejected on purpose\""],
        "REJECTED \"This task is rejected on purpose\"",
    ),
    (
        "tck-input-required",
        &["INPUT_REQUIRED \"Please say more\""],
        "INPUT_REQUIRED \"Please say more\"",
    ),
    (
        "tck-artifact-text",
        &["[\"Generated text content\"].", "COMPLETED"],
        "COMPLETED [\"Generated text content\"]",
    ),
    (
        "tck-artifact-data",
        &["[{\"count\":42,\"key\":\"value\"}].", "COMPLETED"],
        "COMPLETED [{\"count\":42,\"key\":\"value\"}]",
    ),
    (
        "tck-artifact-file",
        &["[raw 22 output.txt text/plain].", "COMPLETED"],
        "COMPLETED [raw 22 output.txt text/plain]",
    ),
    (
        "tck-artifact-file-url",
        &["[https://example.com/output.txt output.txt text/plain].", "COMPLETED"],
        "COMPLETED [https://example.com/output.txt output.txt text/plain]",
    ),
    (
        "tck-stream-basic",
        &["[\"Streamed content\"].", "COMPLETED"],
        "COMPLETED [\"Streamed content\"]",
    ),
    (
        "tck-stream-chunked",
        &["[\"chunk 1 \"]", "+[\"chunk 2 \"]", "+[\"chunk 3\"].", "COMPLETED"],
        "COMPLETED [\"chunk 1 \", \"chunk 2 \", \"chunk 3\"]",
    ),
    (
        "tck-multi-turn",
        &["INPUT_REQUIRED \"Say more, or `done`\""],
        "INPUT_REQUIRED \"Say more, or `done`\"",
    ),
    (
        "tck-no-such-thing",
        &["FAILED \"Unknown behaviour: tck-no-such-thing\""],
        "FAILED \"Unknown behaviour: tck-no-such-thing\"",
    ),
];

#[tokio::test]
async fn each_name_does_the_same_streamed_awaited_and_returned_at_once() {
    let (_server, client) = start();
    for (name, events, end) in ROWS {
        let text = format!("  {name} and some noise");
        let summary = stream(&client, message("m", &text)).await;
        assert_eq!(summary[..2], ["task SUBMITTED", "WORKING"], "{name}");
        assert_eq!(summary[2..], *events, "{name}");
        let awaited = task(send(&client, message("m", &text)).await);
        assert_eq!(task_summary(&awaited), end, "{name}");
        let mut polled = task(send_at_once(&client, message("m", &text)).await);
        while !polled.state().is_settled() {
            polled = get(&client, &polled.id).await;
        }
        assert_eq!(task_summary(&polled), end, "{name}");
    }
}

#[tokio::test]
async fn a_message_answers_without_a_task_and_authorization_is_asked_for() {
    let (_server, client) = start();
    let summary = stream(&client, message("m", "tck-message-response")).await;
    assert_eq!(summary, ["message \"Direct message response\""]);
    let waiting = task(send(&client, message("m", "tck-auth-required")).await);
    assert_eq!(task_summary(&waiting), "AUTH_REQUIRED \"Please authorize this\"");
}

#[tokio::test]
async fn turns_go_on_until_one_says_done_and_all_are_in_the_history() {
    let (_server, client) = start();
    let first = task(send(&client, message("m-1", "tck-multi-turn")).await);
    for text in ["one", "two"] {
        let turn = task(send(&client, message(text, text).with_task_id(&first.id)).await);
        assert_eq!(turn.state(), TaskState::InputRequired, "{text}");
    }
    let last = message("m-4", "DONE, thanks").with_task_id(&first.id);
    assert_eq!(task(send(&client, last).await).state(), TaskState::Completed);
    let history = get(&client, &first.id).await.history;
    let said: Vec<_> = history
        .iter()
        .filter(|message| message.role() == a2a_core::Role::User)
        .map(a2a_core::Message::text)
        .collect();
    assert_eq!(said, ["tck-multi-turn", "one", "two", "DONE, thanks"]);
}

#[tokio::test]
async fn a_task_to_cancel_works_until_then_and_a_long_one_takes_a_second() {
    let (_server, client) = start();
    let working = task(send_at_once(&client, message("m", "tck-cancel")).await);
    let request = CancelTaskRequest { id: working.id, ..Default::default() };
    let canceled = client.cancel_task(Call::new(request)).await.unwrap().response;
    assert_eq!(task_summary(&canceled), "CANCELED \"Canceled, as you asked\"");
    let begun = Instant::now();
    let long = task(send(&client, message("m", "tck-long-running")).await);
    assert_eq!(task_summary(&long), "COMPLETED [\"Finished after a second\"]");
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(800) && took < Duration::from_millis(1500), "{took:?}");
}

#[tokio::test]
async fn our_client_reads_an_answer_that_the_message_brings_along() {
    let (_server, client) = start();
    let card = json!({
        "name": "a", "description": "b", "version": "1",
        "supportedInterfaces": [
            {"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": false, "pushNotifications": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": []
    });
    let task_json =
        json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}});
    let envelope = |result: Value| json!({"jsonrpc": "2.0", "id": 99, "result": result});
    let rows = [
        ("send_message", envelope(json!({"task": task_json})), json!({"task": task_json})),
        (
            "send_message",
            envelope(json!({"message": {"messageId": "m", "role": "ROLE_AGENT",
                "parts": [{"text": "hi"}]}})),
            json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}}),
        ),
        ("get_task", envelope(task_json.clone()), task_json.clone()),
        ("get_agent_card", card.clone(), card.clone()),
        ("get_extended_agent_card", envelope(card.clone()), card.clone()),
        ("get_extended_agent_card", card.clone(), card.clone()),
        (
            "get_task",
            json!({"jsonrpc": "2.0", "id": 1,
                "error": {"code": -32001, "message": "no such task"}}),
            json!({"error": {"code": -32001, "message": "no such task"}}),
        ),
    ];
    for (operation, wire_payload, expected) in rows {
        let asked = json!({"operation": operation, "wire_payload": wire_payload});
        let message = message("m", "tck-client-parse").with_part(Part::from(asked));
        let done = task(send(&client, message).await);
        assert_eq!(done.state(), TaskState::Completed, "{operation}: {done:?}");
        let read = done.artifacts[0].parts[0].as_data().cloned().map(Value::from);
        assert_eq!(read, Some(expected), "{operation}");
    }
}
