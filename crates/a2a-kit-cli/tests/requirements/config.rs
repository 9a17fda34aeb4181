//! Settings from files, and `config show`.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use crate::{
    common::Run,
    support::{Agent, Sandbox, assert_failure, over_each_binding},
};

/// Writes a settings file that only its owner can read.
fn write(sandbox: &Sandbox, name: &str, text: &str) -> String {
    let path = sandbox.write(name, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// The entry of a setting in the output of `config show -o json`.
fn setting(run: &Run, name: &str) -> Value {
    let document = run.json();
    let mut settings = document["settings"].as_array().unwrap().iter();
    settings.find(|setting| setting["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
}

const GLOBAL: &str = "config/a2a-cli/.env";

#[test]
fn config_001_settings_are_read_from_the_conventional_path_and_shown_with_their_source() {
    let sandbox = Sandbox::new();
    let text = "# Settings\nexport A2ACLI_TIMEOUT=9s\nA2ACLI_BEARER='s3cret-value'\nOTHER=1\n";
    let global = write(&sandbox, GLOBAL, text);
    let shown = sandbox.run(&["config", "show", "--transport", "grpc"]);
    assert_eq!((shown.code, &*shown.stderr), (0, ""), "{shown:?}");
    assert_eq!(shown.field("timeout"), format!("9s (source: global {global})"));
    assert_eq!(shown.field("bearer"), format!("(set) (source: global {global})"));
    assert_eq!(shown.field("transport"), "grpc (source: flag)");
    assert_eq!(shown.field("request-timeout"), "30s (source: default)");
    assert!(!shown.stdout.contains("s3cret-value"), "{shown:?}");
    let json = sandbox.run(&["config", "show", "--transport", "grpc", "-o", "json"]);
    let expected = json!({"name": "transport", "value": "grpc", "source": "flag", "path": null});
    assert_eq!(setting(&json, "transport"), expected);
    let expected = json!({"name": "timeout", "value": "9s", "source": "global", "path": global});
    assert_eq!(setting(&json, "timeout"), expected);
    assert!(!json.stdout.contains("s3cret-value"), "{json:?}");
    // The path without XDG_CONFIG_HOME.
    let home = Sandbox::new();
    write(&home, ".config/a2a-cli/.env", "A2ACLI_TIMEOUT=8s\n");
    let mut command = home.command(&["config", "show", "-o", "json"]);
    let run = home.finish(command.env_remove("XDG_CONFIG_HOME"));
    assert_eq!(setting(&run, "timeout")["value"], "8s", "{run:?}");
}

#[test]
fn config_001_a_credential_that_others_can_read_is_warned_of() {
    let sandbox = Sandbox::new();
    let global = write(&sandbox, GLOBAL, "A2ACLI_BEARER=s3cret-value\n");
    assert_eq!(sandbox.run(&["config", "show"]).stderr, "");
    fs::set_permissions(&global, fs::Permissions::from_mode(0o644)).unwrap();
    let run = sandbox.run(&["config", "show"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.starts_with("warning: ") && run.stderr.contains(&global), "{run:?}");
    assert!(!run.stderr.contains("s3cret-value"), "{run:?}");
}

#[test]
fn config_001_no_command_writes_settings_or_interactions() {
    let agent = Agent::demo();
    let global = write(&agent.sandbox, GLOBAL, "A2ACLI_POLL_INTERVAL=200ms\n");
    let before = fs::read(&global).unwrap();
    over_each_binding(|binding| {
        let (id, _) = agent.start_task(binding, "slow 20");
        agent.over(binding, &["task", "cancel", &id]);
        agent.over(binding, &["send", "ask"]);
    });
    agent.run(&["config", "show"]);
    assert_eq!(fs::read(&global).unwrap(), before);
    assert_eq!(agent.sandbox.files("config"), ["a2a-cli/.env"]);
    for folder in ["data", "state"] {
        assert_eq!(agent.sandbox.files(folder), [""; 0], "{folder}");
    }
}

#[test]
fn config_002_flag_variable_local_agent_and_global_file_have_precedence_in_this_order() {
    let sandbox = Sandbox::new();
    let reference = "https://agents.example:8443/card.json";
    let global = write(&sandbox, GLOBAL, "A2ACLI_TIMEOUT=5s\n");
    let agent = "config/a2a-cli/agents/agents.example_8443.env";
    let flags = ["config", "show", "-o", "json", "-a", reference];
    let timeout = |more: &[&str], variables: &[(&str, &str)]| {
        let run = sandbox.run_with(&[&flags[..], more].concat(), variables);
        let setting = setting(&run, "timeout");
        let part = |name: &str| setting[name].as_str().unwrap_or_default().to_owned();
        (part("value"), part("source"), part("path"))
    };
    let of = |value: &str, source: &str, path: &str| {
        (value.to_owned(), source.to_owned(), path.to_owned())
    };
    assert_eq!(timeout(&[], &[]), of("5s", "global", &global));
    let agent = write(&sandbox, agent, "A2ACLI_TIMEOUT=4s\n");
    assert_eq!(timeout(&[], &[]), of("4s", "agent", &agent));
    let local = write(&sandbox, ".env", "A2ACLI_TIMEOUT=3s\n");
    assert_eq!(timeout(&[], &[]), of("3s", "local", &local));
    assert_eq!(timeout(&[], &[("A2ACLI_TIMEOUT", "2s")]), of("2s", "env", ""));
    let by_flag = timeout(&["--timeout", "1s"], &[("A2ACLI_TIMEOUT", "2s")]);
    assert_eq!(by_flag, of("1s", "flag", ""));
    // The file of another agent does not apply.
    fs::remove_file(&local).unwrap();
    let other = ["config", "show", "-o", "json", "-a", "other.example"];
    assert_eq!(setting(&sandbox.run(&other), "timeout")["value"], "5s");
    fs::remove_file(&global).unwrap();
    let none = setting(&sandbox.run(&other), "timeout");
    assert_eq!(none["source"], "default", "{none}");
}

#[test]
fn config_002_the_local_file_is_the_nearest_one_or_that_of_the_flag() {
    let sandbox = Sandbox::new();
    write(&sandbox, "above/.env", "A2ACLI_TASK_ID=nearest\n");
    let other = write(&sandbox, "other.env", "A2ACLI_TASK_ID=other\n");
    sandbox.write("above/below/deep/file", "");
    let show = |more: &[&str]| {
        let mut command = sandbox.command(&["config", "show", "-o", "json"]);
        command.args(more).current_dir(sandbox.home().join("above/below/deep"));
        sandbox.finish(&mut command)
    };
    assert_eq!(setting(&show(&[]), "task-id")["value"], "nearest");
    let named = setting(&show(&["--config", &other]), "task-id");
    assert_eq!((&named["value"], &named["source"]), (&json!("other"), &json!("local")));
    let missing = show(&["--config", "none.env"]);
    assert_failure(&missing, "A2ACLI_ERR_USAGE", 2);
    for (text, named) in
        [("A2ACLI_COMPACT=maybe\n", "A2ACLI_COMPACT"), ("A2ACLI_TIMEOUT=soon\n", "A2ACLI_TIMEOUT")]
    {
        write(&sandbox, "other.env", text);
        let run = show(&["--config", &other]);
        assert_failure(&run, "A2ACLI_ERR_USAGE", 2);
        assert!(run.stdout.contains(named), "{run:?}");
    }
}

#[test]
fn config_002_settings_of_files_apply_to_each_binding_and_conflicting_sources_are_warned_of() {
    let agent = Agent::start(&["--require-bearer", "s3cret-value"]);
    let (host, port) = agent.reference.split_once(':').unwrap();
    let file = format!("config/a2a-cli/agents/{host}_{port}.env");
    write(&agent.sandbox, &file, "A2ACLI_BEARER=s3cret-value\n");
    over_each_binding(|binding| {
        let run = agent.over(binding, &["send", "echo hello"]);
        assert_eq!(run.field("State"), "COMPLETED", "{binding}: {run:?}");
    });
    let sandbox = Sandbox::new();
    let local = write(&sandbox, ".env", "A2ACLI_AGENT_CARD=elsewhere.example\n");
    let run = sandbox.run_with(&["config", "show"], &[("A2ACLI_BEARER", "s3cret-value")]);
    assert!(run.stderr.contains("warning: "), "{run:?}");
    assert!(run.stderr.contains(&local) && run.stderr.contains("A2ACLI_BEARER"), "{run:?}");
}
