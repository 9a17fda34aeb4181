//! `a2a serve --script`: the documented example over every binding.

use crate::common;
use crate::common::summary;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::common::summary::{get, message, send, send_at_once, stream, task, task_summary};
use crate::common::{Server, http};
use a2a_core::{ErrorKind, Message, Part, TaskState, v1::SendMessageRequest};
use a2a_kit_operations::{Agent, Call};
use futures_util::StreamExt as _;
use serde_json::json;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn example() -> Server {
    Server::start(&["--script", docs().join("examples/travel-agent.toml").to_str().unwrap()])
}

/// The same, with the tasks in a file.
fn example_with_store(folder: &Path) -> Server {
    let (script, store) = (docs().join("examples/travel-agent.toml"), folder.join("tasks.db"));
    Server::start(&["--script", script.to_str().unwrap(), "--store", store.to_str().unwrap()])
}

/// A server with a script of its own.
fn start(script: &str, environment: &[(&str, &str)]) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    fs::write(&path, script).unwrap();
    Server::start_with(&["--script", path.to_str().unwrap()], environment)
}

/// A client of each binding.
fn clients(server: &Server) -> [(&'static str, Arc<dyn Agent>); 3] {
    let url = server.url();
    [
        ("JSON-RPC", Arc::new(a2a_kit_jsonrpc::Client::new(&url).unwrap())),
        ("HTTP+JSON", Arc::new(a2a_kit_rest::Client::new(&url).unwrap())),
        ("gRPC", Arc::new(a2a_kit_grpc::Client::connect(&server.address).unwrap())),
    ]
}

fn request(text: &str) -> Call<SendMessageRequest> {
    let message = Some(Message::user(text));
    Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
}

async fn error(agent: &impl Agent, text: &str) -> ErrorKind {
    agent.send_message(request(text)).await.unwrap_err().kind()
}

/// The events of a stream before its error, and whether there was one.
async fn cut_stream(agent: &impl Agent, text: &str) -> (usize, bool, String) {
    let reply = agent.send_streaming_message(request(text)).await;
    let Ok(mut events) = reply.map(|reply| reply.response) else {
        return (0, true, String::new());
    };
    let (mut count, mut id) = (0, String::new());
    while let Some(event) = events.next().await {
        let Ok(event) = event else { return (count, true, id) };
        if let Some(task) = event.task() {
            id.clone_from(&task.id);
        }
        count += 1;
    }
    (count, false, id)
}

#[test]
fn the_documentation_contains_the_example() {
    let example = fs::read_to_string(docs().join("examples/travel-agent.toml")).unwrap();
    let page = fs::read_to_string(docs().join("scripts.md")).unwrap();
    assert!(page.contains(&format!("```toml\n{example}```")), "docs/scripts.md differs");
}

#[tokio::test]
async fn each_rule_of_the_example_answers_over_each_binding() {
    let server = example();
    let rows: [(&str, &[&str]); 4] = [
        ("book Oslo", &["WORKING", "INPUT_REQUIRED \"When do you want to go to Oslo?\""]),
        (
            "list 3 10ms",
            &[
                "WORKING",
                "[\"offer 1 of 3\"]",
                "+[\"offer 2 of 3\"]",
                "+[\"offer 3 of 3\"].",
                "COMPLETED",
            ],
        ),
        ("guess", &["INPUT_REQUIRED \"Which city?\""]),
        ("fly", &["REJECTED \"Cannot fly\""]),
    ];
    for (binding, client) in clients(&server) {
        for (text, expected) in rows {
            let events = stream(&client, message("m", text)).await;
            assert_eq!(events[0], "task SUBMITTED", "{binding}: {text}");
            assert_eq!(events[1..], *expected, "{binding}: {text}");
        }
        let events = stream(&client, message("m", "Hello there")).await;
        assert_eq!(events, ["message \"Hello! Say `book`, `list` or `pay`.\""], "{binding}");
        let crashed = task(send(&client, message("m", "crash")).await);
        assert_eq!(crashed.state(), TaskState::Failed, "{binding}");
        assert!(!task_summary(&crashed).contains("planes"), "{binding}: {crashed:?}");
        let invoice = message("m", "").with_part(Part::from(json!({"operation": "invoice"})));
        assert_eq!(
            task_summary(&task(send(&client, invoice).await)),
            "COMPLETED [{\"currency\":\"EUR\",\"total\":120}, raw 5 invoice.txt text/plain, \
             https://example.com/invoice.pdf application/pdf]",
            "{binding}"
        );
    }
}

#[tokio::test]
async fn a_message_continues_behind_the_question_or_by_the_rule_that_follows() {
    let server = example();
    for (binding, client) in clients(&server) {
        let reply = |id: &str, text: &str| message("m-2", text).with_task_id(id);
        let asked = task(send(&client, message("m", "book Oslo")).await);
        let booked = task(send(&client, reply(&asked.id, "list")).await);
        assert_eq!(task_summary(&booked), "COMPLETED [\"Departure: list\"]", "{binding}");

        let guess = task(send(&client, message("m", "guess")).await);
        let wrong = task(send(&client, reply(&guess.id, "Bergen")).await);
        assert_eq!(task_summary(&wrong), "INPUT_REQUIRED \"Which city?\"", "{binding}");
        let right = task(send(&client, reply(&guess.id, "It is OSLO.")).await);
        assert_eq!(task_summary(&right), "COMPLETED \"Right\"", "{binding}");
    }
}

#[tokio::test]
async fn a_task_waits_for_its_authorization() {
    let server = example();
    for (binding, client) in clients(&server) {
        let waiting = task(send(&client, message("m", "pay")).await);
        assert_eq!(waiting.state(), TaskState::AuthRequired, "{binding}");
        let url = format!("{}/demo/authorize/{}", server.url(), waiting.id);
        assert_eq!(http("POST", &url, &[], "").await.status(), 200, "{binding}");
        let mut paid = waiting;
        while !paid.state().is_terminal() {
            tokio::task::yield_now().await;
            paid = get(&client, &paid.id).await;
        }
        assert_eq!(task_summary(&paid), "COMPLETED \"Paid\"", "{binding}");
    }
}

#[tokio::test]
async fn an_open_question_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = example_with_store(folder.path());
    let asked = task(send(&summary::client(&server.url()), message("m", "book Oslo")).await);
    drop(server);
    let server = example_with_store(folder.path());
    let answer = message("m-2", "tomorrow").with_task_id(&asked.id);
    let booked = task(send(&summary::client(&server.url()), answer).await);
    assert_eq!(task_summary(&booked), "COMPLETED [\"Departure: tomorrow\"]");
}

