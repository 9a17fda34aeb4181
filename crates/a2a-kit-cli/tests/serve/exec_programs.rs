//! Programs behind `a2a serve --exec`: their output as it comes, how they fail, and how they are told
//! to end.
#![cfg(target_os = "linux")]

use crate::common;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::common::{Run, Server, kind};
use serde_json::{Value, json};

fn wait_until(case: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_true() {
        assert!(Instant::now() < end, "{case}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The text of the first artifact.
fn output(task: &Value) -> String {
    let parts = task["artifacts"][0]["parts"].as_array().unwrap_or_else(|| panic!("{task}"));
    parts.iter().map(|part| part["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn program_that_answers_at_once_is_not_polled() {
    for more in [&[][..], &["--io", "jsonl"]] {
        let script = "read -r message; echo '{\"text\": \"hi\"}'";
        let server = Server::start(&[&["--exec", script], more].concat());
        let sent = server.client(&["send", "hi"]).env("A2ACLI_POLL_INTERVAL", "1h").output();
        assert!(sent.unwrap().status.success(), "{more:?}");
        let url = format!("{}/metrics", server.url());
        let metrics = common::http("GET", &url, &[], "").await.into_body();
        let metrics = String::from_utf8(metrics.to_vec()).unwrap();
        assert!(
            metrics.contains("operation=\"SendStreamingMessage\"")
                || metrics.contains("operation=\"SendMessage\"")
        );
        assert!(!metrics.contains("operation=\"GetTask\""), "{metrics}");
    }
}

#[test]
fn output_is_passed_on_as_it_comes_and_no_character_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    // Half of a character, and the rest once the first chunk was seen.
    let script = format!(
        "printf 'one\\303'; while ! [ -e {} ]; do sleep 0.01; done; printf '\\251two\\n'",
        go.display()
    );
    let server = Server::start(&["--exec", &script]);
    let id = server.json(&["send", "hi", "--async"])["task"]["id"].clone();
    let id = id.as_str().unwrap();
    wait_until("nothing comes before the end", || {
        let task = server.json(&["task", "get", id]);
        task["artifacts"].is_array() && output(&task) == "one"
    });
    fs::write(&go, "").unwrap();
    let task = server.json(&["task", "get", id, "--wait"]);
    assert_eq!(output(&task), "oneétwo");

    let many = Server::start(&["--exec", "head -c 99999 /dev/zero | sed 's/\\x00/é/g'"]);
    let task = &many.json(&["send", "hi"])["task"];
    assert_eq!(output(task), "é".repeat(99_999));
}

#[test]
fn joined_chunks_are_the_output() {
    let script = "printf 'The quick brown\\nfox jumps\\n'";
    for (chunk, expected) in [
        (" ", &["The ", "quick ", "brown\nfox ", "jumps\n"][..]),
        ("\\n", &["The quick brown\n", "fox jumps\n"]),
        ("", &["The quick brown\nfox jumps"]),
    ] {
        let server = Server::start(&["--exec", script, "--chunk", chunk]);
        let run = server.run(&["send", "hi", "--stream", "-o", "json"]);
        let kinds: Vec<_> = run.lines().iter().map(kind).collect();
        let chunks: Vec<_> =
            kinds.iter().filter_map(|kind| kind.strip_prefix("artifact ")).collect();
        assert_eq!(chunks, expected, "{chunk:?}");
    }
}

#[test]
fn output_of_a_program_that_fails_is_kept_back_only_where_asked_to() {
    let script = "echo partial; exit 1";
    let server = Server::start(&["--exec", script]);
    let task = &server.json(&["send", "hi"])["task"];
    assert_eq!(
        (&task["status"]["state"], output(task)),
        (&json!("TASK_STATE_FAILED"), "partial".into())
    );
    let whole = Server::start(&["--exec", script, "--no-stream-output"]);
    assert_eq!(whole.json(&["send", "hi"])["task"].get("artifacts"), None);
    let endless = Server::start(&["--exec", "head -c 70000000 /dev/zero", "--no-stream-output"]);
    let run = endless.run(&["send", "hi"]);
    assert_eq!(run.field("State"), "FAILED");
    assert!(run.stdout.contains("The command wrote more than 64 MiB of output"), "{run:?}");
}

#[test]
fn python_output_is_not_buffered() {
    let script = "printf %s \"$PYTHONUNBUFFERED $A2A_IO\"";
    let server = Server::start(&["--exec", script]);
    assert_eq!(output(&server.json(&["send", "hi"])["task"]), "1 text/1");
    let arguments = ["--exec", script, "--exec-env", "PYTHONUNBUFFERED"];
    let server = Server::start_with(&arguments, &[("PYTHONUNBUFFERED", "2")]);
    assert_eq!(output(&server.json(&["send", "hi"])["task"]), "2 text/1");
}

/// The whole log of a server, which writes it with a delay.
fn log_of(server: Server, log: std::thread::JoinHandle<String>) -> String {
    server.terminate();
    assert_eq!(server.ended().0, Some(0));
    log.join().unwrap()
}

/// The error id in the text of a failed task.
fn error_id(run: &Run) -> &str {
    let (_, rest) = run.stdout.split_once(" (error ").unwrap_or_else(|| panic!("{run:?}"));
    rest.split_once(')').unwrap().0
}

#[tokio::test]
async fn failure_is_in_the_log_the_metrics_and_the_answer() {
    for (script, more, reason, event, outcome) in [
        ("exit 7", &[][..], "exit status: 7", "command failed", "failed"),
        ("kill -s SEGV $$", &[], "signal: 11 (SIGSEGV)", "command failed", "failed"),
        (
            "sh -c 'kill -s SEGV $$'; exit $?",
            &[],
            "signal: 11 (SIGSEGV)",
            "command failed",
            "failed",
        ),
        ("exit 7", &["--io", "jsonl"], "exit status: 7", "command failed", "failed"),
        (
            "sleep 60",
            &["--exec-timeout", "200ms"],
            "longer than 200ms",
            "executor dropped",
            "expired",
        ),
    ] {
        let arguments = [&["--exec", script], more].concat();
        let (server, log) = Server::start_and_read(&arguments);
        let run = server.run(&["send", "hi"]);
        assert_eq!(run.field("State"), "FAILED", "{script}: {run:?}");
        assert!(run.stdout.contains(reason), "{script}: {run:?}");
        let url = format!("{}/metrics", server.url());
        let metrics = common::http("GET", &url, &[], "").await.into_body();
        let expected = format!("a2a_executions_total{{outcome=\"{outcome}\"}} 1");
        assert!(String::from_utf8_lossy(&metrics).contains(&expected), "{script}");
        let log = log_of(server, log);
        let line = log.lines().find(|line| line.contains(event)).unwrap_or_else(|| panic!("{log}"));
        for part in [reason, run.field("Task ID"), error_id(&run)] {
            assert!(line.contains(part), "{script}: {part}: {log}");
        }
        let warnings =
            log.lines().filter(|line| line.contains("WARN") && line.contains("task.id="));
        assert_eq!(warnings.count(), 1, "{script}: {log}");
    }
}

#[tokio::test]
async fn commands_that_run_wait_and_ask_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let script = format!(
        "read -r message; case \"$message\" in *question*) \
         echo '{{\"state\": \"input-required\", \"text\": \"Well?\"}}'; read -r answer;; \
         *) while ! [ -e {} ]; do sleep 0.02; done;; esac",
        go.display()
    );
    let server = Server::start(&["--exec", &script, "--io", "jsonl", "--concurrency", "1"]);
    assert_eq!(server.run(&["send", "question"]).field("State"), "INPUT_REQUIRED");
    for _ in 0..3 {
        server.json(&["send", "hi", "--async"]);
    }
    let url = format!("{}/metrics", server.url());
    let deadline = Instant::now() + Duration::from_secs(30);
    let expect = async |counts: [u8; 3]| {
        loop {
            let metrics = common::http("GET", &url, &[], "").await.into_body();
            let metrics = String::from_utf8(metrics.to_vec()).unwrap();
            let mut states = ["running", "waiting", "asking"].into_iter().zip(counts);
            if states.all(|(state, count)| {
                metrics.contains(&format!("a2a_commands{{state=\"{state}\"}} {count}\n"))
            }) {
                return;
            }
            assert!(Instant::now() < deadline, "{counts:?}: {metrics}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    expect([1, 2, 1]).await;
    fs::write(&go, "").unwrap();
    expect([0, 0, 1]).await;
}

#[test]
fn missing_program_is_an_error_at_start() {
    for arguments in [
        &["--exec", "nosuchprogram --flag"][..],
        &["--exec", "/nonexistent/nosuchprogram"],
        &["--", "nosuchprogram", "--flag"],
    ] {
        let mut command = common::command();
        let refused =
            Run::of(command.args(["serve", "--port", "0", "--store", "memory"]).args(arguments));
        assert_eq!(refused.code, 2, "{arguments:?}: {refused:?}");
        assert!(refused.stderr.contains("nosuchprogram\" not found"), "{refused:?}");
    }
    // What can't be told is not checked.
    for command in ["FOO=1 cat", "if true; then cat; fi", "(cat)", "\"cat\"", "cd . && cat"] {
        let server = Server::start(&["--exec", command]);
        assert_eq!(server.run(&["send", "hi"]).field("State"), "COMPLETED", "{command}");
    }
}

/// A program that handles SIGTERM: it writes to stderr, and leaves a file.
fn polite(folder: &Path) -> String {
    let (begun, ended) = (folder.join("begun"), folder.join("ended"));
    format!(
        "trap 'echo last output; echo last words >&2; sleep 0.2; echo ended > {}; exit 1' TERM; \
         sleep 60 & echo > {}; wait",
        ended.display(),
        begun.display()
    )
}

#[test]
fn program_gets_sigterm_before_sigkill() {
    for case in ["timeout", "stop", "cancel"] {
        let folder = tempfile::tempdir().unwrap();
        // The shell ends at once, before what it has started.
        let script = format!("sh -c '{}'; true", polite(folder.path()).replace('\'', "'\\''"));
        let limit = match case {
            "timeout" => ["--exec-timeout", "500ms"],
            _ => ["--drain-timeout", "100ms"],
        };
        let arguments = [&["--exec", &script][..], &limit].concat();
        let (server, log) = Server::start_and_read_with(&arguments, &[("RUST_LOG", "info")]);
        let sent = server.json(&["send", "hi", "--async"]);
        let id = sent["task"]["id"].as_str().unwrap();
        wait_until("the program does not start", || folder.path().join("begun").exists());
        match case {
            "stop" => {}
            "cancel" => drop(server.run(&["task", "cancel", id])),
            _ => drop(server.run(&["task", "get", id, "--wait"])),
        }
        server.terminate();
        assert_eq!(server.ended().0, Some(0), "{case}");
        assert_eq!(fs::read_to_string(folder.path().join("ended")).unwrap(), "ended\n", "{case}");
        let log = log.join().unwrap();
        for event in ["last words", "command terminated"] {
            let line = log.lines().find(|line| line.contains(event));
            assert!(line.is_some_and(|line| line.contains(id)), "{case}: {event}: {log}");
        }
        assert!(!log.contains("roken pipe"), "{case}: {log}");
        let end = log.lines().next_back();
        assert!(end.is_some_and(|line| line.contains("stopped")), "{case}: {log}");
    }
}

#[test]
fn process_that_has_left_the_group_does_not_hold_the_task() {
    let folder = tempfile::tempdir().unwrap();
    let id_file = folder.path().join("id");
    let script = format!(
        "setsid sh -c 'echo $$ > {id}; exec sleep 300' & while ! [ -s {id} ]; do sleep 0.01; done; \
         echo done",
        id = id_file.display()
    );
    let server = Server::start(&["--exec", &script]);
    let run = server.run(&["send", "hi", "--timeout", "60s"]);
    let id = fs::read_to_string(id_file).unwrap().trim().parse().unwrap();
    let left = rustix::process::Pid::from_raw(id).unwrap();
    rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
    assert!(run.stdout.contains("Text:\ndone\n"), "{run:?}");
}

#[test]
fn unexpected_line_goes_to_the_log_with_what_was_expected() {
    let script = "read -r message; echo Loading the model; printf 'x%.0s' $(seq 300); echo; \
        echo '{\"level\": \"info\"}'; echo '{\"text\": \"hi\"}'";
    let arguments = ["--exec", script, "--io", "jsonl"];
    let (server, log) = Server::start_and_read(&arguments);
    let run = server.json(&["send", "hi"]);
    assert_eq!(output(&run["task"]), "hi");
    let log = log_of(server, log);
    let lines: Vec<_> = log.lines().filter(|l| l.contains("wrote an unexpected line")).collect();
    assert_eq!(lines.len(), 3, "{log}");
    assert!(
        lines[0].contains("Loading the model") && lines[0].contains("one of text, parts, artifact")
    );
    assert!(lines[0].contains(run["task"]["id"].as_str().unwrap()), "{log}");
    assert!(lines[1].contains(&"x".repeat(200)) && !lines[1].contains(&"x".repeat(201)), "{log}");
}

#[test]
fn invalid_line_fails_the_task_under_an_error_id_in_the_log() {
    for (script, more, fault, line) in [
        (
            "echo '{\"text\": \"hi\", \"lastchunk\": true}'",
            &[][..],
            "invalid line: unknown field `lastchunk`, expected one of `text`",
            "lastchunk",
        ),
        (
            "echo Loading the model",
            &["--exec-strict"],
            "invalid line: expected a JSON object with one of text",
            "Loading the model",
        ),
    ] {
        let arguments = [&["--exec", script, "--io", "jsonl"], more].concat();
        let (server, log) = Server::start_and_read(&arguments);
        let run = server.run(&["send", "hi"]);
        assert_eq!(run.field("State"), "FAILED", "{script}: {run:?}");
        assert!(run.stdout.contains(fault), "{script}: {run:?}");
        let log = log_of(server, log);
        let warnings: Vec<_> = log.lines().filter(|line| line.contains("WARN")).collect();
        let told = warnings.iter().filter(|line| line.contains(run.field("Task ID")));
        let [told] = &told.collect::<Vec<_>>()[..] else { panic!("{script}: {log}") };
        for part in ["command wrote invalid output", fault, line, error_id(&run)] {
            assert!(told.contains(part), "{script}: {part}: {log}");
        }
    }
}

#[test]
fn stdin_is_closed_once_no_question_can_come() {
    let folder = tempfile::tempdir().unwrap();
    let ended = folder.path().join("ended");
    let script = format!(
        "while read -r message; do echo '{{\"state\": \"completed\", \"text\": \"done\"}}'; done; \
         echo > {}",
        ended.display()
    );
    let server = Server::start(&["--exec", &script, "--io", "jsonl"]);
    assert_eq!(server.run(&["send", "hi"]).field("State"), "COMPLETED");
    wait_until("the program reads on", || ended.exists());
}

#[test]
fn lines_send_chunks_of_artifacts_progress_and_questions_with_data() {
    let script = r#"read -r message
        echo '{"progress": 0.5, "text": "Half"}'
        echo '{"artifact": {"artifactId": "x", "name": "x", "parts": [{"text": "a"}]}, "lastChunk": false}'
        echo '{"artifact": {"artifactId": "x", "parts": [{"text": "b"}]}, "append": true}'
        echo '{"artifact": {"artifactId": "x", "parts": [{"data": {"n": 1}}]}, "append": true, "lastChunk": true}'
        echo '{"state": "input-required", "text": "Which?", "parts": [{"data": {"of": [1, 2]}}], "metadata": {"form": "f"}}'
        read -r answer"#;
    let server = Server::start(&["--exec", script, "--io", "jsonl"]);
    let run = server.run(&["send", "hi", "--stream", "-o", "json"]);
    let events = run.lines();
    let flags: Vec<_> = events
        .iter()
        .filter(|event| event["artifactUpdate"].is_object())
        .map(|event| &event["artifactUpdate"])
        .map(|update| (update["append"] == true, update["lastChunk"] == true))
        .collect();
    assert_eq!(flags, [(false, false), (true, false), (true, true)]);
    let progress =
        events.iter().find(|event| event["statusUpdate"]["status"]["message"].is_object());
    let message = &progress.unwrap()["statusUpdate"]["status"]["message"];
    assert_eq!(
        (&message["metadata"], &message["parts"]),
        (&json!({"progress": 0.5}), &json!([{"text": "Half"}]))
    );
    let question = &events.last().unwrap()["statusUpdate"]["status"];
    assert_eq!(question["state"], "TASK_STATE_INPUT_REQUIRED", "{run:?}");
    assert_eq!(question["message"]["parts"], json!([{"text": "Which?"}, {"data": {"of": [1, 2]}}]));
    assert_eq!(question["message"]["metadata"], json!({"form": "f"}));
}

#[test]
fn program_gets_the_earlier_tasks_of_the_conversation_that_it_asks_for() {
    let script = r#"read -r message; echo '{"history": 2}'; read -r tasks
        printf '{"artifact": {"parts": [{"data": %s}]}}\n' "$tasks""#;
    let server = Server::start(&["--exec", script, "--io", "jsonl"]);
    let tasks = |task: &Value| task["artifacts"][0]["parts"][0]["data"]["tasks"].clone();
    let first = server.json(&["send", "1"])["task"].clone();
    assert_eq!(tasks(&first), json!([]));
    let context = first["contextId"].as_str().unwrap();
    let send = |text| server.json(&["send", text, "--context-id", context])["task"].clone();
    let later = ["2", "3", "4"].map(send);
    server.json(&["send", "elsewhere"]);
    let known = tasks(&later[2]);
    let said = |task: &Value| task["history"][0]["parts"][0]["text"].clone();
    let known: Vec<_> = known.as_array().unwrap().iter().map(said).collect();
    assert_eq!(known, ["2", "3"], "{later:?}");
    assert_eq!(tasks(&later[1])[1]["artifacts"], later[0]["artifacts"]);
}

#[test]
fn message_as_the_first_line_comes_in_place_of_a_task() {
    let script =
        "echo '{\"message\": {\"parts\": [{\"text\": \"hello\"}], \"metadata\": {\"a\": 1}}}'";
    let server = Server::start(&["--exec", script, "--io", "jsonl"]);
    let answer = server.json(&["send", "hi"]);
    assert_eq!(
        (&answer["message"]["metadata"], &answer["message"]["role"]),
        (&json!({"a": 1}), &json!("ROLE_AGENT")),
        "{answer}"
    );
    let late = format!("sleep 0.5; {script}");
    let server = Server::start(&["--exec", &late, "--io", "jsonl"]);
    let task = &server.json(&["send", "hi"])["task"];
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "hello", "{task}");
}

#[test]
fn program_runs_again_after_a_crash_only_where_asked_to() {
    for (recovery, state, expected) in
        [("rerun", "TASK_STATE_COMPLETED", "run 2"), ("fail", "TASK_STATE_FAILED", "run 1")]
    {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display();
        let script = format!(
            "echo >> {place}/runs; echo run $(wc -l < {place}/runs); \
             [ -e {place}/go ] || exec sleep 60"
        );
        let store = folder.path().join("tasks.db");
        let arguments = ["--exec", &script, "--exec-recovery", recovery, "--store"];
        let arguments = [&arguments[..], &[store.to_str().unwrap()]].concat();
        let server = Server::start(&arguments);
        let id = server.json(&["send", "hi", "--async"])["task"]["id"].clone();
        let id = id.as_str().unwrap();
        wait_until("no output comes", || {
            server.json(&["task", "get", id]).to_string().contains("run 1")
        });
        // By SIGKILL.
        drop(server);
        fs::write(folder.path().join("go"), "").unwrap();
        let server = Server::start(&arguments);
        wait_until("the task does not end", || {
            server.json(&["task", "get", id])["status"]["state"] == state
        });
        let task = server.json(&["task", "get", id]);
        assert_eq!(output(&task), expected, "{recovery}: {task}");
        assert_eq!(task["artifacts"].as_array().unwrap().len(), 1, "{task}");
    }
}

/// Programs that use the modules beside the library; `None` without the interpreter.
fn module(interpreter: &str, module: &str, program: &str) -> Option<(tempfile::TempDir, Server)> {
    if std::process::Command::new(interpreter).arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no {interpreter}");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_, extension) = module.split_once('.').unwrap();
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../a2a-kit-exec/examples").join(module);
    fs::copy(source, folder.path().join(module)).unwrap();
    let path = folder.path().join(format!("agent.{extension}"));
    fs::write(&path, program).unwrap();
    let arguments = ["--io", "jsonl", "--exec-strict", "--exec-env", "OUT"];
    let arguments = [&arguments[..], &["--", interpreter, path.to_str().unwrap()]].concat();
    let out = folder.path().to_str().unwrap();
    let server = Server::start_with(&arguments, &[("OUT", out)]);
    Some((folder, server))
}

/// A program with the parts of the modules: asks with data, streams, sends an artifact in chunks, fails.
const PYTHON: &str = r#"
import os, pathlib, time
import a2a_agent as agent

def main(message):
    print("a debug line")
    if agent.text(message) == "fail":
        agent.fail("No luck")
    answer = agent.ask("How often?", {"choices": [1, 2]}, form="count")
    count = int(agent.text(answer))
    for number in range(count):
        agent.progress((number + 1) / count)
        agent.say(f"{number} ")
    agent.artifact("list", "a", last=False)
    agent.artifact("list", {"n": 1}, append=True)
    folder = pathlib.Path(os.environ["OUT"])
    (folder / "x.bin").write_bytes(b"\0\1")
    agent.artifact("file", folder / "x.bin")
    if count == 3:
        try:
            time.sleep(60)
        finally:
            (folder / "cleaned").touch()

agent.run(main)
"#;

const NODE: &str = r#"
import { writeFileSync } from "node:fs";
import { artifact, ask, fail, file, onCancel, part, progress, run, say, text } from "./a2a_agent.mjs";

await run(async (message) => {
  console.log("a debug line");
  if (text(message) === "fail") fail("No luck");
  const count = Number(text(await ask("How often?", { choices: [1, 2] })));
  onCancel(() => writeFileSync(`${process.env.OUT}/cleaned`, ""));
  for (let number = 0; number < count; number++) {
    progress((number + 1) / count);
    say(`${number} `);
  }
  artifact("list", [part("a")], { lastChunk: false });
  artifact("list", [part({ n: 1 })], { append: true });
  writeFileSync(`${process.env.OUT}/x.bin`, new Uint8Array([0, 1]));
  artifact("file", [file(`${process.env.OUT}/x.bin`)]);
  if (count === 3) await new Promise((resolve) => setTimeout(resolve, 60_000));
});
"#;

#[test]
fn modules_speak_the_protocol() {
    for (interpreter, name, program) in
        [("python3", "a2a_agent.py", PYTHON), ("node", "a2a_agent.mjs", NODE)]
    {
        let Some((folder, server)) = module(interpreter, name, program) else { continue };
        let ask = || {
            let task = server.json(&["send", "hi"])["task"].clone();
            let question = &task["status"]["message"]["parts"];
            let expected = json!([{"text": "How often?"}, {"data": {"choices": [1, 2]}}]);
            assert_eq!(question, &expected, "{interpreter}: {task}");
            task["id"].as_str().unwrap().to_owned()
        };
        let task = &server.json(&["send", "2", "--task-id", &ask()])["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{interpreter}: {task}");
        let parts: Vec<_> = (0..3).map(|index| &task["artifacts"][index]["parts"]).collect();
        let expected = [
            &json!([{"text": "0 "}, {"text": "1 "}]),
            &json!([{"text": "a"}, {"data": {"n": 1}}]),
            &json!([{"raw": "AAE=", "filename": "x.bin"}]),
        ];
        assert_eq!(parts, expected, "{interpreter}: {task}");

        let failed = server.run(&["send", "fail"]);
        assert_eq!(failed.field("State"), "FAILED", "{interpreter}: {failed:?}");
        assert!(failed.stdout.contains("No luck"), "{interpreter}: {failed:?}");

        let id = ask();
        server.json(&["send", "3", "--task-id", &id, "--async"]);
        wait_until("no file comes", || {
            server.json(&["task", "get", &id]).to_string().contains("x.bin")
        });
        assert_eq!(server.run(&["task", "cancel", &id]).field("State"), "CANCELED");
        assert!(folder.path().join("cleaned").exists(), "{interpreter}");
    }
}
