//! Agents of older revisions, served and called from the command line.

use crate::common;
use std::sync::{Arc, Mutex};

use crate::common::{Run, Server, command};
use axum::{
    Router,
    body::Bytes,
    routing::{get, post},
};
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The revisions and the bindings that they have.
const SPOKEN: [(&str, &[&str]); 5] = [
    ("0.1", &["jsonrpc"]),
    ("0.2", &["jsonrpc", "grpc"]),
    ("0.3", &["jsonrpc", "rest", "grpc"]),
    ("draft", &["jsonrpc", "rest", "grpc"]),
    ("1.0", &["jsonrpc", "rest", "grpc"]),
];

/// Serves a router on a free port and returns the address.
async fn serve(router: Router) -> String {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending()));
    address
}

#[test]
fn every_revision_that_is_asked_for_is_spoken_and_results_are_those_of_1_0() {
    let server = Server::start(&[]);
    for (version, bindings) in SPOKEN {
        for binding in bindings {
            let with = |arguments: &[&str]| {
                let flags = ["--a2a-version", version, "--transport", binding];
                server.run(&[arguments, &flags[..]].concat())
            };
            let sent = with(&["send", "hello", "-o", "json"]);
            let json = sent.json();
            let task = &json["task"];
            assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{version} {binding}");
            let note = format!("speaking version {version}");
            assert_eq!(sent.stderr.contains(&note), version != "1.0", "{sent:?}");
            let id = task["id"].as_str().unwrap();
            assert_eq!(with(&["task", "get", id]).field("State"), "COMPLETED", "{version}");
            let events = with(&["send", "stream 2", "--stream", "-o", "json"]);
            let kinds: Vec<_> = events.lines().iter().map(common::kind).collect();
            let last = kinds.last().map(String::as_str);
            assert_eq!(last, Some("status COMPLETED"), "{version} {binding}: {events:?}");
            assert!(kinds.len() > 3, "{version} {binding}: {kinds:?}");
        }
    }
    // By its address alone, too.
    let url = server.url();
    let direct = ["send", "hello", "-e", &url, "--transport", "jsonrpc", "--a2a-version", "0.2"];
    assert_eq!(Run::of(command().args(direct)).field("State"), "COMPLETED");
}

