//! `a2a listen`: the events of real agents, and deliveries by hand.

#![cfg(unix)]

use crate::common;
use std::{
    io::{BufRead as _, BufReader, Lines, Read as _},
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
};

use crate::common::{Server, command, http, kind};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A running `a2a listen`.
struct Listener {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: BufReader<ChildStderr>,
    url: String,
}

impl Listener {
    /// Starts it with JSON output, on a free port.
    fn start(arguments: &[&str]) -> Self {
        let mut listen = command();
        listen.args(["listen", "--port", "0", "-o", "json"]).args(arguments);
        Self::started(&mut listen)
    }

    fn started(listen: &mut Command) -> Self {
        let mut child = listen
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let url = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended");
            if let Some(url) = line.strip_prefix("note: listening on ") {
                break url.trim_end().to_owned();
            }
        };
        Self { child, stdout, stderr, url }
    }

    fn event(&mut self) -> Value {
        let line = self.stdout.next().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn interrupt(&self) {
        let id = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(id, Signal::INT).unwrap();
    }

    /// Waits for its end, and returns the exit status and the rest of the output.
    fn ended(mut self) -> (Option<i32>, Vec<String>, String) {
        let rest = self.stdout.by_ref().map(Result::unwrap).collect();
        let mut errors = String::new();
        self.stderr.read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code(), rest, errors)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn status(task: &str, state: &str) -> String {
    format!(
        "{{\"statusUpdate\": {{\"taskId\": \"{task}\", \"contextId\": \"c\", \"status\": \
         {{\"state\": \"TASK_STATE_{state}\"}}}}}}"
    )
}

#[test]
fn events_of_an_agent_are_printed_as_they_arrive_on_every_binding() {
    let server = Server::start(&["--allow-webhook", "127.0.0.1"]);
    for binding in ["jsonrpc", "http+json", "grpc"] {
        let mut listener = Listener::start(&["--token", "t0ken", "--path", "/hook"]);
        assert!(listener.url.ends_with("/hook"), "{}", listener.url);
        let flags = ["--transport", binding, "--push-url", &listener.url, "--push-token", "t0ken"];
        let sent = server.run(&[&["send", "stream 2"], &flags[..]].concat());
        assert_eq!(sent.code, 0, "{binding}: {sent:?}");
        let task = sent.field("Task ID");
        let mut kinds = Vec::new();
        while kinds.last().is_none_or(|kind| kind != "status COMPLETED") {
            let event = listener.event();
            assert!(event.to_string().contains(task), "{binding}: {event}");
            kinds.push(kind(&event));
        }
        assert!(kinds.contains(&"status WORKING".to_owned()), "{binding}: {kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rejected_delivery_is_noted_with_its_cause() {
    let listener = Listener::start(&["--path", "/hook"]);
    let url = listener.url.clone();
    let envelope = r#"{"jsonrpc": "2.0", "method": "x", "params": {}}"#;
    let json = ("content-type", "application/json");
    let gzip = ("content-encoding", "gzip");
    for (method, url, headers, body, status) in [
        ("POST", format!("{url}/"), vec![json], "{}", 404),
        ("GET", url.clone(), vec![], "", 405),
        ("POST", url.clone(), vec![json], "{}", 400),
        ("POST", url.clone(), vec![json], envelope, 400),
        ("POST", url.clone(), vec![json, gzip], "x", 415),
        ("POST", url, vec![json], "nonsense", 400),
    ] {
        let response = http(method, &url, &headers, body).await;
        assert_eq!(response.status(), status, "{method} {url} {body}");
    }
    listener.interrupt();
    let (_, _, errors) = listener.ended();
    let rejected = |why: &str| format!("note: rejected a delivery: {why}");
    let expected = [
        rejected("its path is /hook/ and not /hook"),
        rejected("its method is GET and not POST"),
        rejected("it has no task, message, statusUpdate or artifactUpdate: \"{}\""),
        rejected("it has no task, message, statusUpdate or artifactUpdate: \"{\\\"jsonrpc"),
        rejected("unsupported content coding \"gzip\""),
        rejected("malformed event"),
    ];
    for note in expected {
        assert!(errors.contains(&note), "{note}: {errors}");
    }
}

#[test]
fn registration_is_shown_at_the_start_without_secrets() {
    let mut child = command()
        .args(["listen", "--port", "0", "--token", "s3cret", "--bearer", "s3cret", "--path", "/a"])
        .args(["--public-url", "https://hooks.example/a"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let listening = lines.next().unwrap().unwrap();
    assert!(listening.starts_with("Listening: http://127.0.0.1:"), "{listening}");
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "Register with: a2a task push-config create <task> https://hooks.example/a \
         --token <token> --auth-scheme Bearer --auth-credentials <token>"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_without_the_token_is_rejected_and_not_printed() {
    let mut listener = Listener::start(&["--token", "t0ken", "--bearer", "b3arer"]);
    let url = listener.url.clone();
    let token = ("x-a2a-notification-token", "t0ken");
    let bearer = ("authorization", "Bearer b3arer");
    for (headers, expected) in [
        (vec![], 401),
        (vec![token], 401),
        (vec![bearer], 401),
        (vec![bearer, ("x-a2a-notification-token", "guess")], 401),
        (vec![token, ("authorization", "Bearer guess")], 401),
        (vec![token, bearer], 204),
    ] {
        let response = http("POST", &url, &headers, &status("t", "WORKING")).await;
        assert_eq!(response.status(), expected, "{headers:?}");
    }
    assert_eq!(kind(&listener.event()), "status WORKING");
    listener.interrupt();
    let (code, rest, errors) = listener.ended();
    assert_eq!((code, rest), (Some(0), vec![]));
    assert!(errors.contains("note: rejected a delivery: missing or invalid webhook token"));
    for secret in ["t0ken", "b3arer"] {
        assert!(!errors.contains(secret), "{errors}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_other_sites_are_rejected_unless_deliveries_are_authenticated() {
    let open = Listener::start(&["--public-url", "https://hooks.example/"]);
    let authenticated = Listener::start(&["--token", "secret"]);
    let event = status("t", "WORKING");
    for (name, value, is_served) in [
        ("host", "localhost:9000", true),
        ("host", "hooks.example", true),
        ("host", "rebind.example", false),
        ("origin", "https://evil.example", false),
        ("origin", "null", false),
        ("sec-fetch-site", "cross-site", false),
        ("sec-fetch-site", "none", true),
    ] {
        let expected = if is_served { 204 } else { 403 };
        let response = http("POST", &open.url, &[(name, value)], &event).await;
        assert_eq!(response.status(), expected, "{name}: {value}");
        let headers = [(name, value), ("x-a2a-notification-token", "secret")];
        let response = http("POST", &authenticated.url, &headers, &event).await;
        assert_eq!(response.status(), 204, "{name}: {value}, with the token");
    }
    open.interrupt();
    let (_, events, errors) = open.ended();
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(errors.contains("host \"rebind.example\" is not allowed"), "{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_requests_are_rejected() {
    let listener = Listener::start(&["--path", "/hook"]);
    let other = listener.url.replace("/hook", "/");
    let body = status("t", "WORKING");
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(9 << 20));
    for (method, url, body, expected) in [
        ("GET", &listener.url, "", 405),
        ("POST", &other, &*body, 404),
        ("POST", &listener.url, "{}", 400),
        ("POST", &listener.url, "not JSON", 400),
        ("POST", &listener.url, &large, 413),
        ("POST", &listener.url, &body, 204),
    ] {
        let response = http(method, url, &[], body).await;
        assert_eq!(response.status(), expected, "{method} {url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_after_the_count_and_prints_older_revisions_in_the_current_form() {
    let listener = Listener::start(&["--count", "2"]);
    let url = listener.url.clone();
    assert_eq!(http("POST", &url, &[], &status("t", "WORKING")).await.status(), 204);
    let older = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}"#;
    assert_eq!(http("POST", &url, &[], older).await.status(), 204);
    let (code, lines, _) = listener.ended();
    assert_eq!(code, Some(0));
    let events: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = events.iter().map(kind).collect();
    assert_eq!(kinds, ["status WORKING", "task COMPLETED"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn signature_of_the_issuer_is_required() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.pem");
    let algorithm = a2a_kit_auth::jose::Algorithm::Es256;
    std::fs::write(&key, a2a_kit_auth::jose::SigningKey::generate_pem(algorithm).unwrap()).unwrap();
    let server =
        Server::start(&["--allow-webhook", "127.0.0.1", "--webhook-key", key.to_str().unwrap()]);
    let mut listener = Listener::start(&["--issuer", &server.url()]);
    let forged = http("POST", &listener.url, &[], &status("t", "WORKING")).await;
    assert_eq!(forged.status(), 401);
    let sent = server.run(&["send", "hello", "--push-url", &listener.url]);
    let task = sent.field("Task ID").to_owned();
    let event = listener.event();
    let text = event.to_string();
    assert!(text.contains(&task), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_stdout_ends_it_quietly() {
    let mut listen = command();
    let mut child = listen
        .args(["listen", "--port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let listening = lines.next().unwrap().unwrap();
    let url = listening.strip_prefix("Listening: ").unwrap();
    lines.next().unwrap().unwrap();
    drop(lines);
    assert_eq!(http("POST", url, &[], &status("t", "WORKING")).await.status(), 204);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn port_in_use_and_invalid_flags_are_reported() {
    let listener = Listener::start(&[]);
    let port = listener.url.trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
    for (arguments, code, said) in [
        (&["--port", &port][..], 1, "--port"),
        (&["--path", "hook"], 2, "/hook"),
        (&["--count", "0"], 2, "--count"),
        (&["--port", "0", "--public-url", "hooks"], 2, "--public-url"),
        (&["--jwks", "keys.json"], 2, "--issuer"),
        (&["--port", "0", "--issuer", "https://a.example", "--jwks", "/nonexistent"], 2, "--jwks"),
    ] {
        let run = common::Run::of(command().arg("listen").args(arguments));
        assert_eq!(run.code, code, "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(said), "{arguments:?}: {run:?}");
    }
}
