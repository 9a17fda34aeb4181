//! Commands of `a2a serve --exec` and their callers: questions that nobody answers, output without
//! end, private files, hostile names, and what a command learns about its caller.
#![cfg(target_os = "linux")]

use crate::common;
use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::common::{Run, Server, command};
use serde_json::{Value, json};

/// Asks for a name and an age, and leaves the id of each of its processes in a file.
fn interview(processes: &Path) -> String {
    format!(
        "read -r message; echo \"$$ $A2A_REPLAYED_ANSWERS\" >> {}; \
         echo '{{\"text\": \"a, \"}}'; \
         echo '{{\"state\": \"input-required\", \"text\": \"Your name?\"}}'; read -r name; \
         echo '{{\"text\": \"b\"}}'; \
         echo '{{\"state\": \"input-required\", \"text\": \"Your age?\"}}'; read -r age; \
         case \"$name $age\" in *Ada*36*) text=right;; *) text=wrong;; esac; \
         echo '{{\"text\": \", c\"}}'; \
         echo \"{{\\\"state\\\": \\\"completed\\\", \\\"text\\\": \\\"$text\\\"}}\"",
        processes.display()
    )
}

fn wait_until(case: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_true() {
        assert!(Instant::now() < end, "{case}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process runs; a zombie does not.
fn runs(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn commands_that_wait_for_an_answer_leave_their_slots_to_others() {
    let script = "read -r message; case \"$message\" in \
         *question*) echo '{\"state\": \"input-required\", \"text\": \"Well?\"}'; read -r reply;; esac; \
         echo '{\"state\": \"completed\", \"text\": \"done\"}'";
    let server = Server::start(&["--exec", script, "--io", "jsonl", "--concurrency", "4"]);
    let asked: Vec<_> = (0..8)
        .map(|_| server.json(&["send", "question", "--async"])["task"]["id"].clone())
        .map(|id| id.as_str().unwrap().to_owned())
        .collect();
    wait_until("not every question is asked", || {
        let is_asked = |id| server.run(&["task", "get", id]).field("State") == "INPUT_REQUIRED";
        asked.iter().all(|id| is_asked(id))
    });
    let run = server.run(&["send", "hi", "--timeout", "10s"]);
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
    let run = server.run(&["send", "yes", "--task-id", &asked[0]]);
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
}

#[test]
fn answer_after_the_command_has_ended_continues_the_dialogue() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("processes");
    for (ends, bound) in [
        ("after a time", &["--exec-ask-timeout", "200ms"][..]),
        ("for another question", &["--exec-max-waiting", "1"]),
    ] {
        let script = interview(&log);
        let server = Server::start(&[&["--exec", &script, "--io", "jsonl"], bound].concat());
        let asked = server.run(&["send", "hello"]);
        assert_eq!(asked.field("State"), "INPUT_REQUIRED", "{ends}: {asked:?}");
        let id = asked.field("Task ID").to_owned();
        for (answer, replayed) in [("Ada", "0"), ("36", "1")] {
            let processes = fs::read_to_string(&log).unwrap();
            let process = processes.lines().last().unwrap();
            assert_eq!(process.split_once(' ').unwrap().1, replayed, "{ends}");
            if bound[0] == "--exec-max-waiting" {
                server.run(&["send", "hello"]);
            }
            let process = process.split_once(' ').unwrap().0;
            wait_until(&format!("{ends}: the command runs on"), || !runs(process));
            let task = server.run(&["task", "get", &id]);
            assert_eq!(task.field("State"), "INPUT_REQUIRED", "{ends}: {task:?}");
            server.run(&["send", answer, "--task-id", &id]);
        }
        let task = &server.json(&["task", "get", &id]);
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{ends}: {task}");
        assert_eq!(task["status"]["message"]["parts"][0]["text"], "right", "{ends}: {task}");
        let output: String = task["artifacts"][0]["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["text"].as_str().unwrap())
            .collect();
        assert_eq!((output.as_str(), task["artifacts"].as_array().unwrap().len()), ("a, b, c", 1));
    }
}

#[test]
fn command_without_an_answer_gets_sigterm_and_no_end_of_input() {
    let folder = tempfile::tempdir().unwrap();
    let (begun, read) = (folder.path().join("begun"), folder.path().join("read"));
    let script = format!(
        "read -r message; echo $$ >> {}; echo '{{\"state\": \"input-required\", \"text\": \"Well?\"}}'; \
         read -r reply; echo \"<$reply>\" >> {}",
        begun.display(),
        read.display()
    );
    let arguments = ["--exec", &script, "--io", "jsonl", "--exec-ask-timeout", "100ms"];
    let server = Server::start(&arguments);
    for _ in 0..8 {
        assert_eq!(server.run(&["send", "hi"]).field("State"), "INPUT_REQUIRED");
    }
    wait_until("a command runs on", || !fs::read_to_string(&begun).unwrap().lines().any(runs));
    assert!(!read.exists(), "{:?}", fs::read_to_string(&read));
}

#[test]
fn timeout_of_a_command_does_not_count_the_wait_for_an_answer() {
    let script = "read -r message; echo '{\"state\": \"input-required\", \"text\": \"Well?\"}'; \
         read -r reply; case \"$reply\" in *slow*) exec sleep 60;; esac; echo '{\"text\": \"ok\"}'";
    let arguments = ["--exec", script, "--io", "jsonl", "--exec-timeout", "3s"];
    let server = Server::start(&arguments);
    let ask = || server.run(&["send", "hi"]).field("Task ID").to_owned();
    let (patient, slow) = (ask(), ask());
    let start = Instant::now();
    let run = server.run(&["send", "slow", "--task-id", &slow]);
    assert!(run.stdout.contains("for longer than 3s"), "{run:?}");
    // The other question has been open for longer than the timeout by now.
    assert!(start.elapsed() > Duration::from_secs(2));
    let run = server.run(&["send", "hi", "--task-id", &patient]);
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
}

/// The peak of the resident memory of a server, in bytes.
fn peak(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn line_without_an_end_fails_the_task_within_bounded_memory() {
    let endless = "head -c 300000000 /dev/zero | tr '\\0' x";
    for form in [&["--io", "jsonl"][..], &["--chunk", "\\n"]] {
        let server = Server::start(&[&["--exec", endless], form].concat());
        let run = server.run(&["send", "hi"]);
        assert_eq!(run.field("State"), "FAILED", "{form:?}: {run:?}");
        assert!(run.stdout.contains("more than 16 MiB"), "{form:?}: {run:?}");
        assert!(peak(&server) < 128 << 20, "{form:?}: {} MiB", peak(&server) >> 20);
    }
    let to_stderr = format!("{endless} >&2");
    let server = Server::start(&["--exec", &to_stderr, "--exec-expose-stderr"]);
    assert_eq!(server.run(&["send", "hi"]).field("State"), "COMPLETED");
    assert!(peak(&server) < 128 << 20, "stderr: {} MiB", peak(&server) >> 20);
}

/// The directories of servers in a temporary folder.
fn directories(temporary: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("a2a-")).collect()
}

fn in_folder(temporary: &Path, arguments: &[&str]) -> Server {
    Server::start_with(arguments, &[("TMPDIR", temporary.to_str().unwrap())])
}

#[test]
fn files_of_a_command_are_private_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "umask 000; touch \"$A2A_OUTPUT_DIR/x\"; \
         find \"$A2A_INPUT_DIR/..\" \"$A2A_OUTPUT_DIR/..\" ! -path '*/x' \
         \\( -perm /077 -o ! -user \"$(id -u)\" \\); stat -c '%a' \"$A2A_INPUT_DIR\"/*";
    let server = in_folder(folder.path(), &["--exec", script]);
    let run = server.run(&["send", "--data", "{\"n\":1}"]);
    assert!(run.stdout.contains("Text:\n600\n"), "{run:?}");
    assert_eq!(directories(folder.path()).len(), 1);
    let files = |of: &Path| {
        fs::read_dir(of).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir()).count()
    };
    wait_until("files are left", || files(&directories(folder.path())[0]) == 0);
    server.terminate();
    assert_eq!(server.ended().0, Some(0));
    wait_until("the directory is left", || directories(folder.path()).is_empty());
}

/// Starts a command that ignores SIGTERM, with a grandchild that does too, and returns their ids.
fn survivors(server: &Server, folder: &Path) -> Vec<String> {
    server.json(&["send", "hi", "--data", "{\"n\":1}", "--async"]);
    let ids = || fs::read_to_string(folder.join("ids")).unwrap_or_default();
    wait_until("the command did not start", || ids().lines().count() == 2);
    ids().lines().map(str::to_owned).collect()
}

fn stubborn(folder: &Path) -> String {
    let ids = folder.join("ids");
    let ids = ids.display();
    format!(
        "trap '' HUP TERM INT; echo $$ >> {ids}; \
         sh -c 'echo $$ >> {ids}; exec sleep 300 >/dev/null 2>&1 </dev/null' & exec sleep 300"
    )
}

#[test]
fn commands_and_their_files_end_with_a_killed_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = in_folder(folder.path(), &["--exec", &stubborn(folder.path())]);
    let ids = survivors(&server, folder.path());
    assert!(ids.iter().all(|id| runs(id)));
    // By SIGKILL.
    drop(server);
    wait_until("commands run on", || !ids.iter().any(|id| runs(id)));
    wait_until("files are left", || directories(folder.path()).is_empty());
}

/// The server has hardly heard of the command when it is killed, and the next one starts at once.
#[test]
fn command_that_has_just_started_ends_with_a_killed_server() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let start = || in_folder(folder.path(), &["--exec", &stubborn(folder.path())]);
        let ids = || fs::read_to_string(folder.path().join("ids")).unwrap_or_default();
        let server = start();
        server.json(&["send", "hi", "--data", "{\"n\":1}", "--async"]);
        let end = Instant::now() + Duration::from_secs(30);
        while ids().is_empty() {
            assert!(Instant::now() < end, "the command did not start");
        }
        drop(server);
        let _next = start();
        wait_until("commands run on", || !ids().lines().any(runs));
        wait_until("files are left", || directories(folder.path()).len() == 1);
    }
}

