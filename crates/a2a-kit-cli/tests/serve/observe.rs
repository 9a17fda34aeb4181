//! What `a2a serve` and its clients tell operators: metrics, traces, the audit log, and no secrets.

use crate::common;
use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use crate::common::{Run, Server, command};
use a2a_tests::collector::{Collector, tree};
use serde_json::{Value, json};

/// Asks with a header, and returns status and body.
async fn get(url: &str, name: &'static str, value: &'static str) -> (u16, String) {
    let request = http::Request::get(url).header(name, value).body(bytes::Bytes::new()).unwrap();
    let client = a2a_kit_http::client::HttpClient::new(Default::default()).unwrap();
    let answer = client.send(request).await.unwrap();
    (answer.status().as_u16(), String::from_utf8(answer.body().to_vec()).unwrap())
}

//
#[tokio::test(flavor = "multi_thread")]
async fn processes_that_call_each_other_make_one_trace() {
    let collector = Collector::start().await;
    let variables = |name: &'static str| {
        [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()), ("OTEL_SERVICE_NAME", name)]
    };
    let back = Server::start_with(&["--echo"], &variables("back"));
    let ask = format!(
        "{} send --text - -a {} --transport grpc -o text",
        env!("CARGO_BIN_EXE_a2a"),
        back.address
    );
    let variables_of_front = variables("front");
    let mut arguments = vec!["--exec", &ask];
    for (name, _) in variables_of_front {
        arguments.extend(["--exec-env", name]);
    }
    let front = Server::start_with(&arguments, &variables_of_front);
    let run =
        Run::of(command().args(["-a", &front.address, "send", "hello"]).envs(variables("user")));
    assert_eq!(run.code, 0, "{run:?}");
    for server in [front, back] {
        server.terminate();
        assert_eq!(server.ended().0, Some(0));
    }
    // The command that front runs has its name from there.
    let spans = collector.wait("the spans", |spans| spans.len() >= 8).await;
    let expected = "\
user internal a2a
  user client SendStreamingMessage
    front server SendStreamingMessage
      front internal execute
        front internal a2a
          front client SendStreamingMessage
            back server SendStreamingMessage
              back internal execute
";
    // A task that takes its time is asked for again.
    let shown = tree(&spans);
    let lines = shown.lines().filter(|line| !line.ends_with(" GetTask"));
    assert_eq!(lines.collect::<Vec<_>>(), expected.lines().collect::<Vec<_>>(), "{shown}");
}