#[tokio::test]
async fn an_interrupted_wait_continues_without_repeating_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    let server = example_with_store(folder.path());
    let waiting = task(send(&summary::client(&server.url()), message("m", "pay")).await);
    assert_eq!(waiting.state(), TaskState::AuthRequired);
    // A server that is killed leaves the run to the next one.
    drop(server);
    let server = example_with_store(folder.path());
    let url = format!("{}/demo/authorize/{}", server.url(), waiting.id);
    while http("POST", &url, &[], "").await.status() != 200 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let client = summary::client(&server.url());
    let mut paid = waiting;
    while !paid.state().is_terminal() {
        paid = get(&client, &paid.id).await;
    }
    assert_eq!(task_summary(&paid), "COMPLETED \"Paid\"");
    assert_eq!(paid.history.len(), 2, "one question: {:?}", paid.history);
}

#[tokio::test]
async fn faults_reach_the_client_as_errors() {
    let server = example();
    for (binding, client) in clients(&server) {
        assert_eq!(error(&client, "closed").await, ErrorKind::UnsupportedOperation, "{binding}");
        assert_eq!(cut_stream(&client, "closed").await.0, 0, "{binding}");

        let (events, is_cut, id) = cut_stream(&client, "drop").await;
        assert_eq!((events, is_cut), (3, true), "{binding}");
        let mut dropped = get(&client, &id).await;
        while !dropped.state().is_terminal() {
            dropped = get(&client, &id).await;
        }
        assert_eq!(dropped.artifacts[0].parts.len(), 5, "{binding}: the task goes on");

        let (events, is_broken, _) = cut_stream(&client, "garbage").await;
        assert_eq!((events, is_broken), (1, true), "{binding}");

        error(&client, "broken").await;
        assert_eq!(cut_stream(&client, "broken").await.0, 0, "{binding}");
        if binding == "JSON-RPC" {
            error(&client, "stranger").await;
            assert_eq!(cut_stream(&client, "stranger").await.0, 0, "{binding}");
        } else {
            let done = task(send(&client, message("m", "stranger")).await);
            assert_eq!(task_summary(&done), "COMPLETED \"Done\"", "{binding}");
        }
    }
    for (text, said) in
        [("closed", "the office is closed"), ("broken", "Bad gateway"), ("stranger", "id")]
    {
        let run = server.run(&["send", text, "--transport", "jsonrpc"]);
        assert!(run.code != 0 && run.stderr.contains(said), "{text}: {run:?}");
    }
}

