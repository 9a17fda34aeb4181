//! The settings of client commands: flags, variables, settings files and defaults.

use crate::common::{Run, Server, home::Home};
use a2a_test_certificates::Folder;
use serde_json::{Value, json};

/// The entry of a setting in the output of `config show -o json`.
fn setting(run: &Run, name: &str) -> Value {
    let document = run.json();
    let mut settings = document["settings"].as_array().unwrap().iter();
    settings.find(|setting| setting["name"] == name).unwrap().clone()
}

fn show(home: &Home, arguments: &[&str]) -> Run {
    Run::of(home.command().args(["config", "show"]).args(arguments))
}

#[test]
fn each_setting_is_shown_with_its_value_and_its_source() {
    let home = Home::new();
    let local = home.write(home.project().join(".env"), "A2ACLI_TIMEOUT=7s # of the project\n");
    let agent = home.write(home.agents().join("a.example_8443.env"), "A2ACLI_BEARER=t0ken\n");
    let global = home.write(
        home.config().join(".env"),
        "export A2ACLI_TIMEOUT=9s\nA2ACLI_VERBOSE='yes'\nA2ACLI_BEARER=other\nOTHER=1\n",
    );
    let run = Run::of(
        home.command()
            .args(["config", "show", "-a", "https://a.example:8443/card.json"])
            .args(["--svc-param", "x-key:s3cret", "--poll-interval", "500ms"])
            .env("A2ACLI_TRANSPORT", "rest,grpc")
            .env("A2ACLI_TIMEOUT", ""),
    );
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for (name, value) in [
        ("agent-card", "https://a.example:8443/card.json (source: flag)".to_owned()),
        ("transport", "http+json,grpc (source: env)".to_owned()),
        ("timeout", format!("7s (source: local {local})")),
        ("bearer", format!("(set) (source: agent {agent})")),
        ("verbose", format!("true (source: global {global})")),
        ("svc-param", "x-key:(set) (source: flag)".to_owned()),
        ("poll-interval", "500ms (source: flag)".to_owned()),
        ("request-timeout", "30s (source: default)".to_owned()),
        ("wait", "on for send, off for task get (source: default)".to_owned()),
        ("api-key", "none (source: default)".to_owned()),
    ] {
        assert_eq!(run.field(name), value);
    }
    for secret in ["t0ken", "other", "s3cret"] {
        assert!(!run.stdout.contains(secret), "{}", run.stdout);
    }

    let run = show(&home, &["-o", "json", "--transport", "grpc"]);
    let transport = json!({"name": "transport", "value": "grpc", "source": "flag", "path": null});
    assert_eq!(setting(&run, "transport"), transport);
    let timeout = json!({"name": "timeout", "value": "7s", "source": "local", "path": local});
    assert_eq!(setting(&run, "timeout"), timeout);
    let agent = json!({"name": "agent-card", "value": null, "source": "default", "path": null});
    assert_eq!(setting(&run, "agent-card"), agent);
}

