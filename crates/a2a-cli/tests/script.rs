//! `a2a serve --script`: the documented example over every binding, and rejected scripts.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod common;
#[path = "common/told.rs"]
mod told;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use a2a_core::{ErrorKind, Message, Part, TaskState, v1::SendMessageRequest};
use a2a_operations::{Agent, Call};
use common::{Run, Server, command, http};
use futures_util::StreamExt as _;
use serde_json::json;
use told::{get, message, send, send_at_once, stream, task, task_told};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn example() -> Server {
    Server::start(&["--script", docs().join("examples/travel-agent.toml").to_str().unwrap()])
}

/// A server with a script of its own.
fn start(script: &str) -> Server {
    start_with(script, &[], &[])
}

fn start_with(script: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    fs::write(&path, script).unwrap();
    let script = ["--script", path.to_str().unwrap()];
    Server::start_with(&[&script, arguments].concat(), environment)
}

/// A client of each binding.
fn clients(server: &Server) -> [(&'static str, Arc<dyn Agent>); 3] {
    let url = server.url();
    [
        ("JSON-RPC", Arc::new(a2a_jsonrpc::Client::new(&url).unwrap())),
        ("HTTP+JSON", Arc::new(a2a_rest::Client::new(&url).unwrap())),
        ("gRPC", Arc::new(a2a_grpc::Client::connect(&server.address).unwrap())),
    ]
}

async fn error(agent: &impl Agent, text: &str) -> ErrorKind {
    let request =
        SendMessageRequest { message: Some(Message::user(text)), ..SendMessageRequest::default() };
    agent.send_message(Call::new(request)).await.unwrap_err().kind()
}

/// The events of a stream before its error, and whether there was one.
async fn cut_stream(agent: &impl Agent, text: &str) -> (usize, bool, String) {
    let request =
        SendMessageRequest { message: Some(Message::user(text)), ..SendMessageRequest::default() };
    let reply = agent.send_streaming_message(Call::new(request)).await;
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
        assert!(!task_told(&crashed).contains("planes"), "{binding}: {crashed:?}");
        let invoice = message("m", "").with_part(Part::from(json!({"operation": "invoice"})));
        assert_eq!(
            task_told(&task(send(&client, invoice).await)),
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
        assert_eq!(task_told(&booked), "COMPLETED [\"Departure: list\"]", "{binding}");

        let guess = task(send(&client, message("m", "guess")).await);
        let wrong = task(send(&client, reply(&guess.id, "Bergen")).await);
        assert_eq!(task_told(&wrong), "INPUT_REQUIRED \"Which city?\"", "{binding}");
        let right = task(send(&client, reply(&guess.id, "It is OSLO.")).await);
        assert_eq!(task_told(&right), "COMPLETED \"Right\"", "{binding}");
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
        assert_eq!(task_told(&paid), "COMPLETED \"Paid\"", "{binding}");
    }
}

#[tokio::test]
async fn an_open_question_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("tasks.db");
    let script = docs().join("examples/travel-agent.toml");
    let arguments = ["--script", script.to_str().unwrap(), "--store", store.to_str().unwrap()];
    let server = Server::start(&arguments);
    let asked = task(send(&told::client(&server.url()), message("m", "book Oslo")).await);
    drop(server);
    let server = Server::start(&arguments);
    let answer = message("m-2", "tomorrow").with_task_id(&asked.id);
    let booked = task(send(&told::client(&server.url()), answer).await);
    assert_eq!(task_told(&booked), "COMPLETED [\"Departure: tomorrow\"]");
}

