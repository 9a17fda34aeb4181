//! Webhooks: their configuration, and a receiver.

use std::{
    io::{BufRead as _, BufReader, Lines},
    process::{Child, ChildStdout, Stdio},
};

use serde_json::{Value, json};

use crate::{
    common::{http, kind},
    support::{Agent, BINDINGS, Sandbox, assert_failure, over_each_binding},
};

#[test]
fn push_001_configurations_are_created_shown_listed_and_deleted() {
    let agent = Agent::start(&["--allow-webhook", "127.0.0.1"]);
    let url = "http://127.0.0.1:9/hook";
    over_each_binding(|binding| {
        let (task, _) = agent.start_task(binding, "slow 20");
        let json = |arguments: &[&str]| {
            let run = agent.json_over(binding, &[&["task", "push-config"], arguments].concat());
            assert!(!run.stdout.contains("s3cret-value"), "{binding}: {run:?}");
            run
        };
        let flags = ["--config-id", "mine", "--token", "s3cret-value"];
        let auth = ["--auth-scheme", "Bearer", "--auth-credentials", "s3cret-value"];
        let created = json(&[&["create", &task, url][..], &flags, &auth].concat()).json();
        assert_eq!((&created["id"], &created["url"]), (&"mine".into(), &url.into()), "{binding}");
        let other = json(&["create", &task, url]).json()["id"].as_str().unwrap().to_owned();
        let shown = json(&["get", &task, "mine"]).json();
        assert_eq!((&shown["id"], &shown["url"]), (&"mine".into(), &url.into()), "{binding}");
        let list = json(&["list", &task]).json();
        assert_eq!(list["configs"].as_array().unwrap().len(), 2, "{binding}: {list}");
        let page = json(&["list", &task, "--page-size", "1"]).json();
        let token = page["nextPageToken"].as_str().unwrap();
        let next = json(&["list", &task, "--page-token", token]).json();
        assert_ne!(next["configs"][0]["id"], page["configs"][0]["id"], "{binding}");
        assert_eq!(json(&["delete", &task, "mine"]).json(), json!({}), "{binding}");
        assert_failure(&json(&["get", &task, "mine"]), "TaskNotFoundError", 1);
        let text = agent.over(binding, &["task", "push-config", "get", &task, &other]);
        assert_eq!((text.field("Config ID"), text.field("URL")), (&*other, url), "{binding}");
        let half = json(&["create", &task, url, "--auth-credentials", "x"]);
        assert_failure(&half, "A2ACLI_ERR_USAGE", 2);
    });
}

#[test]
fn push_001_the_capability_is_checked_first() {
    let agent = Agent::start(&["--no-push"]);
    over_each_binding(|binding| {
        let (task, _) = agent.start_task(binding, "slow 20");
        for arguments in [
            &["create", &task, "https://example.com/hook"][..],
            &["get", &task, "mine"],
            &["list", &task],
            &["delete", &task, "mine"],
        ] {
            let all = [&["task", "push-config"], arguments].concat();
            let run = agent.json_over(binding, &all);
            assert_failure(&run, "PushNotificationNotSupportedError", 1);
        }
    });
}

/// A running `a2a listen`, killed on drop.
struct Listener {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    url: String,
}

impl Listener {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(&["listen", "--port", "0", "-o", "json"]);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut errors = BufReader::new(child.stderr.as_mut().unwrap()).lines().map(Result::unwrap);
        let address = |line: String| line.strip_prefix("note: listening on ").map(str::to_owned);
        let url = errors.find_map(address).unwrap();
        Self { child, lines, url }
    }

    fn event(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn push_002_events_of_an_agent_are_received_and_others_are_rejected() {
    let agent = Agent::start(&["--allow-webhook", "127.0.0.1"]);
    for binding in BINDINGS {
        let flags = ["--token", "s3cret-value", "--path", "/hook"];
        let mut listener = Listener::start(&agent.sandbox, &flags);
        let url = listener.url.clone();
        assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/hook"), "{url}");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let event = json!({"statusUpdate": {"taskId": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_FAILED"}}});
        for headers in [&[][..], &[("x-a2a-notification-token", "wrong")]] {
            let headers = [headers, &[("content-type", "application/json")]].concat();
            let response = runtime.block_on(http("POST", &url, &headers, &event.to_string()));
            assert_eq!(response.status(), 401, "{binding}");
        }
        let push = ["--push-url", &url, "--push-token", "s3cret-value"];
        let sent = agent.over(binding, &[&["send", "stream 2"][..], &push].concat());
        assert_eq!(sent.field("State"), "COMPLETED", "{binding}: {sent:?}");
        let mut kinds = Vec::new();
        while kinds.last().is_none_or(|kind: &String| !kind.ends_with(" COMPLETED")) {
            kinds.push(kind(&listener.event()));
        }
        // Webhooks of the demo agent get the task and its states, not the chunks of artifacts.
        assert_eq!(kinds, ["task SUBMITTED", "status WORKING", "status COMPLETED"], "{binding}");
    }
    // It ends by itself after a number of events.
    let mut limited = Listener::start(&agent.sandbox, &["--count", "1"]);
    let sent = agent.run(&["send", "echo hello", "--push-url", &limited.url]);
    assert_eq!(sent.code, 0, "{sent:?}");
    assert!(limited.event().is_object());
    assert!(limited.lines.next().is_none());
    assert!(limited.child.wait().unwrap().success());
}