#[test]
fn config_flag_replaces_the_nearest_file() {
    let home = Home::new();
    home.write(home.project().join(".env"), "A2ACLI_OUTPUT=json\nA2ACLI_TASK_ID=nearest\n");
    let other = home.write(home.project().join("other.env"), "A2ACLI_TASK_ID=other\n");
    assert_eq!(setting(&show(&home, &[]), "task-id")["value"], "nearest");
    let run = show(&home, &["--config", "../other.env"]);
    assert_eq!(run.field("task-id"), "other (source: local ../other.env)");
    let missing = show(&home, &["--config", "none.env"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("failed to read none.env"), "{missing:?}");
    drop(other);
}

#[test]
fn bad_value_in_a_file_is_named_with_its_line() {
    let home = Home::new();
    for (text, named) in [
        ("\nA2ACLI_TIMEOUT=soon\n", ":2: A2ACLI_TIMEOUT: expected a duration"),
        ("A2ACLI_COMPACT=maybe\n", ":1: A2ACLI_COMPACT: expected 1, true"),
        ("# x\n\nA2ACLI_BEARER='t0ken\n", ":3: A2ACLI_BEARER: missing closing quote"),
        ("A2ACLI_BEARER\n", ":1: expected A2ACLI_BEARER=value"),
    ] {
        let path = home.write(home.working().join(".env"), text);
        let run = show(&home, &[]);
        assert_eq!(run.code, 2, "{text}: {run:?}");
        assert!(run.stderr.contains(&format!("{path}{named}")), "{text}: {run:?}");
        assert!(!run.stderr.contains("t0ken"), "{run:?}");
        // Help is available all the same, and other values override it.
        assert_eq!(Run::of(home.command().arg("--help")).code, 0);
    }
    home.write(home.working().join(".env"), "A2ACLI_TIMEOUT=soon\n");
    assert_eq!(show(&home, &["--timeout", "1s"]).field("timeout"), "1s (source: flag)");
}

#[test]
fn bad_values_of_all_sources_are_reported_together() {
    let home = Home::new();
    let path = home.write(home.working().join(".env"), "A2ACLI_TIMEOUT=soon\n");
    let run = Run::of(
        home.command()
            .args(["send", "hi", "-a", "a.example", "--transport", "pigeon", "-o", "json"])
            .env("A2ACLI_SVC_PARAM", "s3cret"),
    );
    assert_eq!(run.code, 2, "{run:?}");
    let problems = run.lines()[0]["error"]["details"]["problems"].clone();
    let keys = problems.as_array().unwrap().iter().map(|one| one["message"].as_str().unwrap());
    assert_eq!(keys.count(), 3, "{problems}");
    for named in [&format!("{path}:1: A2ACLI_TIMEOUT: "), "--transport: ", "A2ACLI_SVC_PARAM: "] {
        assert!(run.stderr.contains(named), "{named}: {run:?}");
    }
    assert!(!run.stdout.contains("s3cret") && !run.stderr.contains("s3cret"), "{run:?}");
}

#[test]
fn secret_is_read_from_the_file_that_a_variable_names() {
    let server = Server::start(&["--require-bearer", "t0ken"]);
    let home = Home::new();
    let token = home.write(home.working().join("token"), "t0ken\n");
    let send = |variables: &[(&str, &str)]| {
        let send = ["send", "hello", "-a", &server.address];
        Run::of(home.command().args(send).envs(variables.iter().copied()))
    };
    let sent = send(&[("A2ACLI_BEARER_FILE", &token)]);
    assert_eq!(sent.field("State"), "COMPLETED", "{sent:?}");
    home.write(home.config().join(".env"), &format!("A2ACLI_BEARER_FILE={token}\n"));
    let sent = send(&[]);
    assert_eq!(sent.field("State"), "COMPLETED", "{sent:?}");
    let shown = show(&home, &[]);
    assert!(shown.field("bearer").starts_with("(set) (source: global "), "{shown:?}");
    for (variables, named) in [
        (&[("A2ACLI_BEARER_FILE", "none")][..], "A2ACLI_BEARER_FILE: failed to read none"),
        (&[("A2ACLI_BEARER_FILE", &token), ("A2ACLI_BEARER", "x")], "excludes A2ACLI_BEARER"),
    ] {
        let run = send(variables);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(named), "{named}: {run:?}");
    }
}

#[test]
fn file_that_was_found_does_not_choose_a_file_with_a_secret() {
    let home = Home::new();
    let key = home.write(home.working().join("key"), "s3cret\n");
    let text = format!("A2ACLI_AGENT_CARD=evil.example\nA2ACLI_BEARER_FILE={key}\n");
    let local = home.write(home.project().join(".env"), &text);
    let run = Run::of(home.command().args(["send", "hi"]));
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains(&format!("{local}:2: A2ACLI_BEARER_FILE: is not used")), "{run:?}");
    let named = show(&home, &["--config", &local]);
    assert_eq!(named.field("bearer"), format!("(set) (source: local {local})"), "{named:?}");
}