#[test]
fn an_older_revision_is_never_spoken_without_being_asked_for() {
    let server = Server::start(&["--protocol", "0.3"]);
    let card = server.json(&["card", "get"]);
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert!(interfaces.iter().all(|one| one["protocolVersion"] == "0.3"), "{card}");
    let refused = server.run(&["send", "hello"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.starts_with("Error: VersionNotSupportedError\n"), "{refused:?}");
    assert!(refused.stderr.contains("try --a2a-version 0.3"), "{refused:?}");
    assert_eq!(server.run(&["send", "hello", "--a2a-version", "0.3"]).field("State"), "COMPLETED");
    let by_variable = Run::of(
        command().args(["send", "hello", "-a", &server.address]).env("A2ACLI_A2A_VERSION", "0.3"),
    );
    assert_eq!(by_variable.field("State"), "COMPLETED");
    let listed = server.run(&["task", "list", "--a2a-version", "0.3"]);
    assert!(listed.stderr.contains("Error: UnsupportedOperationError\n"), "{listed:?}");

    for arguments in [&["--no-compat"], &["--protocol=latest"], &["--protocol=1.0"]] {
        let server = Server::start(arguments);
        assert_eq!(server.run(&["send", "hello"]).field("State"), "COMPLETED");
        let refused = server.run(&["send", "hello", "--a2a-version", "0.3"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.starts_with("Error: VersionNotSupportedError\n"), "{refused:?}");
        assert!(refused.stderr.contains("try --a2a-version 1.0"), "{refused:?}");
    }
    for arguments in [&["serve", "--protocol", "0.4"][..], &["task", "list", "--a2a-version", "2"]]
    {
        assert_eq!(Run::of(command().args(arguments)).code, 2, "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_of_an_older_revision_is_found_where_it_was_and_shown_in_the_form_of_1_0() {
    let card = json!({
        "name": "Old", "description": "From before", "version": "1", "protocolVersion": "0.2.6",
        "url": "http://127.0.0.1:1/rpc", "capabilities": {"streaming": true}, "skills": [],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]
    });
    let older = get(async move || card.to_string());
    let address = serve(Router::new().route("/.well-known/agent.json", older)).await;
    let get = ["card", "get", "-a", &address];
    let shown = Run::of(command().args(get).args(["-o", "json", "--validate"]));
    assert!(shown.stderr.contains("/.well-known/agent.json"), "{shown:?}");
    let expected = json!([{
        "url": "http://127.0.0.1:1/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.2"
    }]);
    assert_eq!(shown.json()["supportedInterfaces"], expected);
    let text = Run::of(command().args(get).arg("--verbose"));
    assert_eq!(text.field("Source version"), "0.2");
    let selected = text.field("Selected interface");
    assert!(selected.starts_with("none: no common protocol version"), "{selected}");
    assert!(selected.ends_with("try --a2a-version 0.2"), "{selected}");
    let asked = Run::of(command().args(get).args(["--a2a-version", "0.2"]));
    assert!(asked.field("Selected interface").starts_with("JSONRPC 0.2 "), "{asked:?}");
}

//
#[test]
fn a_webhook_that_may_not_be_called_is_refused_in_every_revision() {
    let server = Server::start(&[]);
    for (version, _) in SPOKEN {
        let hook = ["send", "hello", "--push-url", "http://127.0.0.1:9/hook"];
        let refused = server.run(&[&hook[..], &["--a2a-version", version]].concat());
        assert_eq!(refused.code, 1, "{version}: {refused:?}");
        assert!(refused.stderr.contains("Error: InvalidParamsError\n"), "{version}: {refused:?}");
    }
}

//
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_called_in_the_revision_in_which_it_was_registered() {
    let (calls, mut received) = mpsc::unbounded_channel();
    let receive = post(async move |headers: HeaderMap, body: Bytes| {
        calls.send((headers, serde_json::from_slice::<Value>(&body).unwrap())).unwrap();
    });
    let hook = format!("http://{}/hook", serve(Router::new().route("/hook", receive)).await);
    let server = Arc::new(Mutex::new(Server::start(&["--allow-webhook", "127.0.0.0/8"])));
    for (version, header, content_type) in [
        ("0.1", "x-a2a-token", "application/json"),
        ("0.2", "x-a2a-notification-token", "application/json"),
        ("0.3", "x-a2a-notification-token", "application/json"),
        ("draft", "x-a2a-notification-token", "application/json"),
        ("1.0", "x-a2a-notification-token", "application/a2a+json"),
    ] {
        let (server, hook) = (Arc::clone(&server), hook.clone());
        let sent = tokio::task::spawn_blocking(move || {
            let push = ["--push-url", &hook, "--push-token", "t0ken"];
            let send = ["send", "hello", "-o", "json", "--a2a-version", version];
            server.lock().unwrap().run(&[&send[..], &push[..]].concat()).json()
        });
        let id = sent.await.unwrap()["task"]["id"].clone();
        // Revisions from the draft on also tell of what is in between.
        loop {
            let (headers, body) = received.recv().await.unwrap();
            assert_eq!(headers[header], "t0ken", "{version}: {body}");
            assert_eq!(headers["content-type"], content_type, "{version}");
            let (task, is_last) = match version {
                "0.1" => (&body["taskId"], body["finalStatus"]["state"] == "completed"),
                "0.2" | "0.3" => {
                    assert_eq!(body["kind"], "task", "{version}: {body}");
                    (&body["id"], body["status"]["state"] == "completed")
                }
                _ => {
                    let update = &body["statusUpdate"];
                    let end = if version == "1.0" { "TASK_STATE_COMPLETED" } else { "completed" };
                    let task = ["task", "statusUpdate", "artifactUpdate"]
                        .iter()
                        .find_map(|one| body[one].get("taskId").or_else(|| body[one].get("id")));
                    (task.unwrap(), update["status"]["state"] == end)
                }
            };
            assert_eq!(task, &id, "{version}: {body}");
            assert!(is_last || matches!(version, "draft" | "1.0"), "{version}: {body}");
            if is_last {
                break;
            }
        }
    }
}
