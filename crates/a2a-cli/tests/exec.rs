//! `a2a serve --echo`, `--exec` and `-- program`: agents made of nothing, or of a command.

mod common;

use common::{Server, kind};
use serde_json::json;

#[test]
fn an_echo_agent_gives_back_every_part() {
    let server = Server::start(&["--echo"]);
    let answer = server.json(&["send", "tck-reject-task", "--data", "{\"n\":1}"]);
    assert_eq!(answer["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(
        answer["task"]["artifacts"][0]["parts"],
        json!([{"text": "tck-reject-task"}, {"data": {"n": 1}}])
    );
}

#[test]
fn a_command_gets_the_text_on_its_stdin_and_answers_on_its_stdout() {
    let shell = Server::start(&["--exec", "tr a-z A-Z"]);
    let run = shell.run(&["send", "--text", "one; rm -rf $HOME", "--text", "two"]);
    assert!(run.stdout.contains("Text:\nONE; RM -RF $HOME\nTWO\n\n"), "{run:?}");
    let card = shell.json(&["card", "get"]);
    assert_eq!(card["capabilities"]["streaming"], false);
    let direct = Server::start(&["--", "/bin/sh", "-c", "cat; printf ' %s' \"$A2A_TASK_ID\""]);
    let run = direct.run(&["send", "hello"]);
    let expected = format!("Text:\nhello {}\n\n", run.field("Task ID"));
    assert!(run.stdout.contains(&expected), "{run:?}");
}

#[test]
fn parts_that_are_not_text_are_files_for_the_command() {
    let server = Server::start(&["--exec", "cd \"$A2A_INPUT_DIR\" && ls && cat 1-data.json"]);
    let run = server.run(&["send", "hi", "--data", "{\"n\":1}"]);
    assert!(run.stdout.contains("Text:\n1-data.json\n{\"n\":1}\n\n"), "{run:?}");
}

#[test]
fn a_command_that_fails_tells_the_end_of_its_stderr() {
    let server = Server::start(&["--exec", "echo broken >&2; exit 3"]);
    let run = server.run(&["send", "hi"]);
    assert_eq!((run.code, run.field("State")), (0, "FAILED"));
    assert!(run.stdout.contains("exit status: 3\nbroken\n\n"), "{run:?}");
    let missing = Server::start(&["--", "/nonexistent/program"]);
    assert_eq!(missing.run(&["send", "hi"]).field("State"), "FAILED");
    let slow = Server::start(&["--exec", "sleep 60", "--exec-timeout", "200ms"]);
    let run = slow.run(&["send", "hi", "--poll-interval", "100ms"]);
    assert!(run.stdout.contains("The command took too long"), "{run:?}");
}

#[test]
fn output_is_streamed_in_chunks_at_a_delimiter() {
    let server = Server::start(&["--exec", "printf 'a\\nb\\nc'", "--chunk", "\\n"]);
    let run = server.run(&["send", "hi", "--stream", "-o", "json"]);
    let kinds: Vec<_> = run.lines().iter().map(kind).collect();
    assert_eq!(
        kinds,
        [
            "task SUBMITTED",
            "status WORKING",
            "artifact a",
            "artifact b",
            "artifact c",
            "status COMPLETED"
        ]
    );
    let updates: Vec<_> = run
        .lines()
        .iter()
        .filter(|line| line["artifactUpdate"].is_object())
        .map(|line| {
            let update = &line["artifactUpdate"];
            (update["append"] == true, update["lastChunk"] == true)
        })
        .collect();
    assert_eq!(updates, [(false, false), (true, false), (true, true)]);
}

#[test]
fn json_lines_carry_a_conversation() {
    let script = "read -r message; \
        echo '{\"text\": \"thinking\"}'; \
        echo '{\"state\": \"input-required\", \"text\": \"Your name?\"}'; \
        read -r reply; \
        case \"$reply\" in *Ada*) text=right;; *) text=wrong;; esac; \
        echo \"{\\\"state\\\": \\\"completed\\\", \\\"text\\\": \\\"$text\\\"}\"";
    let server = Server::start(&["--exec", script, "--io", "jsonl"]);
    let asked = server.run(&["send", "hello"]);
    assert_eq!(asked.field("State"), "INPUT_REQUIRED", "{asked:?}");
    assert!(asked.stdout.contains("Text:\nYour name?\n\n"), "{asked:?}");
    let done = server.run(&["send", "Ada", "--task-id", asked.field("Task ID")]);
    assert_eq!(done.field("State"), "COMPLETED", "{done:?}");
    assert!(done.stdout.contains("Text:\nright\n\n"), "{done:?}");
}

#[test]
fn a_cancel_ends_the_command_and_all_that_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let (begun, ended) = (directory.path().join("begun"), directory.path().join("ended"));
    let script = format!(
        "trap 'echo ended > {}; exit 1' TERM; sleep 60 & echo begun > {}; wait",
        ended.display(),
        begun.display()
    );
    let server = Server::start(&["--exec", &script]);
    let sent = server.json(&["send", "hi", "--async"]);
    let id = sent["task"]["id"].as_str().unwrap();
    // Once this file is there, the shell has set its trap.
    while !begun.exists() {
        std::thread::yield_now();
    }
    let canceled = server.run(&["task", "cancel", id]);
    assert_eq!(canceled.field("State"), "CANCELED");
    assert_eq!(std::fs::read_to_string(&ended).unwrap(), "ended\n");
}