#[tokio::test]
async fn an_interrupted_wait_continues_without_repeating_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("tasks.db");
    let script = docs().join("examples/travel-agent.toml");
    let arguments = ["--script", script.to_str().unwrap(), "--store", store.to_str().unwrap()];
    let server = Server::start(&arguments);
    let waiting = task(send(&told::client(&server.url()), message("m", "pay")).await);
    assert_eq!(waiting.state(), TaskState::AuthRequired);
    // A server that is killed leaves the run to the next one.
    drop(server);
    let server = Server::start(&arguments);
    let url = format!("{}/demo/authorize/{}", server.url(), waiting.id);
    while http("POST", &url, &[], "").await.status() != 200 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let client = told::client(&server.url());
    let mut paid = waiting;
    while !paid.state().is_terminal() {
        paid = get(&client, &paid.id).await;
    }
    assert_eq!(task_told(&paid), "COMPLETED \"Paid\"");
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
            assert_eq!(task_told(&done), "COMPLETED \"Done\"", "{binding}");
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
    );
    let client = told::client(&server.url());
    let outcome = async |message| task_told(&task(send(&client, message).await));
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
async fn variables_of_the_script_switch_what_it_says() {
    let script = r#"
        [environment]
        MY_SUITE_AUTH = "require_bearer"
        MY_SUITE_PLAIN = "reduced_capabilities"

        [bearer]
        accepted = "good"
        insufficient = "limited"
    "#;
    let server = start_with(script, &[], &[("MY_SUITE_AUTH", "1")]);
    let url = format!("{}/tasks", server.url());
    for (token, status) in [("none", 401), ("limited", 403), ("good", 200)] {
        let token = format!("Bearer {token}");
        let headers = [("authorization", token.as_str()), ("a2a-version", "1.0")];
        assert_eq!(http("GET", &url, &headers, "").await.status(), status, "{token}");
    }
    let plain = start_with(script, &[], &[("MY_SUITE_PLAIN", "1"), ("MY_SUITE_AUTH", "0")]);
    let card = plain.json(&["card", "get"]);
    assert_eq!(card["capabilities"]["streaming"], false);
    assert!(card["securitySchemes"].is_null(), "{card}");
}

