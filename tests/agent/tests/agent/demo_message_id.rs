//! The demo agent's table 1: behaviour by the start of the message id.

use crate::common::summary;
use std::time::Duration;

use crate::common::Server;
use crate::common::summary::{message, send, send_at_once, stream, task, task_summary};
use a2a_core::{
    v1::{CancelTaskRequest, GetTaskRequest},
    well_known::Struct,
};
use a2a_kit_jsonrpc::Client;
use a2a_kit_operations::{Agent, Call};

const FILE: &str = "[raw 22 output.txt text/plain]";
const FILE_BY_URL: &str = "[https://example.com/output.txt output.txt text/plain]";

fn start() -> (Server, Client) {
    let server =
        Server::start_with(&["--profile", "conformance"], &[("TCK_STREAMING_TIMEOUT", "0.2")]);
    let client = summary::client(&server.url());
    (server, client)
}

#[tokio::test]
async fn each_name_streams_what_the_table_says() {
    let (_server, client) = start();
    let (file, by_url) = (format!("{FILE}."), format!("{FILE_BY_URL}."));
    let done = "COMPLETED";
    let rows: Vec<(&str, Vec<&str>)> = vec![
        ("tck-artifact-text", vec!["[\"Generated text content\"].", done]),
        ("tck-artifact-file", vec![&file, done]),
        ("tck-artifact-file-url", vec![&by_url, done]),
        ("tck-artifact-data", vec!["[{\"count\":42,\"key\":\"value\"}].", done]),
        ("tck-stream-001", vec!["WORKING", "[\"Stream hello from TCK\"].", done]),
        ("tck-stream-003", vec!["WORKING", "[\"Stream task lifecycle\"].", done]),
        ("tck-stream-ordering-001", vec!["WORKING", "[\"Ordered output\"].", done]),
        ("tck-stream-artifact-text", vec!["WORKING", "[\"Streamed text content\"].", done]),
        ("tck-stream-artifact-file", vec!["WORKING", &file, done]),
        ("tck-stream-artifact-chunked", vec!["WORKING", "[\"chunk-1 \"]", "+[\"chunk-2\"].", done]),
        ("tck-complete-task", vec!["COMPLETED \"Hello from TCK\""]),
        ("tck-stream-002", vec!["COMPLETED \"Completed at once\""]),
        ("tck-input-required", vec!["INPUT_REQUIRED \"Please say more\""]),
        ("tck-reject-task", vec!["REJECTED \"This task is rejected on purpose\""]),
        (
            "test-resubscribe-message-id",
            vec!["WORKING", "COMPLETED \"Completed after the streaming timeout\""],
        ),
        ("acc-echo", vec!["WORKING", "[\"hi\"].", "COMPLETED \"Echo: hi\""]),
        ("acc-fail", vec!["WORKING", "FAILED \"Failed on purpose\""]),
    ];
    for (name, expected) in rows {
        let summary = stream(&client, message(&format!("{name}-7"), "hi")).await;
        assert_eq!(summary[0], "task SUBMITTED", "{name}");
        assert_eq!(summary[1..], expected, "{name}");
    }
    let summary = stream(&client, message("tck-message-response", "hi")).await;
    assert_eq!(summary, ["message \"Direct message response\""]);
}

#[tokio::test]
async fn a_chunked_artifact_is_stored_as_one() {
    let (_server, client) = start();
    let task = task(send(&client, message("tck-stream-artifact-chunked", "hi")).await);
    assert_eq!(task_summary(&task), "COMPLETED [\"chunk-1 \", \"chunk-2\"]");
}

#[tokio::test]
async fn authorization_is_requested_and_extensions_are_named() {
    let (_server, client) = start();
    let waiting = task(send(&client, message("acc-auth", "hi")).await);
    assert_eq!(task_summary(&waiting), "AUTH_REQUIRED \"Please authorize this\"");
    let mut call = Call::new(a2a_core::v1::SendMessageRequest {
        message: Some(message("acc-ext", "hi")),
        ..Default::default()
    });
    call.context.extensions = ["urn:b", "urn:a"].into_iter().collect();
    let answer = client.send_message(call).await.unwrap().response.payload.unwrap();
    assert_eq!(task_summary(&task(answer)), "COMPLETED \"extensions: urn:a,urn:b\"");
}

#[tokio::test]
async fn a_slow_task_waits_as_long_as_the_message_says() {
    let (_server, client) = start();
    let mut slow = message("acc-slow", "hi");
    slow.metadata = Some(Struct::from([("delayMs", 300)]));
    let begun = std::time::Instant::now();
    let task = task(send(&client, slow).await);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(task_summary(&task), "COMPLETED [\"slow: hi\"]");
}

#[tokio::test]
async fn a_held_task_works_until_it_is_canceled() {
    let (_server, client) = start();
    let held = task(send_at_once(&client, message("acc-hold", "hi")).await);
    let request = CancelTaskRequest { id: held.id.clone(), ..Default::default() };
    let canceled = client.cancel_task(Call::new(request)).await.unwrap().response;
    assert_eq!(task_summary(&canceled), "CANCELED \"Canceled, as you asked\"");
}

#[tokio::test]
async fn a_follow_up_runs_by_its_own_prefix_and_without_one_like_its_task() {
    let (_server, client) = start();
    let asked = task(send(&client, message("tck-input-required", "hi")).await);
    let again = message("m-2", "more").with_task_id(&asked.id);
    assert_eq!(
        task_summary(&task(send(&client, again).await)),
        "INPUT_REQUIRED \"Please say more\""
    );
    let complete = message("tck-complete-task", "more").with_task_id(&asked.id);
    assert_eq!(task_summary(&task(send(&client, complete).await)), "COMPLETED \"Hello from TCK\"");
}

#[tokio::test]
async fn what_no_rule_matches_asks_for_more_or_with_the_flag_completes() {
    let (_server, client) = start();
    let asked = task(send(&client, message("m-1", "hello")).await);
    assert_eq!(task_summary(&asked), "INPUT_REQUIRED \"Echo: hello\"");
    let request = GetTaskRequest { id: asked.id, ..Default::default() };
    let stored = client.get_task(Call::new(request)).await.unwrap().response;
    assert_eq!(stored.history[0].text(), "hello");

    let server = Server::start(&["--profile", "conformance", "--default", "complete"]);
    let client = Client::new(&server.url()).unwrap();
    let done = task(send(&client, message("m-1", "hello")).await);
    assert_eq!(task_summary(&done), "COMPLETED [\"Echo: hello\"]");
}
