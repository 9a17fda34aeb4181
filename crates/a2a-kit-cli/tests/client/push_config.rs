//! `a2a task push-config`, against the demo agent.

use crate::common::{Run, Server, command};
use serde_json::{Value, json};

const BINDINGS: [&str; 3] = ["jsonrpc", "http+json", "grpc"];
const URL: &str = "http://127.0.0.1:9/hook";

/// An agent that accepts webhooks on this machine, and a task of it that goes on.
fn scene() -> (Server, String) {
    let server = Server::start(&["--allow-webhook", "127.0.0.1"]);
    let task = server.json(&["send", "slow 3600", "--async"])["task"]["id"].clone();
    (server, task.as_str().unwrap().to_owned())
}

fn run(server: &Server, binding: &str, arguments: &[&str]) -> Run {
    let all = [&["task", "push-config"], arguments, &["--transport", binding]].concat();
    server.run(&all)
}

fn json(server: &Server, binding: &str, arguments: &[&str]) -> Value {
    run(server, binding, &[arguments, &["-o", "json"]].concat()).json()
}

#[test]
fn webhooks_are_created_shown_listed_and_deleted_on_every_binding() {
    for binding in BINDINGS {
        let (server, task) = scene();
        let flags = [
            "--config-id",
            "mine",
            "--token",
            "s3cret-token",
            "--auth-scheme",
            "Bearer",
            "--auth-credentials",
            "s3cret-credentials",
        ];
        let created = run(&server, binding, &[&["create", &task, URL], &flags[..]].concat());
        assert_eq!(created.code, 0, "{binding}: {created:?}");
        assert_eq!(created.field("Task ID"), task, "{binding}");
        assert_eq!(created.field("Config ID"), "mine", "{binding}");
        assert_eq!(created.field("URL"), URL, "{binding}");

        let shown = json(&server, binding, &["get", &task, "mine"]);
        assert_eq!(shown["id"], "mine", "{binding}");
        assert_eq!(shown["url"], URL, "{binding}");

        let other = json(&server, binding, &["create", &task, URL]);
        let other = other["id"].as_str().unwrap();
        let list = json(&server, binding, &["list", &task]);
        assert_eq!(list["configs"].as_array().unwrap().len(), 2, "{binding}: {list}");
        let page = json(&server, binding, &["list", &task, "--page-size", "1"]);
        assert_eq!(page["configs"].as_array().unwrap().len(), 1, "{binding}: {page}");
        let token = page["nextPageToken"].as_str().unwrap();
        let next = json(&server, binding, &["list", &task, "--page-token", token]);
        assert_eq!(next["configs"].as_array().unwrap().len(), 1, "{binding}: {next}");
        assert_ne!(next["configs"][0]["id"], page["configs"][0]["id"], "{binding}");
        let text = run(&server, binding, &["list", &task]);
        assert_eq!(text.stdout.matches("Config ID: ").count(), 2, "{binding}: {text:?}");

        assert_eq!(json(&server, binding, &["delete", &task, "mine"]), json!({}), "{binding}");
        let deleted = run(&server, binding, &["delete", &task, other]);
        assert_eq!(deleted.field("Config ID"), other, "{binding}");
        let missing = run(&server, binding, &["get", &task, "mine", "-o", "json"]);
        assert_eq!(missing.code, 1, "{binding}: {missing:?}");
        assert_eq!(missing.lines()[0]["error"]["code"], "TaskNotFoundError", "{binding}");
    }
}

#[test]
fn secrets_are_not_printed() {
    for binding in BINDINGS {
        let (server, task) = scene();
        let create = ["create", &task, URL, "--auth-scheme", "Bearer", "--debug"];
        for format in ["text", "json"] {
            let run = Run::of(
                command()
                    .args(["task", "push-config"])
                    .args(create)
                    .args(["-a", &server.address, "--transport", binding, "-o", format])
                    .env("A2ACLI_TOKEN", "s3cret-token")
                    .env("A2ACLI_AUTH_CREDENTIALS", "s3cret-credentials"),
            );
            assert_eq!(run.code, 0, "{binding}: {run:?}");
            assert!(!run.stdout.contains("s3cret"), "{binding}: {run:?}");
            assert!(!run.stderr.contains("s3cret"), "{binding}: {run:?}");
        }
    }
}

#[test]
fn capability_is_checked_before_the_agent_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let (server, task) = scene();
    let mut card = server.json(&["card", "get"]);
    card["capabilities"]["pushNotifications"] = json!(false);
    let path = folder.path().join("card.json");
    std::fs::write(&path, card.to_string()).unwrap();
    // The card is all there is.
    drop(server);
    for arguments in [
        &["create", &task, URL][..],
        &["get", &task, "mine"],
        &["list", &task],
        &["delete", &task, "mine"],
    ] {
        let run = Run::of(command().args(["task", "push-config"]).args(arguments).args([
            "-o",
            "json",
            "-a",
            path.to_str().unwrap(),
        ]));
        assert_eq!(run.code, 1, "{run:?}");
        let error = &run.lines()[0]["error"];
        assert_eq!(error["code"], "PushNotificationNotSupportedError", "{run:?}");
        assert_eq!(error["a2aCode"], -32003, "{run:?}");
    }
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for (arguments, said) in [
        (&["create", "t"][..], "<URL>"),
        (&["create", "t", URL, "--auth-credentials", "x"], "--auth-scheme"),
        (&["get", "t"], "<CONFIG>"),
        (&["delete", "t"], "<CONFIG>"),
        (&["list"], "task id"),
        (&["list", "t", "--task-id", "u"], "conflicting task ids"),
        (&["list", "t", "--page-size", "101"], "--page-size"),
    ] {
        let run = Run::of(
            command().args(["task", "push-config"]).args(arguments).args(["-a", "127.0.0.1:1"]),
        );
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(said), "{arguments:?}: {run:?}");
    }
}
