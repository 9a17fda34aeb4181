//! `a2a send`, against the demo agent.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::common::{Run, Server, command, kind};
use serde_json::json;

const BINDINGS: [&str; 3] = ["jsonrpc", "http+json", "grpc"];

#[test]
fn a_text_is_sent_and_the_answer_is_shown_on_every_binding() {
    let server = Server::start(&[]);
    for binding in BINDINGS {
        let run = server.run(&["send", "echo how are you", "--transport", binding]);
        assert_eq!(run.code, 0, "{binding}: {run:?}");
        let (task, context) = (run.field("Task ID"), run.field("Context ID"));
        let artifact = run.field("Artifact ID");
        assert_eq!(
            run.stdout,
            format!(
                "Task ID: {task}\nContext ID: {context}\nState: COMPLETED\n\
                 Artifact: echo\nArtifact ID: {artifact}\nText:\nhow are you\n\n"
            ),
            "{binding}"
        );
        assert_eq!(run.stderr, format!("note: task {task} context {context}\n"), "{binding}");
    }
}

#[test]
fn program_that_answers_at_once_is_not_polled() {
    let server = Server::start(&["--exec", "cat"]);
    let run = server.run(&["send", "hi", "--debug"]);
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
    assert!(run.stderr.contains("SendStreamingMessage"), "{run:?}");
    assert!(!run.stderr.contains("GetTask"), "{run:?}");
}

