//! `a2a serve --echo`, `--exec` and `-- program`: agents made of nothing, or of a command.

use crate::common;
use crate::common::{Server, kind};
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
    assert_eq!(card["capabilities"]["streaming"], true);
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
fn files_in_the_output_directory_are_artifacts() {
    let command = "printf '{\"n\":1}' > \"$A2A_OUTPUT_DIR/n.json\"; cp \"$A2A_INPUT_DIR\"/* \
                   \"$A2A_OUTPUT_DIR/copy.bin\"";
    for form in [&[][..], &["--chunk", "\\n"], &["--io", "jsonl"]] {
        let server = Server::start(&[&["--exec", command], form].concat());
        let task = &server.json(&["send", "--data", "{\"x\":2}"])["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{form:?}: {task}");
        let files: Vec<_> = task["artifacts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|artifact| &artifact["parts"][0])
            .filter(|part| part["filename"].is_string())
            .map(|part| (part["filename"].as_str().unwrap(), part["raw"].as_str().unwrap()))
            .collect();
        // In base64, as bytes are in JSON.
        let expected = [("copy.bin", "eyJ4IjoyfQ=="), ("n.json", "eyJuIjoxfQ==")];
        assert_eq!(files, expected, "{form:?}: {task}");
    }
}

#[test]
fn a_failing_command_tells_its_status_and_its_stderr_only_where_asked_to() {
    let command = "echo broken >&2; exit 3";
    let server = Server::start(&["--exec", command]);
    let run = server.run(&["send", "hi"]);
    assert_eq!((run.code, run.field("State")), (0, "FAILED"));
    assert!(run.stdout.contains("The command ended with exit status: 3 (error "), "{run:?}");
    assert!(!run.stdout.contains("broken"), "{run:?}");
    let open = Server::start(&["--exec", command, "--exec-expose-stderr"]);
    let run = open.run(&["send", "hi"]);
    assert!(run.stdout.contains(")\nbroken\n\n"), "{run:?}");
    let slow = Server::start(&["--exec", "sleep 60", "--exec-timeout", "200ms"]);
    let run = slow.run(&["send", "hi", "--poll-interval", "100ms"]);
    let expired = "Text:\nthe agent worked on this message for longer than 200ms (error ";
    assert!(run.stdout.contains(expired), "{run:?}");
}

#[test]
fn a_message_to_a_running_command_is_refused_before_it_is_acknowledged() {
    let server = Server::start(&["--exec", "sleep 60"]);
    let running = server.json(&["send", "hi", "--async"])["task"]["id"].clone();
    let running = running.as_str().unwrap();
    for arguments in [&["--async"][..], &[], &["--stream"]] {
        let send = ["send", "more", "--task-id", running];
        let run = server.run(&[&send[..], arguments].concat());
        assert_ne!(run.code, 0, "{arguments:?}: {run:?}");
        assert!(run.stderr.contains("takes no message while it works"), "{run:?}");
    }
    server.run(&["task", "cancel", running]);
}

#[test]
fn stderr_is_escaped_line_by_line_in_the_log() {
    let script = "printf 'x\\n%s  INFO forged path=/forged\\n\\033[31mred\\r\\a\\n' \
        2026-11-22T00:00:00.000000Z >&2; head -c 5000 /dev/zero | tr '\\0' y >&2";
    let info = [("RUST_LOG", "info")];
    let (server, log) = Server::start_and_read_with(&["--exec", script], &info);
    server.run(&["send", "hi"]);
    // The log is written with a delay.
    server.terminate();
    server.ended();
    let log = log.join().unwrap();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("command stderr")).collect();
    assert_eq!(lines.len(), 5, "{log}");
    assert!(log.lines().all(|line| !line.starts_with("2026-11-22T00:00:00")), "{log}");
    assert!(lines[1].contains("2026-11-22T00:00:00.000000Z  INFO forged path=/forged"), "{log}");
    assert!(lines[2].contains("\\x1b[31mred\\x0d\\x07"), "{log}");
    assert!(!log.contains(['\u{1b}', '\r', '\u{7}']), "{log:?}");
    assert!(lines[3].contains(&"y".repeat(1024)) && !lines[3].contains(&"y".repeat(1025)));
    assert!(lines[4].contains("omitted.bytes=3976 omitted.lines=0"), "{log}");
}

#[test]
fn stderr_in_the_log_is_bounded_per_command_and_in_lines_per_second() {
    let flood = "yes 0123456789012345678901234567890123456789012345678901234567890123 \
        | head -n 20000 >&2";
    let lines_with = |limits: &[&str]| {
        let arguments = [&["--exec", flood], limits].concat();
        let (server, log) = Server::start_and_read_with(&arguments, &[("RUST_LOG", "info")]);
        server.run(&["send", "hi"]);
        server.terminate();
        server.ended();
        let log = log.join().unwrap();
        let of = |start: &str| log.lines().filter(|line| line.contains(start)).count();
        assert_eq!(of("command stderr omitted"), 1, "{log}");
        of("command stderr stderr=")
    };
    let any_rate = "1000000/s";
    assert_eq!(lines_with(&["--exec-log-rate", any_rate]), (64 << 10) / 64);
    assert_eq!(lines_with(&["--exec-log-rate", any_rate, "--exec-log-bytes", "640"]), 10);
    assert_eq!(lines_with(&["--exec-log-rate", "3/h"]), 3);
    let by_default = lines_with(&[]);
    assert!((100..=1024).contains(&by_default), "{by_default}");
}

