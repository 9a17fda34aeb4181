//! `a2a store`: what operators see of a store.

#![allow(clippy::unwrap_used, reason = "scenery that can't be set up fails the test")]

mod common;

use axum::{Router, http::StatusCode, routing::post};
use common::{Run, Server, command};
use tokio::sync::mpsc;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_webhook_refused_is_listed_when_the_server_has_stopped() {
    // 410 says that it will never do.
    let listener = a2a_http::bind("127.0.0.1:0").await.unwrap();
    let hook = format!("http://{}/hook", listener.local_addr().unwrap());
    let (called, mut calls) = mpsc::unbounded_channel();
    let answer = move || {
        called.send(()).unwrap();
        async { StatusCode::GONE }
    };
    let router = Router::new().route("/hook", post(answer));
    tokio::spawn(a2a_http::Server::new(router).serve(listener, std::future::pending()));

    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("tasks.db").to_str().unwrap().to_owned();
    let flags = ["--store", &*store, "--allow-webhook", "127.0.0.1"];
    let mut server = Server::start(&flags);
    let sent = server.run(&["send", "hello", "--push-url", &hook]);
    let task = sent.field("Task ID").to_owned();
    let list = ["store", "dead-letters", "--store", &store];

    // The file belongs to its server until that stops.
    let busy = Run::of(command().args(list));
    assert_ne!(busy.code, 0, "{busy:?}");
    assert!(busy.stderr.contains("--store"), "{busy:?}");

    // An event that was tried and not noted as dead when the server stops is tried again.
    let text = loop {
        calls.recv().await.unwrap();
        server.terminate();
        assert_eq!(server.ended().0, Some(0));
        let text = Run::of(command().args(list));
        assert_eq!(text.code, 0, "{text:?}");
        if text.field("Total") != "0" {
            break text;
        }
        server = Server::start(&flags);
    };
    assert_eq!(text.field("Task ID"), task, "{text:?}");
    assert_eq!(text.field("URL"), hook);
    let json = Run::of(command().args(list).args(["-o", "json", "--limit", "1"])).json();
    let letters = json["deadLetters"].as_array().unwrap();
    assert_eq!((letters.len(), &letters[0]["taskId"]), (1, &task.into()), "{json}");
    assert!(letters[0]["error"].as_str().unwrap().contains("410"), "{json}");
    let by_variable =
        Run::of(command().args(&list[..2]).env("A2ACLI_SERVE_STORE_LOCATION", &store));
    assert_eq!(by_variable.stdout, text.stdout);
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("none.db");
    let run = Run::of(command().args(["store", "dead-letters", "--store"]).arg(&store));
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("--store"), "{run:?}");
    assert!(!store.exists());
    let memory = Run::of(command().args(["store", "dead-letters", "--store", "memory"]));
    assert_eq!(memory.code, 2, "{memory:?}");
}