#[test]
fn flag_switches_off_what_a_variable_switches_on() {
    let home = Home::new();
    let show = ["config", "show", "--verbose=false", "--wait=off"];
    let run = Run::of(home.command().args(show).env("A2ACLI_VERBOSE", "yes"));
    assert_eq!(run.field("verbose"), "false (source: flag)", "{run:?}");
    assert_eq!(run.field("wait"), "false (source: flag)", "{run:?}");
}

#[test]
fn help_ends_with_the_effective_defaults() {
    let home = Home::new();
    let global = home.write(home.config().join(".env"), "A2ACLI_TRANSPORT=grpc\n");
    for arguments in [&["--help"][..], &["help", "send"], &["task", "get", "-h"]] {
        let help = Run::of(home.command().args(arguments));
        assert_eq!(help.code, 0);
        let (_, defaults) = help.stdout.split_once("Effective defaults:\n").unwrap();
        let lines: Vec<_> = defaults.lines().map(str::trim).collect();
        let transport = format!("transport          grpc (global {global})");
        for line in ["output             text", "timeout            300s", &transport] {
            assert!(lines.contains(&line), "{line:?} in {lines:?}");
        }
    }
}

#[test]
fn agent_file_applies_to_its_agent_alone() {
    let server = Server::start(&["--require-bearer", "t0ken"]);
    let home = Home::new();
    let (host, port) = server.address.split_once(':').unwrap();
    home.write(home.agents().join(format!("{host}_{port}.env")), "A2ACLI_BEARER=t0ken\n");
    home.write(home.config().join(".env"), &format!("A2ACLI_AGENT_CARD={}\n", server.address));
    let sent = Run::of(home.command().args(["send", "hello"]));
    assert_eq!(sent.field("State"), "COMPLETED", "{sent:?}");
    // Its endpoint is the same agent.
    let endpoint = ["-e", &server.url(), "--transport", "jsonrpc"];
    let sent = Run::of(home.command().args(["send", "hello"]).args(endpoint));
    assert_eq!(sent.field("State"), "COMPLETED", "{sent:?}");

    let other = Server::start(&["--require-bearer", "t0ken"]);
    let denied = Run::of(home.command().args(["send", "hello", "-a", &other.address]));
    assert_eq!(denied.code, 4, "{denied:?}");
    assert!(denied.stderr.contains("A2ACLI_ERR_CREDENTIALS_MISSING"), "{denied:?}");
}

#[test]
fn credential_of_the_user_for_the_agent_of_a_project_is_warned_of() {
    let home = Home::new();
    let local = home.write(home.project().join(".env"), "A2ACLI_AGENT_CARD=evil.example\n");
    let warning = |run: &Run| run.stderr.clone();
    let by_variable =
        Run::of(home.command().args(["config", "show"]).env("A2ACLI_BEARER", "t0ken"));
    let text = warning(&by_variable);
    assert!(text.starts_with("warning: A2ACLI_BEARER is not used with "), "{text}");
    assert!(text.contains(&local) && text.contains("A2ACLI_AGENT_CARD"), "{text}");

    let global = home.write(home.config().join(".env"), "A2ACLI_API_KEY=s3cret\n");
    let text = warning(&show(&home, &[]));
    assert!(text.contains(&local) && text.contains(&global), "{text}");

    // The user names the file or the agent, or the file has the credential too.
    for arguments in [["--config", "../.env"], ["-a", "b.example"]] {
        assert_eq!(warning(&show(&home, &arguments)), "", "{arguments:?}");
    }
    home.write(home.config().join(".env"), "");
    home.write(&local, "A2ACLI_AGENT_CARD=a.example\nA2ACLI_BEARER=t0ken\n");
    assert_eq!(warning(&show(&home, &[])), "");
}