#[test]
fn a_command_inherits_no_secrets_and_only_the_variables_that_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let settings = directory.path().join("serve.toml");
    let text = "[exec]\ncommand = \"env\"\nenv = [\"MODEL\"]\n\
        [auth]\nrequire_bearer = \"env:SRV_TOKEN\"\n\
        [[auth.api_key]]\ncaller = \"ann\"\nkey = \"env:ANN_KEY\"\n";
    std::fs::write(&settings, text).unwrap();
    let settings = settings.to_str().unwrap();
    let secrets = [
        ("SRV_TOKEN", "secret-one"),
        ("ANN_KEY", "secret-two"),
        ("A2ACLI_SECRET_KEY", "c2VjcmV0LXRocmVlLXNlY3JldC10aHJlZS1zZWNyZXQ="),
        ("CLOUD_KEY", "secret-four"),
    ];
    let others = [("MODEL", "small"), ("LC_TIME", "C"), ("TRACEPARENT", "none")];
    let environment = [&secrets[..], &others].concat();
    let server = Server::start_with(&["--settings", settings], &environment);
    let run = server.run(&["send", "hi", "--bearer", "secret-one"]);
    let variables: std::collections::BTreeMap<_, _> =
        run.stdout.lines().filter_map(|line| line.split_once('=')).collect();
    for (name, value) in secrets {
        assert!(!variables.contains_key(name) && !run.stdout.contains(value), "{name}: {run:?}");
    }
    assert_eq!(variables.get("MODEL"), Some(&"small"), "{run:?}");
    assert_eq!(variables.get("LC_TIME"), Some(&"C"), "{run:?}");
    assert_eq!(variables.get("PATH").map(|path| (*path).to_owned()), std::env::var("PATH").ok());
    assert_eq!(variables["A2A_TASK_ID"], run.field("Task ID"));
    for (name, why) in [
        ("ANN_KEY", "ANN_KEY holds a secret of the server"),
        ("A2ACLI_SECRET_KEY", "A2ACLI_SECRET_KEY holds a secret of the server"),
    ] {
        let mut command = common::command();
        command
            .args(["serve", "--settings", settings, "--exec-env", name])
            .envs(environment.clone());
        let refused = common::Run::of(&mut command);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains(&format!("--exec-env: {why}")), "{refused:?}");
    }
}

#[test]
fn a_completed_command_has_its_answer_in_the_artifact_alone() {
    for (command, more) in [
        ("cat", &[][..]),
        ("cat", &["--chunk", ","]),
        ("read -r message; echo '{\"text\": \"a,b\"}'", &["--io", "jsonl"]),
    ] {
        let server = Server::start(&[&["--exec", command], more].concat());
        let task = &server.json(&["send", "a,b"])["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{more:?}");
        assert_eq!(task["status"].get("message"), None, "{more:?}");
        assert_eq!(task["artifacts"].as_array().map(Vec::len), Some(1), "{more:?}");
    }
    let silent = Server::start(&["--exec", "read -r message", "--io", "jsonl"]);
    let task = &silent.json(&["send", "hi"])["task"];
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "The command has ended");
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
            "artifact a\n",
            "artifact b\n",
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

/// Whether a process runs that wrote its id to a file. What has ended and was not collected yet
/// does not.
fn runs(id_file: &std::path::Path) -> bool {
    let id = std::fs::read_to_string(id_file).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// Waits until a process does not run any more: it was killed, so it is a matter of moments.
fn assert_ends(id_file: &std::path::Path, case: &str) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while runs(id_file) {
        assert!(std::time::Instant::now() < end, "{case}: it runs on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A script that leaves a process behind which ignores SIGTERM, and then does something else.
fn stubborn(id_file: &std::path::Path, then: &str) -> String {
    let id_file = id_file.display();
    format!(
        "sh -c 'trap \"\" TERM; echo $$ > {id_file}.new; mv {id_file}.new {id_file}; \
        exec sleep 300 > /dev/null 2>&1' & while ! [ -e {id_file} ]; do sleep 0.01; done; {then}"
    )
}

#[test]
fn a_process_that_ignores_sigterm_is_killed_when_its_command_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let id_file = directory.path().join("canceled");
    let server = Server::start(&["--exec", &stubborn(&id_file, "exec sleep 300")]);
    let sent = server.json(&["send", "hi", "--async"]);
    while !id_file.exists() {
        std::thread::yield_now();
    }
    assert!(runs(&id_file));
    let id = sent["task"]["id"].as_str().unwrap();
    assert_eq!(server.run(&["task", "cancel", id]).field("State"), "CANCELED");
    assert_ends(&id_file, "after a cancel");

    let id_file = directory.path().join("completed");
    let server = Server::start(&["--exec", &stubborn(&id_file, "echo done")]);
    assert_eq!(server.run(&["send", "hi"]).field("State"), "COMPLETED");
    assert_ends(&id_file, "after a normal end");

    let id_file = directory.path().join("stopped");
    let server = Server::start(&["--exec", &stubborn(&id_file, "exec sleep 300")]);
    server.json(&["send", "hi", "--async"]);
    while !id_file.exists() {
        std::thread::yield_now();
    }
    server.terminate();
    assert_eq!(server.ended().0, Some(0));
    assert_ends(&id_file, "after the server has stopped");
}
