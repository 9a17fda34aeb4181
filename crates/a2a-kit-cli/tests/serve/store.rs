//! `a2a store`: what operators see of a store.

use crate::common::{Run, Server, command};
use axum::{Router, http::StatusCode, routing::post};
use tokio::sync::mpsc;

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_listed_at_any_time_and_redelivered_while_the_server_is_stopped() {
    // 410 says that it will never do.
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let hook = format!("http://{}/hook", listener.local_addr().unwrap());
    let (called, mut calls) = mpsc::unbounded_channel();
    let answer = move || {
        called.send(()).unwrap();
        async { StatusCode::GONE }
    };
    let router = Router::new().route("/hook", post(answer));
    tokio::spawn(a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending()));

    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("tasks.db").to_str().unwrap().to_owned();
    let flags = ["--store", &*store, "--allow-webhook", "127.0.0.1"];
    let server = Server::start(&flags);
    let sent = server.run(&["send", "hello", "--push-url", &hook]);
    let task = sent.field("Task ID").to_owned();
    let list = ["store", "dead-letters", "list", "--store", &store];

    // Only its server writes to the file until that stops.
    let busy = Run::of(command().args(["store", "dead-letters", "redeliver", "--store", &store]));
    assert_ne!(busy.code, 0, "{busy:?}");
    assert!(busy.stderr.contains("--store"), "{busy:?}");
    assert!(busy.stderr.contains("Hint: stop the process that has it"), "{busy:?}");

    calls.recv().await.unwrap();
    let mut running = Run::of(command().args(list));
    while running.field("Total") == "0" {
        running = Run::of(command().args(list));
    }
    server.terminate();
    assert_eq!(server.ended().0, Some(0));
    let text = Run::of(command().args(list));
    assert_eq!(text.code, 0, "{text:?}");
    assert_eq!(text.field("Task ID"), task, "{text:?}");
    assert_eq!(text.field("URL"), hook);
    let json = Run::of(command().args(list).args(["-o", "json", "--limit", "1"])).json();
    let letters = json["deadLetters"].as_array().unwrap();
    assert_eq!((letters.len(), &letters[0]["taskId"]), (1, &task.clone().into()), "{json}");
    assert!(letters[0]["error"].as_str().unwrap().contains("410"), "{json}");
    let by_variable =
        Run::of(command().args(&list[..3]).env("A2ACLI_SERVE_STORE_LOCATION", &store));
    assert_eq!(by_variable.stdout, text.stdout);
    let filtered = |filter: [&str; 2]| {
        let run = Run::of(command().args(list).args(filter));
        run.field("Total").to_owned()
    };
    let total = text.field("Total").to_owned();
    assert_eq!(filtered(["--task", &task]), total);
    assert_eq!(filtered(["--task", "other"]), "0");
    assert_eq!(filtered(["--before", "2020-01-01T00:00:00Z"]), "0");
    let wrong = Run::of(command().args(list).args(["--before", "yesterday"]));
    assert_eq!(wrong.code, 2, "{wrong:?}");

    // What is redelivered arrives when the server is there again.
    let with = |word| ["store", "dead-letters", word, "--store", &store];
    let again = Run::of(command().args(with("redeliver")).args(["-o", "json"])).json();
    assert_eq!(again, serde_json::json!({"queued": total.parse::<u64>().unwrap(), "lost": 0}));
    assert_eq!(Run::of(command().args(list)).field("Total"), "0");
    while calls.try_recv().is_ok() {}
    let mut server = Server::start(&flags);
    calls.recv().await.unwrap();
    // It was refused again.
    let letters = loop {
        server.terminate();
        assert_eq!(server.ended().0, Some(0));
        let letters = Run::of(command().args(list)).field("Total").to_owned();
        if letters != "0" {
            break letters;
        }
        server = Server::start(&flags);
    };
    let unconfirmed = Run::of(command().args(with("purge")));
    assert_eq!(unconfirmed.code, 2, "{unconfirmed:?}");
    assert!(unconfirmed.stderr.contains("--yes"), "{unconfirmed:?}");
    assert_eq!(Run::of(command().args(list)).field("Total"), letters);
    let other = Run::of(command().args(with("purge")).args(["--yes", "--task", "other"]));
    assert_eq!(other.field("Purged"), "0", "{other:?}");
    let purged = Run::of(command().args(with("purge")).arg("--yes"));
    assert_eq!(purged.field("Purged"), letters, "{purged:?}");
    assert_eq!(Run::of(command().args(list)).field("Total"), "0");
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("none.db");
    let run = Run::of(command().args(["store", "dead-letters", "list", "--store"]).arg(&store));
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("--store"), "{run:?}");
    assert!(!store.exists());
    let memory = Run::of(command().args(["store", "dead-letters", "list", "--store", "memory"]));
    assert_eq!(memory.code, 2, "{memory:?}");
}