#[cfg(unix)]
#[test]
fn credential_in_a_file_that_others_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let path = home.write(home.config().join(".env"), "A2ACLI_BEARER=t0ken\n");
    assert_eq!(show(&home, &[]).stderr, "");
    let readable = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&path, readable.clone()).unwrap();
    let run = show(&home, &[]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains(&format!("chmod 600 {path}")), "{run:?}");
    home.write(&path, "A2ACLI_OUTPUT=json\n");
    std::fs::set_permissions(&path, readable).unwrap();
    assert_eq!(show(&home, &[]).stderr, "");
}

#[test]
fn card_of_a_local_agent_is_cached_over_tls_and_revalidated() {
    let folder = Folder::new("root");
    folder.issue("server");
    let [certificate, key, root] =
        ["server.crt", "server.key", "root.pem"].map(|name| folder.path(name));
    let server = Server::start(&["--tls-cert", &certificate, "--tls-key", &key]);
    let home = Home::new();
    let reference = format!("https://{}", server.address);
    let get = |arguments: &[&str]| {
        let command = ["card", "get", "--debug", "-a", &reference, "--ca-cert", &root];
        let run = Run::of(home.command().args(command).args(arguments));
        assert_eq!((run.code, run.field("Name")), (0, "Demo agent"), "{run:?}");
        run.stderr
    };
    let cards = home.cache().join("cards");
    assert!(!get(&["--no-cache"]).contains("if-none-match"));
    assert!(!cards.exists());
    assert!(!get(&[]).contains("if-none-match"));
    assert_eq!(std::fs::read_dir(&cards).unwrap().count(), 1);
    assert!(get(&[]).contains("if-none-match"));
    assert!(!get(&["--no-cache"]).contains("if-none-match"));
    // A corrupt file is replaced.
    let file = std::fs::read_dir(&cards).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "{").unwrap();
    assert!(!get(&[]).contains("if-none-match"));
    assert!(get(&[]).contains("if-none-match"));
}

#[test]
fn card_over_plaintext_is_not_cached() {
    let server = Server::start(&[]);
    let home = Home::new();
    for _ in 0..2 {
        let run = Run::of(home.command().args(["card", "get", "--debug", "-a", &server.address]));
        assert_eq!((run.code, run.field("Name")), (0, "Demo agent"), "{run:?}");
        assert!(!run.stderr.contains("if-none-match"), "{run:?}");
    }
    assert!(!home.cache().join("cards").exists());
}

#[test]
fn serve_ignores_the_settings_files_of_clients() {
    let home = Home::new();
    let text = "A2ACLI_OUTPUT=json\nA2ACLI_TIMEOUT=soon\nA2ACLI_SERVE_LISTEN_PORT=1\n";
    home.write(home.working().join(".env"), text);
    home.write(home.config().join(".env"), "A2ACLI_BEARER=t0ken\n");
    let run = Run::of(home.command().args(["serve", "--print-settings"]));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("port = 8080"), "{run:?}");
    let run = Run::of(home.command().args(["serve", "--config", "x.env"]));
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--settings"), "{run:?}");
}

#[test]
fn help_escapes_what_a_settings_file_contains() {
    let home = Home::new();
    let controls = "\u{9b}2Jx\u{202e}y\rz\u{1b}]0;t\u{7}";
    let mut lines = String::new();
    for name in ["AGENT_CARD", "CONTEXT_ID", "TASK_ID", "EXTENSION"] {
        lines.push_str(&format!("A2ACLI_{name}={controls}\n"));
    }
    let folder = home.working().join("a\u{9b}2J\u{202e}");
    std::fs::create_dir(&folder).unwrap();
    home.write(folder.join(".env"), &lines);
    std::fs::create_dir(folder.join(".git")).unwrap();
    for help in [&["send", "--help"][..], &["--help"], &["task", "get", "-h"]] {
        let run = Run::of(home.command().current_dir(&folder).args(help));
        assert!(run.stdout.contains("\\x9b2Jx\\u202ey\\x0dz\\x1b]0;t\\x07"), "{run:?}");
        let is_control = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!run.stdout.contains(is_control), "{run:?}");
    }
}
