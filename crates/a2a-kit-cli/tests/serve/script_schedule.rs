//! `[[fault]]` of a script: faults by target, number of the request and time.

use std::fs;

use crate::common::{Server, http};
use tempfile::TempDir;

fn serve(faults: &str) -> (Server, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    let steps = "[default]\nsteps = [{ artifact = { name = \"a\", text = \"1\" } }, \
                 { state = \"completed\" }]\n";
    fs::write(&path, format!("{steps}{faults}")).unwrap();
    (Server::start(&["--store", "memory", "--script", path.to_str().unwrap()]), folder)
}

#[test]
fn fault_applies_to_the_counted_calls_of_its_operations_only() {
    let (server, _folder) = serve(
        "[[fault]]\non = [\"GetTask\"]\ncalls = { from = 2, to = 2 }\n\
         inject = { error = { name = \"UNSUPPORTED_OPERATION\", text = \"not now\" } }\n",
    );
    for binding in ["jsonrpc", "rest", "grpc"] {
        let sent = server.run(&["send", "hello", "--transport", binding]);
        assert_eq!(sent.field("State"), "COMPLETED", "{binding}: {sent:?}");
    }
    let sent = server.run(&["send", "hello"]);
    let codes: Vec<_> =
        (0..3).map(|_| server.run(&["task", "get", sent.field("Task ID")]).code).collect();
    assert_eq!(codes, [0, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn client_reads_retry_after_of_an_unavailable_agent() {
    let (server, _folder) = serve(
        "[[fault]]\non = [\"ListTasks\"]\n\
         inject = { respond = { status = 503, body = \"busy\", retry_after = 7 } }\n",
    );
    let url = format!("http://{}/tasks", server.address);
    let response = http("GET", &url, &[("a2a-version", "1.0")], "").await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "7");
    let run = server.run(&["task", "list", "-o", "json"]);
    assert_eq!((run.code, &run.lines()[0]["error"]["code"]), (3, &"A2ACLI_ERR_UNREACHABLE".into()));
}

#[test]
fn card_can_fail_before_it_is_served() {
    let (server, _folder) = serve(
        "[[fault]]\non = [\"card\"]\ncalls = { to = 1 }\ninject = { respond = { status = 500 } }\n\
         [[fault]]\non = [\"card\"]\ncalls = { from = 2, to = 2 }\n\
         inject = { disconnect = true }\n",
    );
    let codes: Vec<_> = (0..3).map(|_| server.run(&["card", "get"]).code).collect();
    assert_eq!(codes, [3, 3, 0]);
}

#[test]
fn client_resumes_a_stream_that_stalls_or_is_cut() {
    let (server, _folder) = serve(
        "[[fault]]\non = [\"SendStreamingMessage\"]\ncalls = { to = 1 }\n\
         inject = { cut_after = 1 }\n\
         [[fault]]\non = [\"SendStreamingMessage\"]\ncalls = { from = 2 }\n\
         inject = { stall_after = 1 }\n",
    );
    let run = server.run(&["send", "hello", "--stream"]);
    assert!(run.stdout.ends_with("State: COMPLETED\n"), "{run:?}");
    let run = server.run(&["send", "hello", "--stream", "--timeout", "1s", "-o", "json"]);
    assert_eq!(run.code, 5, "a stalled stream ends by the timeout: {run:?}");
}
