//! `a2a serve --replay`: answers from a recording of `--record`, as in docs/scripts.md.

use std::{fs, path::Path};

use crate::common::{Run, Server, command};

/// Records the demo agent while `calls` are made to it, each by a command line.
fn record(path: &Path, calls: &[&[&str]]) -> Vec<Run> {
    let agent = Server::start(&[]);
    let path = path.to_str().unwrap();
    let proxy = Server::start(&["--proxy", &agent.address, "--record", path]);
    calls.iter().map(|call| proxy.run(call)).collect()
}

#[test]
fn recorded_conversation_is_replayed_over_each_binding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    let recorded = record(&path, &[&["send", "ask", "--stream"]]);
    let task_id = recorded[0].field("Task ID").to_owned();
    let more = record(&path, &[&["send", "stream 3", "--stream"], &["card", "get"]]);

    let replay = Server::start(&["--replay", path.to_str().unwrap(), "--replay-immediately"]);
    for binding in ["jsonrpc", "rest", "grpc"] {
        let run = replay.run(&["send", "ask", "--stream", "--transport", binding]);
        assert_eq!(run.field("Task ID"), task_id, "{binding}: {run:?}");
        assert!(run.stdout.contains("State: INPUT_REQUIRED"), "{binding}: {run:?}");
        let run = replay.run(&["send", "stream 3", "--stream", "--transport", binding]);
        assert_eq!(run.stdout, more[0].stdout, "{binding}: {run:?}");
    }
    let card = replay.run(&["card", "get"]);
    assert_eq!(card.field("Name"), more[1].field("Name"), "the card is that of the recording");
}

#[test]
fn request_that_was_not_recorded_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    record(&path, &[&["send", "help"]]);
    let replay = Server::start(&["--replay", path.to_str().unwrap()]);
    let run = replay.run(&["send", "never said", "-o", "json"]);
    assert_eq!(run.lines()[0]["error"]["code"], "InvalidParamsError", "{run:?}");
    let run = replay.run(&["task", "get", "unknown", "-o", "json"]);
    assert_eq!(run.lines()[0]["error"]["code"], "TaskNotFoundError", "{run:?}");
}

#[test]
fn invalid_recording_is_rejected_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    let request = r#"{"call":1,"operation":"GetTask","step":"request","body":{"id":"t"}}"#;
    for (text, expected) in [
        (String::new(), "the recording has no call"),
        (format!("{request}\nnonsense\n"), "line 2 is not an entry of a recording"),
        (request.replace("GetTask", "Explode"), "line 1: unknown operation \"Explode\""),
        ("{\"call\":1}\n".to_owned(), "missing field `step`"),
    ] {
        fs::write(&path, &text).unwrap();
        let run = Run::of(command().args(["serve", "--port", "0", "--replay"]).arg(&path));
        assert_eq!(run.code, 2, "{text}: {run:?}");
        assert!(run.stderr.contains(expected), "{text}: {run:?}");
        assert!(run.stderr.contains(path.to_str().unwrap()), "{text}: {run:?}");
    }
    for other in [&["--echo"][..], &["--store", "memory"], &["--proxy", "127.0.0.1:9"]] {
        fs::write(&path, request).unwrap();
        let run = Run::of(command().args(["serve", "--replay"]).arg(&path).args(other));
        assert_eq!(run.code, 2, "{other:?}: {run:?}");
        assert!(run.stderr.contains("--replay"), "{other:?}: {run:?}");
    }
    let run = Run::of(command().args(["serve", "--replay-immediately"]));
    assert_eq!(run.code, 2, "{run:?}");
}
