//! The demo agent: behaviour by word.

use crate::common::summary;
use crate::common::summary::{message, send, send_at_once, stream, task, task_summary};
use crate::common::{Server, http, kind};
use a2a_core::TaskState;
use a2a_kit_jsonrpc::Client;

fn start(arguments: &[&str]) -> (Server, Client) {
    let server = Server::start(arguments);
    let client = summary::client(&server.url());
    (server, client)
}

#[tokio::test]
async fn each_word_of_the_demo_streams_its_response() {
    let (_server, client) = start(&[]);
    let done = "COMPLETED";
    let rows: [(&str, &[&str]); 12] = [
        ("echo a b", &["WORKING", "[\"a b\"].", done]),
        ("anything else", &["WORKING", "[\"anything else\"].", done]),
        ("Echo a", &["WORKING", "[\"Echo a\"].", done]),
        ("stream 2", &["WORKING", "[\"chunk 1 of 2\"]", "+[\"chunk 2 of 2\"].", "COMPLETED"]),
        ("slow 1", &["WORKING", "WORKING \"1 of 1 seconds\"", "[\"Worked for 1 seconds\"].", done]),
        ("ask", &["WORKING", "INPUT_REQUIRED \"What is your name?\""]),
        ("fail", &["WORKING", "FAILED \"Failed, as you asked\""]),
        ("reject", &["REJECTED \"Rejected, as you asked\""]),
        (
            "file",
            &[
                "WORKING",
                "[raw 81 pixels.png image/png, https://example.com/output.txt output.txt text/plain].",
                done,
            ],
        ),
        (
            "data",
            &[
                "WORKING",
                "[{\"city\":\"Oslo\",\"days\":[\"Mon\",\"Tue\"],\"degrees\":-3,\"wind\":null}].",
                done,
            ],
        ),
        (
            "html",
            &[
                "WORKING",
                "[\"<h1>Markup</h1><script>alert('hello')</script>\\n\\u{1b}[31mred\\u{1b}[0m\" text/html].",
                done,
            ],
        ),
        ("form", &["WORKING", "INPUT_REQUIRED \"Where do you want to go?\""]),
    ];
    for (text, expected) in rows {
        let summary = stream(&client, message("m", text)).await;
        assert_eq!(summary[0], "task SUBMITTED", "{text}");
        assert_eq!(summary[1..], *expected, "{text}");
    }
    let summary = stream(&client, message("m", "message")).await;
    assert_eq!(summary, ["message \"A message, and no task\""]);
}

#[tokio::test]
async fn a_panic_fails_the_task_and_tells_only_an_id() {
    let (_server, client) = start(&[]);
    let task = task(send(&client, message("m", "panic")).await);
    assert_eq!(task.state(), TaskState::Failed);
    let summary = task_summary(&task);
    assert!(!summary.contains("on purpose"), "{summary}");
}

#[tokio::test]
async fn help_lists_every_word_of_the_card() {
    let (server, client) = start(&[]);
    let help = task(send(&client, message("m", "help")).await).text();
    let card = server.json(&["card", "get"]);
    for skill in card["skills"].as_array().unwrap() {
        assert!(help.contains(skill["id"].as_str().unwrap()), "{skill}");
    }
    assert_eq!(help.lines().count(), card["skills"].as_array().unwrap().len());
}

#[tokio::test]
async fn an_authorization_lets_its_task_go_on() {
    let (server, client) = start(&[]);
    let waiting = task(send(&client, message("m", "auth")).await);
    assert_eq!(waiting.state(), TaskState::AuthRequired);
    let authorize = |id: &str| {
        let url = format!("{}/demo/authorize/{id}", server.url());
        async move { http("POST", &url, &[], "").await.status() }
    };
    assert_eq!(authorize("nope").await, 404);
    assert_eq!(authorize(&waiting.id).await, 200);
    let done = server.json(&["task", "get", &waiting.id, "--wait", "--poll-interval", "100ms"]);
    assert_eq!(done["artifacts"][0]["parts"][0]["text"], "Authorized");
}

#[tokio::test]
async fn a_slow_task_stops_when_it_is_canceled() {
    let (server, client) = start(&[]);
    let slow = task(send_at_once(&client, message("m", "slow 60")).await);
    let canceled = server.json(&["task", "cancel", &slow.id]);
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn a_slow_task_refuses_messages_while_it_works() {
    let (server, client) = start(&[]);
    let slow = task(send_at_once(&client, message("m", "slow 60")).await);
    let run = server.run(&["send", "more", "--task-id", &slow.id, "--async"]);
    assert!(run.stderr.starts_with("Error: UnsupportedOperationError\n"), "{run:?}");
    server.json(&["task", "cancel", &slow.id]);
}

#[test]
fn another_agent_is_called_and_its_stream_relayed() {
    let (near, far) = (Server::start(&[]), Server::start(&[]));
    let text = format!("call {} stream 3", far.address);
    let run = near.run(&["send", &text, "--stream", "-o", "json"]);
    let kinds: Vec<_> = run.lines().iter().map(kind).collect();
    assert_eq!(kinds.first().map(String::as_str), Some("task SUBMITTED"));
    let chunks: Vec<_> = kinds.iter().filter(|kind| kind.starts_with("artifact")).collect();
    assert_eq!(chunks, ["artifact chunk 1 of 3", "artifact chunk 2 of 3", "artifact chunk 3 of 3"]);
    assert_eq!(kinds.last().map(String::as_str), Some("status COMPLETED"));
    let nobody = near.run(&["send", "call localhost:1 hello"]);
    assert_eq!(nobody.field("State"), "FAILED");
}