#[test]
fn files_of_servers_that_are_gone_are_removed_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let start = || in_folder(folder.path(), &["--exec", &stubborn(folder.path())]);
    let (gone, running) = (start(), start());
    assert_eq!(directories(folder.path()).len(), 2);
    let ids = survivors(&gone, folder.path());
    // What cleans up after a killed server is killed with it.
    let own = directories(folder.path());
    let guards: Vec<_> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|id| {
            let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            words.starts_with("/bin/sh")
                && own.iter().any(|path| words.contains(path.to_str().unwrap()))
        })
        .collect();
    assert_eq!(guards.len(), 2);
    for id in guards.iter().chain(&ids) {
        let id = rustix::process::Pid::from_raw(id.parse().unwrap()).unwrap();
        let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
    }
    drop(gone);
    assert_eq!(directories(folder.path()).len(), 2);
    let _next = start();
    assert_eq!(directories(folder.path()).len(), 2);
    assert!(own.iter().filter(|path| path.exists()).count() == 1);
    drop(running);
}

/// The text of the first artifact, which may have come in chunks.
fn output(answer: &Value) -> String {
    let parts = answer["result"]["task"]["artifacts"][0]["parts"].as_array();
    assert!(parts.is_some(), "{answer}");
    parts.into_iter().flatten().map(|part| part["text"].as_str().unwrap()).collect()
}