//
#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_for_this_machine_or_have_an_address_of_their_own() {
    let server = Server::start(&[]);
    assert_eq!(server.run(&["send", "hello"]).code, 0);
    let here = format!("{}/metrics", server.url());
    let (status, text) = get(&here, "accept", "*/*").await;
    assert_eq!(status, 200);
    let counted = "a2a_operations_total{operation=\"SendStreamingMessage\",binding=\"JSONRPC\",\
                   revision=\"1.0\",outcome=\"ok\"} 1";
    assert!(text.contains(counted), "{text}");
    for line in ["a2a_connections ", "a2a_task_transitions_total{state=\"completed\"} 1"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for name in ["x-forwarded-for", "forwarded", "via"] {
        assert_eq!(get(&here, name, "for=192.0.2.1").await.0, 404, "{name}");
    }

    let elsewhere = Server::start(&["--metrics-listen", "127.0.0.1:0"]);
    assert_eq!(get(&format!("{}/metrics", elsewhere.url()), "accept", "*/*").await.0, 404);
    let line = elsewhere.lines.iter().find_map(|line| line.strip_prefix("Metrics: "));
    assert_eq!(get(line.unwrap(), "via", "a proxy").await.0, 200);

    let none = Server::start(&["--no-metrics"]);
    assert_eq!(get(&format!("{}/metrics", none.url()), "accept", "*/*").await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn size_of_the_store_is_a_metric() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.db");
    for (store, name) in [("memory", "memory"), (file.to_str().unwrap(), "sqlite")] {
        let server = Server::start(&["--store", store]);
        let url = format!("{}/metrics", server.url());
        let start = format!("a2a_store_bytes{{store=\"{name}\"}} ");
        let end = Instant::now() + Duration::from_secs(30);
        let bytes = loop {
            let (_, text) = get(&url, "accept", "*/*").await;
            if let Some(bytes) = text.lines().find_map(|line| line.strip_prefix(&start)) {
                break bytes.parse::<u64>().unwrap();
            }
            assert!(Instant::now() < end, "{name}: {text}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert_eq!(bytes > 0, name == "sqlite", "{name}: {bytes}");
    }
}

//
#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_each_state_of_a_task_however_quiet_the_server_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let server = Server::start(&["--audit-log", file.to_str().unwrap()]);
    let task = server.json(&["send", "hello"]);
    server.terminate();
    assert_eq!(server.ended().0, Some(0));
    let lines: Vec<Value> = fs::read_to_string(&file)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let states: Vec<_> = lines
        .iter()
        .filter(|line| line["event"] == "task_state" && line["task"] == task["task"]["id"])
        .map(|line| line["state"].as_str().unwrap())
        .collect();
    assert_eq!(states.last(), Some(&"TASK_STATE_COMPLETED"), "{lines:?} {task}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_callers_forges_no_line_and_controls_no_terminal_in_any_form_of_the_log() {
    let controls = "\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{2028}\r\n2026-01-01T00:00:00Z  INFO FORGED";
    for arguments in
        [&["--debug"][..], &["--log-json"], &["--audit-log", "-"], &["--audit-log", "-", "--debug"]]
    {
        let start = [&["--echo", "--store", "memory"], arguments].concat();
        // What is logged at level debug is text with --debug, and JSON with the filter.
        let (server, log) = Server::start_and_read_with(&start, &[("RUST_LOG", "debug")]);
        for (method, params) in [
            (
                "SendMessage",
                json!({"tenant": controls, "message": {
                "messageId": controls, "contextId": controls, "role": "ROLE_USER",
                "parts": [{"text": controls}]}}),
            ),
            ("GetTask", json!({"id": controls, "tenant": controls})),
            (controls, json!({})),
        ] {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
            common::http("POST", &server.url(), &headers, &body.to_string()).await;
        }
        server.terminate();
        server.ended();
        let log = log.join().unwrap();
        assert!(log.contains("FORGED"), "{arguments:?}: nothing was tried: {log}");
        for line in log.lines() {
            let is_control = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{2028}');
            assert!(!line.contains(is_control), "{arguments:?}: {line:?}");
            assert!(!line.starts_with("2026-01-01"), "{arguments:?}: {line:?}");
        }
    }
}

/// A server whose log goes to a file.
struct Logged {
    child: Child,
    address: String,
}

impl Logged {
    fn start(arguments: &[&str], log: &Path) -> Self {
        let mut child = command()
            .args(["--debug", "serve", "--port", "0", "--store", "memory"])
            .args(arguments)
            .env("RUST_LOG", "trace")
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(log).unwrap())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut lines = stdout.lines().map(Result::unwrap);
        let address =
            lines.find_map(|line| line.strip_prefix("Listening: http://").map(str::to_owned));
        // It goes on to print, and must not find its reader gone.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.unwrap() }
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//
#[tokio::test(flavor = "multi_thread")]
async fn not_even_at_trace_do_server_and_client_log_secrets_or_messages() {
    const SECRETS: [&str; 6] = [
        "bearer-5ecret",
        "card-5ecret",
        "text-5ecret",
        "push-5ecret",
        "header-5ecret",
        "file-5ecret",
    ];
    let [bearer, card, text, push, header, file] = SECRETS;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let attached = folder.path().join("attached");
    fs::write(&attached, file).unwrap();
    let arguments = ["--extended-card-token", card, "--allow-webhook", "127.0.0.1"];
    let server = Logged::start(&arguments, &log);
    let mut told = String::new();
    let client = |transport: &str, credential: [&str; 2], arguments: &[&str]| {
        Run::of(
            command()
                .args(["--debug", "-a", &server.address, "--transport", transport])
                .args(credential)
                .args(arguments)
                .env("RUST_LOG", "trace"),
        )
    };
    let basic = format!("user:{header}");
    for transport in ["jsonrpc", "http+json", "grpc"] {
        for credential in [["--bearer", bearer], ["--api-key", header], ["--basic", &basic]] {
            let send = ["send", text, "--file", attached.to_str().unwrap()];
            let push = ["--push-url", "http://127.0.0.1:9/hook", "--push-token", push];
            let run = client(transport, credential, &[&send[..], &push].concat());
            assert_eq!(run.code, 0, "{transport}: {run:?}");
            told.push_str(&run.stderr);
        }
        let run = client(transport, ["--bearer", card], &["card", "get", "--extended"]);
        assert_eq!(run.code, 0, "{transport}: {run:?}");
        told.push_str(&run.stderr);
    }
    drop(server);
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("execute") && log.contains("task_state"), "{log}");
    told.push_str(&log);
    // What --debug shows of the wire has messages in it, and the log has not.
    let is_shown = |line: &str| line.starts_with('[');
    for secret in SECRETS {
        let is_message = [text, file].contains(&secret);
        let leaks = told.lines().filter(|line| line.contains(secret));
        let leaks: Vec<_> = leaks.filter(|line| !(is_message && is_shown(line))).take(5).collect();
        assert!(leaks.is_empty(), "{secret} is told:\n{}", leaks.join("\n"));
    }
}