#[tokio::test]
async fn the_bytes_of_a_faulty_response_are_those_of_the_script() {
    let server = example();
    let call = |text: &str| {
        json!({
            "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": {"message": {"messageId": "m", "role": "ROLE_USER",
                "parts": [{"text": text}]}}
        })
        .to_string()
    };
    let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let broken = http("POST", &server.url(), &headers, &call("broken")).await;
    assert_eq!(broken.status(), 502);
    assert_eq!(broken.headers()["content-type"], "text/html");
    assert_eq!(broken.body(), "<h1>Bad gateway</h1>");
    let stranger = http("POST", &server.url(), &headers, &call("stranger")).await;
    let stranger = String::from_utf8(stranger.body().to_vec()).unwrap();
    assert!(stranger.starts_with("{\"jsonrpc\":\"2.0\",\"id\":91,"), "{stranger}");
}

#[tokio::test]
async fn steps_and_placeholders_have_the_documented_effect() {
    let server = start(
        r#"
        [card]
        streaming = false
        push_notifications = false
        skills = [{ id = "one", name = "One", description = "The one" }]

        [[rule]]
        when = { message_id = "chunks*" }
        steps = [
            { artifact = { name = "a", text = "1", last_chunk = false } },
            { wait = "{metadata.delay|5}ms" },
            { artifact = { name = "a", append = true, parts = [{ base64 = "aGk=" }] } },
            { artifact = { name = "b", copy_message = true } },
            { state = "completed", text = "{message.id} {env.NOT_SET|-} {skills} {{}}" },
        ]

        [[rule]]
        when = { name = "run-*" }
        steps = [{ state = "completed", text = "{name}: {1|none}, {2|none}" }]

        [[rule]]
        when = { word = "count" }
        steps = [
            { repeat = "{1|2}", steps = [{ wait = 0 }] },
            { state = "completed", text = "{count}" },
        ]

        [[rule]]
        when = { metadata = { skill = "hold" } }
        steps = [{ state = "working" }, { wait_until = "canceled" }]
        "#,
        &[],
    );
    let client = summary::client(&server.url());
    let outcome = async |message| task_summary(&task(send(&client, message).await));
    let chunks = message("chunks-1", "hello");
    assert_eq!(
        outcome(chunks).await,
        "COMPLETED \"chunks-1 - one      The one {}\" [\"1\", raw 2] [\"hello\"]"
    );
    assert_eq!(outcome(message("m", "run-it a")).await, "COMPLETED \"run-it: a, none\"");
    for (text, count) in [("count", 2), ("count 3", 3), ("count x", 2), ("count 99999", 10_000)] {
        assert_eq!(outcome(message("m", text)).await, format!("COMPLETED \"{count}\""), "{text}");
    }
    assert_eq!(
        outcome(message("m", "what?")).await,
        "REJECTED \"no rule of the script matches the message\""
    );
    let metadata = a2a_core::well_known::Struct::from([("skill", "hold")]);
    let held = message("m", "hi").with_metadata(metadata);
    let held = task(send_at_once(&client, held).await);
    assert!(!held.state().is_settled());
    let canceled = server.json(&["task", "cancel", &held.id]);
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    let card = server.json(&["card", "get"]);
    assert_eq!(card["capabilities"]["streaming"], false);
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    assert_eq!(card["capabilities"]["extendedAgentCard"], true);
    assert_eq!(card["skills"][0]["id"], "one");
}

#[tokio::test]
async fn a_cut_stream_is_resumed_by_our_command() {
    let server = start(
        r#"
        [default]
        fault = { cut_after = 2 }
        steps = [
            { state = "working" },
            { repeat = 4, pause = "20ms", steps = [{ artifact = { text = "{number}" } }] },
            { state = "completed" },
        ]
        "#,
        &[],
    );
    let run =
        tokio::task::spawn_blocking(move || server.run(&["send", "go", "--stream", "-o", "json"]));
    let run = tokio::time::timeout(Duration::from_secs(30), run).await.unwrap().unwrap();
    assert_eq!(run.code, 0, "{run:?}");
    let kinds: Vec<_> = run.lines().iter().map(common::kind).collect();
    let chunks: Vec<_> = kinds.iter().filter(|kind| kind.starts_with("artifact")).collect();
    assert_eq!(chunks, ["artifact 1", "artifact 2", "artifact 3", "artifact 4"]);
}