#[test]
fn json_is_one_document_of_the_protocols_own_type() {
    let server = Server::start(&[]);
    let answer = server.json(&["send", "hello"]);
    assert_eq!(answer["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(answer["task"]["artifacts"][0]["parts"], json!([{"text": "hello"}]));
    let compact = server.run(&["send", "hello", "-o", "json", "--compact"]);
    assert_eq!(compact.stdout.lines().count(), 1);
    let message = server.json(&["send", "message"]);
    assert_eq!(message["message"]["parts"][0]["text"], "A message, and no task");
    let text = server.run(&["send", "message"]);
    assert!(text.stdout.ends_with("Role: AGENT\nText:\nA message, and no task\n\n"), "{text:?}");
}

#[test]
fn a_stream_is_one_json_document_a_line_and_ends_settled() {
    let server = Server::start(&[]);
    for binding in BINDINGS {
        let run =
            server.run(&["send", "stream 3", "--stream", "-o", "json", "--transport", binding]);
        let lines = run.lines();
        let kinds: Vec<_> = lines.iter().map(kind).collect();
        assert_eq!(
            kinds,
            [
                "task SUBMITTED",
                "status WORKING",
                "artifact chunk 1 of 3",
                "artifact chunk 2 of 3",
                "artifact chunk 3 of 3",
                "status COMPLETED"
            ],
            "{binding}"
        );
        assert_eq!(lines[4]["artifactUpdate"]["lastChunk"], true, "{binding}");
    }
}

#[test]
fn a_stream_as_text_has_one_heading_for_all_chunks_and_the_ids_at_its_end() {
    let server = Server::start(&[]);
    let run = server.run(&["send", "stream 2", "--stream"]);
    let (task, context) = (run.field("Task ID"), run.field("Context ID"));
    assert_eq!(
        run.stdout,
        format!(
            "Task ID: {task}\nContext ID: {context}\nState: SUBMITTED\nState: WORKING\n\
             Artifact: stream\nArtifact ID: stream\nText:\nchunk 1 of 2chunk 2 of 2\n\nState: COMPLETED\n\
             Task ID: {task}\nContext ID: {context}\nState: COMPLETED\n"
        )
    );
}

#[test]
fn a_stream_that_is_cut_goes_on_without_a_gap_or_a_repetition() {
    let server = Server::start(&[]);
    for binding in BINDINGS {
        let run = server.run(&["send", "drop 6", "--stream", "-o", "json", "--transport", binding]);
        assert_eq!(run.code, 0, "{binding}: {run:?}");
        assert!(run.stderr.contains("note: the stream was lost"), "{binding}: {run:?}");
        let lines = run.lines();
        let chunks: Vec<_> =
            lines.iter().map(kind).filter(|kind| kind.starts_with("artifact")).collect();
        let all: Vec<_> = (1..=6).map(|number| format!("artifact chunk {number} of 6")).collect();
        assert_eq!(chunks, all, "{binding}");
        assert_eq!(kind(lines.last().unwrap()), "status COMPLETED", "{binding}");
    }
}

#[test]
fn a_question_tells_how_to_answer_and_the_answer_completes_the_task() {
    let server = Server::start(&[]);
    let asked = server.run(&["send", "ask"]);
    let task = asked.field("Task ID");
    assert_eq!(asked.code, 0);
    assert_eq!(asked.field("State"), "INPUT_REQUIRED");
    assert_eq!(
        asked.field("Resume with"),
        format!("a2a send -a {} --task-id {task} \"<reply>\"", server.address)
    );
    assert!(asked.stderr.ends_with(&format!("warning: task {task} is INPUT_REQUIRED\n")));
    let older = server.run(&["send", "ask", "--a2a-version", "0.3"]);
    assert!(older.field("Resume with").contains(" --a2a-version 0.3 --task-id "), "{older:?}");
    let answered = server.run(&["send", "Ada", "--task-id", task]);
    assert_eq!(answered.field("State"), "COMPLETED");
    assert_eq!(answered.field("Task ID"), task);
    assert!(answered.stdout.contains("Text:\nYou said: Ada\n"), "{answered:?}");
}

#[test]
fn a_context_is_continued_by_a_new_task_and_a_refused_task_is_an_error() {
    let server = Server::start(&[]);
    let first = server.json(&["send", "hello"]);
    let context = first["task"]["contextId"].as_str().unwrap();
    let second = server.json(&["send", "hello", "--context-id", context]);
    assert_eq!(second["task"]["contextId"], context);
    assert_ne!(second["task"]["id"], first["task"]["id"]);
    let refused = server.run(&["send", "hello", "--task-id", "nope", "-o", "json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let error = &refused.lines()[0]["error"];
    assert_eq!(error["code"], "TaskNotFoundError");
    assert_eq!(error["a2aCode"], -32001);
    assert!(error["hint"].as_str().unwrap().contains("--debug"), "{error}");
}

#[test]
fn an_async_send_returns_at_once_with_the_ids() {
    let server = Server::start(&[]);
    let answer = server.json(&["send", "slow 30", "--async"]);
    let state = answer["task"]["status"]["state"].as_str().unwrap();
    assert!(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state), "{answer}");
    let run = server.run(&["send", "slow 30", "--no-wait"]);
    assert!(!run.field("Task ID").is_empty() && !run.field("Context ID").is_empty());
}

#[test]
fn an_agent_that_does_not_stream_is_polled() {
    let server = Server::start(&["--no-streaming"]);
    let answer = server.json(&["send", "slow 1", "--poll-interval", "100ms"]);
    assert_eq!(answer["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let run = server.run(&["send", "slow 1", "--stream", "--poll-interval", "100ms", "-o", "json"]);
    assert!(run.stderr.contains("note: the agent does not stream"), "{run:?}");
    let lines = run.lines();
    assert!(lines.len() >= 2 && lines.iter().all(|line| line["task"].is_object()), "{run:?}");
    assert_eq!(kind(lines.last().unwrap()), "task COMPLETED");
}

#[test]
fn parts_keep_the_order_of_the_command_line_and_media_types_their_part() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.md");
    std::fs::write(&file, "# Notes").unwrap();
    let run = Run::with_stdin(
        command().args(["send", "-a", &server.address, "-o", "json"]).args([
            "--data",
            "-",
            "--text",
            "first",
            "--media-type",
            "text/x-first",
            "--file",
            file.to_str().unwrap(),
            "positional",
            "--file-part",
            "https://example.com/a.png",
            "--data-part",
            "{\"n\": 1}",
            "--media-type",
            "application/x-n",
        ]),
        "{\"from\": \"stdin\"}",
    );
    assert_eq!(
        run.json()["task"]["artifacts"][0]["parts"],
        json!([
            {"data": {"from": "stdin"}},
            {"text": "first", "mediaType": "text/x-first"},
            {"raw": "IyBOb3Rlcw==", "filename": "notes.md", "mediaType": "text/markdown"},
            {"text": "positional"},
            {"url": "https://example.com/a.png", "mediaType": "image/png"},
            {"data": {"n": 1}, "mediaType": "application/x-n"}
        ])
    );
}

#[test]
fn the_message_is_what_the_flags_say() {
    let server = Server::start(&[]);
    let first = server.json(&["send", "hello"]);
    let first = first["task"]["id"].as_str().unwrap();
    let answer = server.json(&[
        "send",
        "hello",
        "--message-id",
        "m-1",
        "--reference-task",
        first,
        "--message-metadata",
        "{\"k\": 1}",
        "--history",
        "1",
    ]);
    let history = answer["task"]["history"].as_array().unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!(history[0]["messageId"], "m-1");
    assert_eq!(history[0]["referenceTaskIds"], json!([first]));
    assert_eq!(history[0]["metadata"], json!({"k": 1}));
    let payload = "{\"message\": {\"messageId\": \"m-2\", \"role\": \"ROLE_USER\", \
                   \"parts\": [{\"text\": \"whole\"}]}}";
    let run = Run::with_stdin(
        command().args(["send", "--request-payload", "-", "-o", "json", "-a", &server.address]),
        payload,
    );
    assert_eq!(run.json()["task"]["history"][0]["messageId"], "m-2");
}

#[test]
fn control_characters_of_an_agent_never_reach_the_terminal() {
    let server = Server::start(&[]);
    let run = server.run(&["send", "html"]);
    assert!(run.stdout.contains("\\x1b[31mred\\x1b[0m"), "{run:?}");
    assert!(!run.stdout.contains('\u{1b}'));
}

#[test]
fn credential_without_a_declared_scheme_is_not_sent() {
    let server = Server::start(&["--require-bearer", "t0ken"]);
    let run = server.run(&["send", "hello", "--api-key", "t0ken", "--basic", "a:t0ken"]);
    assert_eq!(run.code, 4, "{run:?}");
    for warning in ["warning: --api-key is not sent", "warning: --basic is not sent", "(bearer)"] {
        assert!(run.stderr.contains(warning), "{warning}: {run:?}");
    }
    for malformed in [["--basic", "user"], ["--bearer", "a\nb"], ["--api-key", "a\nb"]] {
        let run = server.run(&[&["send", "hello"][..], &malformed].concat());
        assert_eq!(run.code, 2, "{malformed:?}: {run:?}");
    }
}

#[test]
fn outcomes_are_not_failures_of_the_tool() {
    let server = Server::start(&[]);
    for (word, state) in [("fail", "FAILED"), ("reject", "REJECTED"), ("panic", "FAILED")] {
        let run = server.run(&["send", word]);
        assert_eq!((run.code, run.field("State")), (0, state), "{word}");
        assert!(run.stderr.contains(&format!(" is {state}\n")), "{word}: {run:?}");
    }
}

#[test]
fn a_wait_ends_at_its_limit_and_tells_which_task_goes_on() {
    let server = Server::start(&[]);
    let run = server.run(&["send", "slow 30", "--timeout", "500ms", "-o", "json"]);
    assert_eq!(run.code, 5, "{run:?}");
    let error = &run.lines()[0]["error"];
    assert_eq!(error["code"], "A2ACLI_ERR_TIMEOUT");
    assert_eq!(error["details"]["state"], "TASK_STATE_WORKING");
    let task = error["details"]["taskId"].as_str().unwrap();
    assert_eq!(server.run(&["task", "get", task]).field("State"), "WORKING");
}

#[test]
fn an_interrupt_ends_the_wait_and_tells_which_task_goes_on() {
    let server = Server::start(&[]);
    let mut client = command()
        .args(["send", "slow 30", "-o", "json", "-a", &server.address])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut note = String::new();
    BufReader::new(client.stderr.as_mut().unwrap()).read_line(&mut note).unwrap();
    let id = rustix::process::Pid::from_raw(client.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let run = Run::from(client.wait_with_output().unwrap());
    assert_eq!(run.code, 130, "{run:?}");
    let error = &run.lines()[0]["error"];
    assert_eq!(error["code"], "A2AX_ERR_INTERRUPTED");
    assert!(note.contains(error["details"]["taskId"].as_str().unwrap()), "{note} {error}");
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let server = Server::start(&[]);
    let mut client = command()
        .args(["send", "stream 10", "--stream", "-o", "json", "-a", &server.address])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let run = Run::from(client.wait_with_output().unwrap());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.starts_with("note: task ") && run.stderr.lines().count() == 1, "{run:?}");
}

#[test]
fn diagnostics_and_what_was_sent_are_shown_when_asked_for() {
    let server = Server::start(&[]);
    let verbose = server.run(&["send", "hello", "--verbose"]);
    assert!(verbose.stdout.starts_with("Message ID: "), "{verbose:?}");
    assert!(verbose.stdout.contains("Role: USER\nText:\nhello\n\nTask ID: "), "{verbose:?}");
    assert!(verbose.stdout.contains("Timestamp: "), "{verbose:?}");
    let debug = server.run(&["send", "hello", "--debug", "-o", "json", "--bearer", "s3cret"]);
    assert_eq!(debug.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert!(!debug.stderr.contains("s3cret"), "{debug:?}");
}