#[test]
fn invalid_scripts_are_rejected_with_file_line_and_key() {
    let step = |step: &str| format!("[default]\nsteps = [{{ {step} }}]\n");
    let too_large = format!("# {}\n", "x".repeat(1 << 20));
    let rows = [
        ("rules = []\n".to_owned(), ":1: rules: unknown key, expected card, default, rule"),
        ("[[rule]]\nwen = 1\n".to_owned(), ":2: rule[0].wen: unknown key, expected id, when"),
        ("[rule]\n".to_owned(), ":1: rule: expected tables: [[rule]]"),
        (
            "[[rule]]\nwhen = { wrd = \"a\" }\n".to_owned(),
            ":2: rule[0].when: unknown field `wrd`, expected one of `message_id`",
        ),
        (
            "[[rule]]\nid = \"a\"\n[[rule]]\nwhen = { follows = \"b\" }\n".to_owned(),
            ":3: rule[1].when.follows: no rule has the id \"b\"",
        ),
        ("[[rule]]\nid = \"a\"\n".to_owned(), ":1: rule[0]: needs steps or a fault"),
        ("[card]\n\nname = 1\n".to_owned(), ":3: card: invalid type: integer `1`"),
        ("[card\n".to_owned(), ":1: toml: "),
        (
            "[environment]\nX = \"require_bearer\"\n".to_owned(),
            "bearer.accepted: is needed for require_bearer",
        ),
        (step("state = \"done\""), ":2: default.steps[0]: expected a state such as working"),
        (step("stat = \"working\""), ":2: default.steps[0]: unknown field `stat`"),
        (step("wait = 1, message = \"a\""), "a step has exactly one of state, ask, message"),
        (step("text = \"a\""), "text is only for a step with state"),
        (step("message = \"{nope}\""), "unknown placeholder {nope}"),
        (step("message = \"{\""), "unpaired brace"),
        (step("wait = \"61m\""), "\"61m\" is longer than 1h"),
        (step("wait = \"soon\""), "expected a duration"),
        (step("wait = \"{1}\""), "a placeholder here needs a default"),
        (step("repeat = 10001, steps = [{ wait = 1 }]"), "not a number from 1 to 10000"),
        (step("repeat = 0, steps = [{ wait = 1 }]"), "not a number from 1 to 10000"),
        (step("repeat = 2"), "repeat needs steps"),
        (
            step("repeat = 2, steps = [{ repeat = 2, steps = [{ wait = 1 }] }]"),
            "repeat takes steps with artifact, wait, or a state that is not final",
        ),
        (step("state = \"failed\" }, { wait = 1"), "default.steps[1]: is never reached"),
        (step("artifact = { parts = [{ base64 = \"?\" }] }"), "invalid base64"),
        (step("artifact = { parts = [{ json = \"{\" }] }"), "invalid json"),
        (step("artifact = { parts = [{}] }"), "a part has exactly one of text, url"),
        ("[default]\nfault = { error = { name = \"X\" } }\n".to_owned(), "TASK_NOT_FOUND"),
        ("[default]\nfault = { respond = { status = 99 } }\n".to_owned(), "HTTP status"),
        ("[default]\nfault = { explode = 1 }\n".to_owned(), "unknown variant `explode`"),
        (too_large, "is larger than 1 MiB"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    for (script, expected) in rows {
        fs::write(&path, &script).unwrap();
        let run = Run::of(command().args(["serve", "--print-settings", "--script"]).arg(&path));
        let script = &script[..script.len().min(100)];
        assert_eq!(run.code, 2, "{script}: {run:?}");
        assert!(run.stderr.contains(expected), "{script}: {run:?}");
        assert!(run.stderr.contains(path.to_str().unwrap()), "{script}: {run:?}");
    }
    let missing = Run::of(command().args(["serve", "--script", "/nonexistent.toml"]));
    assert!(missing.code == 2 && missing.stderr.contains("--script /nonexistent.toml"));
}

#[test]
fn all_problems_of_a_script_are_reported_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    let script = "[card]\nnam = \"a\"\n[[rule]]\nsteps = [\n    { wait = \"2h\" },\n    \
                  { state = \"done\" },\n]\nfault = { cut = 1 }\n";
    fs::write(&path, script).unwrap();
    let run = Run::of(command().args(["serve", "-o", "json", "--script"]).arg(&path));
    let problems = run.lines()[0]["error"]["details"]["problems"].clone();
    let mut places: Vec<_> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| (problem["line"].as_u64().unwrap(), problem["key"].clone()))
        .collect();
    places.sort_by_key(|(line, _)| *line);
    let expected = [
        (2, json!("card")),
        (5, json!("rule[0].steps[0]")),
        (6, json!("rule[0].steps[1]")),
        (8, json!("rule[0].fault")),
    ];
    assert_eq!(places, expected, "{run:?}");
}

#[test]
fn a_script_excludes_other_agents() {
    let script = docs().join("examples/travel-agent.toml");
    let script = ["serve", "--script", script.to_str().unwrap()];
    for other in [&["--echo"][..], &["--demo"], &["--exec", "cat"], &["--profile", "bench"]] {
        let run = Run::of(command().args(script).args(other));
        assert_eq!(run.code, 2, "{other:?}: {run:?}");
        assert!(run.stderr.contains("--script"), "{other:?}: {run:?}");
    }
    let run = Run::of(
        command()
            .args(["serve", "--print-settings"])
            .env("A2ACLI_SERVE_AGENT_SCRIPT_FILE", script[2]),
    );
    let line = format!("script_file = {:?} # A2ACLI_SERVE_AGENT_SCRIPT_FILE", script[2]);
    assert!(run.stdout.lines().any(|one| one == line), "{run:?}");
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
    );
    let run =
        tokio::task::spawn_blocking(move || server.run(&["send", "go", "--stream", "-o", "json"]));
    let run = tokio::time::timeout(Duration::from_secs(30), run).await.unwrap().unwrap();
    assert_eq!(run.code, 0, "{run:?}");
    let kinds: Vec<_> = run.lines().iter().map(common::kind).collect();
    let chunks: Vec<_> = kinds.iter().filter(|kind| kind.starts_with("artifact")).collect();
    assert_eq!(chunks, ["artifact 1", "artifact 2", "artifact 3", "artifact 4"]);
}