/// Sends a message as it is written, and returns the response.
async fn send(server: &Server, headers: &[(&str, &str)], params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let json = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let headers = [&json[..], headers].concat();
    let response = common::http("POST", &server.url(), &headers, &body.to_string()).await;
    serde_json::from_slice(response.body()).unwrap()
}

#[tokio::test]
async fn hostile_names_of_files_and_ids_fail_no_command() {
    let server = Server::start(&["--exec", "ls -A \"$A2A_INPUT_DIR\""]);
    let names = [
        "a".repeat(300),
        "nul\0byte".into(),
        "../../../etc/passwd".into(),
        ".bashrc".into(),
        "line\nbreak".into(),
        "-rf".into(),
        String::new(),
    ];
    let parts: Vec<_> = names.iter().map(|name| json!({"raw": "eA==", "filename": name})).collect();
    let message = json!({"messageId": "x", "role": "ROLE_USER", "parts": parts});
    let answer = send(&server, &[], json!({ "message": message })).await;
    let listed = output(&answer);
    let listed: Vec<_> = listed.lines().collect();
    let ends = [&*"a".repeat(200), "nul_byte", "passwd", "bashrc", "line_break", "rf", "file"];
    assert_eq!(listed.len(), ends.len(), "{listed:?}");
    for (number, (name, end)) in listed.iter().zip(ends).enumerate() {
        assert!(name.starts_with(&format!("{number}-")) && name.ends_with(end), "{listed:?}");
    }
    for id in ["x".repeat(128 << 10), "a\0b".into()] {
        for field in ["messageId", "contextId", "taskId"] {
            let mut message =
                json!({"messageId": "x", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
            message[field] = id.clone().into();
            let answer = send(&server, &[], json!({ "message": message })).await;
            assert_eq!(answer["error"]["code"], -32602, "{field}: {answer}");
            assert!(answer["error"].to_string().contains(field), "{field}: {answer}");
        }
    }
}

#[tokio::test]
async fn command_learns_its_caller_but_no_credential() {
    let script = "env | grep '^A2A_\\|ORIZATION\\|oken'; cat \"$A2A_METADATA_FILE\"";
    let settings = "[[auth.api_key]]\ncaller = \"ann\"\nkey = \"key-of-ann\"\nscopes = [\"read\", \"write\"]\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    fs::write(&file, settings).unwrap();
    let server = Server::start(&["--exec", script, "--settings", file.to_str().unwrap()]);
    let message = json!({
        "messageId": "x", "role": "ROLE_USER", "parts": [{"text": "hi"}],
        "metadata": {"of": "the message"},
    });
    let params = json!({"message": message, "metadata": {"of": "the\0request"}, "tenant": "acme"});
    let answer = send(&server, &[("x-api-key", "key-of-ann")], params).await;
    let text = output(&answer);
    for line in ["A2A_CALLER=ann", "A2A_TENANT=acme", "A2A_SCOPES=read write"] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    let metadata: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let expected = json!({"message": {"of": "the message"}, "request": {"of": "the\0request"}});
    assert_eq!(metadata, expected);
    assert!(!text.contains("key-of-ann"), "{text}");

    let open = Server::start(&["--exec", script]);
    let message = json!({"messageId": "x", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    let bearer = ("authorization", "Bearer token-of-nobody");
    let answer = send(&open, &[bearer], json!({ "message": message })).await;
    let text = output(&answer);
    // Set and empty: a command must not take a variable of the server for that of its caller.
    for line in ["A2A_CALLER=", "A2A_TENANT=", "A2A_SCOPES="] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    assert!(text.ends_with("{\"message\":{},\"request\":{}}"), "{text}");
    assert!(!text.contains("token-of-nobody"), "{text}");
}

#[test]
fn a_command_of_the_same_user_does_not_read_the_environment_of_the_server() {
    let binary = env!("CARGO_BIN_EXE_a2a");
    let mut server = match rustix::process::geteuid().is_root() {
        false => Command::new(binary),
        // A privileged user may read everything.
        true => {
            let mut server = Command::new("setpriv");
            server.args(["--bounding-set=-all", "--inh-caps=-all", binary]);
            server
        }
    };
    let script = "cat /proc/$PPID/cmdline /proc/$PPID/environ 2>&1 | tr '\\0' '\\n'";
    server.args(["serve", "--port", "0", "--store", "memory", "--exec", script]);
    server.env("OPERATOR_SECRET", "hunter2").stdin(Stdio::null()).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.find_map(|line| line.strip_prefix("Listening: http://").map(str::to_owned));
    let run = Run::of(command().args(["send", "hi", "-a", &address.unwrap()]));
    server.kill().unwrap();
    server.wait().unwrap();
    // The command has found the server.
    assert!(run.stdout.contains("--exec"), "{run:?}");
    assert!(!run.stdout.contains("hunter2"), "{run:?}");
}
