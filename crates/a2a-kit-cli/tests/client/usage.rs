//! Command lines that can't be understood, help, and who can't be reached.

use crate::common::{Run, Server, command};

fn run(arguments: &[&str]) -> Run {
    Run::of(command().args(arguments))
}

#[test]
fn a_command_line_that_makes_no_sense_is_a_usage_error_with_a_hint() {
    for (arguments, hint) in [
        (&[][..], "--help"),
        (&["task"], "--help"),
        (&["sned"], "send"),
        (&["srve"], "did you mean serve? see"),
        (&["send", "hi", "--transprot", "grpc"], "--transport"),
        (&["send", "hi", "--token", "t"], "did you mean --bearer? see"),
        (&["serve", "--token", "t"], "did you mean --require-bearer? see"),
        (&["serve", "--listen", ":80"], "did you mean --host and --port? see"),
        (&["serve", "--bind=:80"], "did you mean --host and --port? see"),
        (&["serve", "--webhook", "x"], "did you mean --webhook-key? see"),
        (&["srve"], "did you mean serve? see"),
        (&["send", "hi", "--zebra"], "Hint: see --help"),
        (&["send", "hi", "--listen", "x"], "Hint: see --help"),
        (&["send", "hi"], "A2ACLI_AGENT_CARD"),
        (&["send", "-a", "x"], "--text"),
        (&["send", "hi", "-a", "x", "--async", "--stream"], ""),
        (&["send", "hi", "-a", "x", "--async", "--wait"], ""),
        (&["send", "--media-type", "a/b", "--text", "x", "-a", "x"], "--media-type"),
        (&["send", "--text", "-", "--data", "-", "-a", "x"], ""),
        (&["send", "--file", "/nonexistent", "-a", "x"], ""),
        (&["send", "hi", "-a", "x", "--tenant", "t"], ""),
        (&["send", "hi", "-a", "x", "--a2a-version", "7.0"], ""),
        (&["send", "hi", "-a", "x", "--svc-param", "A2A-Version:1.0"], ""),
        (&["send", "hi", "-a", "x", "--poll-interval", "1ms"], ""),
        (&["task", "get", "-a", "x"], "A2ACLI_TASK_ID"),
        (&["task", "get", "a", "--task-id", "b", "-a", "x"], ""),
        (&["task", "list", "-a", "x", "--page-size", "0"], ""),
        (&["serve", "--store", "mysql://db/tasks"], "postgres://"),
        (&["serve", "--store", "memory", "--cluster", "nats://bus"], "--store memory"),
        (&["serve", "--store", "tasks.db", "--node", "one"], "--store tasks.db"),
        (&["serve", "--store", "postgres://db", "--cluster", "bus"], "nats://"),
        (&["serve", "--store", "a.db", "--secret-key-file", "/nonexistent"], ""),
        (&["serve", "--replay", "x", "--retention", "1h"], "this server runs"),
        (&["serve", "--proxy", "x", "--forward-auth", "--store", "a.db"], "--proxy-isolation"),
        (&["serve", "--proxy", "x", "--forward-auth", "--proxy-isolation", "store"], ""),
        (&["serve", "--proxy", "x", "--proxy-isolation", "none"], "store"),
        (&["serve", "--retention", "soon"], ""),
        (&["serve", "--demo", "--echo"], ""),
    ] {
        let text = run(arguments);
        assert_eq!(text.code, 2, "{arguments:?}: {text:?}");
        assert_eq!(text.stdout, "", "{arguments:?}");
        assert!(text.stderr.starts_with("Error: A2ACLI_ERR_USAGE\nMessage: "), "{text:?}");
        assert!(text.stderr.contains(hint), "{arguments:?}: {text:?}");
        let mut with_json = vec!["-o", "json"];
        with_json.extend(arguments);
        let json = run(&with_json);
        assert_eq!(json.code, 2, "{arguments:?}");
        assert_eq!(json.lines()[0]["error"]["code"], "A2ACLI_ERR_USAGE", "{arguments:?}");
    }
}

#[test]
fn help_and_version_are_printed_on_stdout() {
    let help = run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    assert!(help.stdout.contains("Effective defaults:"), "{}", help.stdout);
    assert_eq!(run(&["help"]).stdout, help.stdout);
    assert!(run(&["help", "task", "get"]).stdout.contains("--history"));
    let version = format!("a2a {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["-v"]).stdout, version);
    assert_eq!(run(&["--version"]).stdout, version);
    let configured = Run::of(command().arg("--help").env("A2ACLI_TRANSPORT", "grpc"));
    assert!(configured.stdout.contains("grpc (env)"), "{}", configured.stdout);
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_allocated_by_mimalloc() {
    let verbose = Run::of(command().arg("--version").env("MIMALLOC_VERBOSE", "1"));
    assert!(verbose.stderr.starts_with("mimalloc: "), "{}", verbose.stderr);
}

#[test]
fn every_shell_has_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completion", shell]);
        assert_eq!(script.code, 0, "{shell}");
        assert!(script.stdout.contains("subscribe"), "{shell}");
    }
}

#[test]
fn unreachable_host_and_missing_card_have_different_errors() {
    let server = Server::start(&[]);
    let missing = run(&["card", "get", "-a", &format!("{}/nothing.json", server.url())]);
    assert_eq!(missing.code, 3);
    assert!(missing.stderr.starts_with("Error: A2ACLI_ERR_CARD_NOT_FOUND\n"), "{missing:?}");
    let no_file = run(&["card", "get", "-a", "./nothing.json"]);
    assert_eq!(no_file.code, 3, "{no_file:?}");
    let address = server.address.clone();
    drop(server);
    let gone = run(&["send", "hello", "-a", &address, "-o", "json"]);
    assert_eq!(gone.code, 3);
    assert_eq!(gone.lines()[0]["error"]["code"], "A2ACLI_ERR_UNREACHABLE", "{gone:?}");
    assert!(gone.stderr.starts_with("error: A2ACLI_ERR_UNREACHABLE: "), "{gone:?}");
}

#[test]
fn variables_stand_in_for_flags() {
    let server = Server::start(&[]);
    let sent = Run::of(
        command()
            .args(["send", "hello"])
            .env("A2ACLI_AGENT_CARD", &server.address)
            .env("A2ACLI_OUTPUT", "json")
            .env("A2ACLI_COMPACT", "yes"),
    );
    let id = sent.json()["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(sent.stdout.lines().count(), 1);
    let got = Run::of(
        command()
            .args(["task", "get"])
            .env("A2ACLI_AGENT_CARD", &server.address)
            .env("A2ACLI_TASK_ID", &id),
    );
    assert_eq!(got.field("Task ID"), id);
    let wrong = Run::of(command().args(["send", "x", "-a", "y"]).env("A2ACLI_COMPACT", "maybe"));
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("A2ACLI_COMPACT"), "{wrong:?}");
}
