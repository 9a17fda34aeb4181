//! Help, version and completion.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
};

use crate::support::{Agent, Sandbox, over_each_binding};

#[test]
fn cli_001_help_ends_with_the_effective_defaults_and_version_is_printed() {
    let sandbox = Sandbox::new();
    let help = sandbox.run(&["--help"]);
    assert_eq!((help.code, &*help.stderr), (0, ""));
    for (arguments, expected) in [(&["-h"][..], &*help.stdout), (&["help"], &*help.stdout)] {
        assert_eq!(sandbox.run(arguments).stdout, expected, "{arguments:?}");
    }
    for command in ["card", "send", "task", "serve", "auth", "completion", "help"] {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{command}: {}", help.stdout);
    }
    let of_command = sandbox.run(&["help", "task", "get"]);
    assert_eq!(of_command.stdout, sandbox.run(&["task", "get", "--help"]).stdout);
    assert!(of_command.stdout.contains("--history"), "{of_command:?}");
    for (label, value) in [
        ("agent-card", "none"),
        ("transport", "order of the card"),
        ("output", "text"),
        ("poll-interval", "2s"),
        ("timeout", "300s"),
        ("request-timeout", "30s"),
    ] {
        assert_eq!(default(&help.stdout, label), value);
        assert_eq!(default(&of_command.stdout, label), value);
    }
    let variables = [
        ("A2ACLI_AGENT_CARD", "agents.example"),
        ("A2ACLI_TRANSPORT", "grpc"),
        ("A2ACLI_OUTPUT", "json"),
        ("A2ACLI_POLL_INTERVAL", "7s"),
        ("A2ACLI_TIMEOUT", "0"),
    ];
    let configured = sandbox.run_with(&["send", "--help"], &variables).stdout;
    for (label, value) in [
        ("agent-card", "agents.example (env)"),
        ("transport", "grpc (env)"),
        ("output", "json (env)"),
        ("poll-interval", "7s (env)"),
        ("timeout", "0s (env)"),
    ] {
        assert_eq!(default(&configured, label), value);
    }
    let version = format!("a2a {}\n", env!("CARGO_PKG_VERSION"));
    for flag in ["--version", "-v"] {
        let run = sandbox.run(&[flag]);
        assert_eq!((run.code, &run.stdout), (0, &version), "{flag}");
    }
}

/// The value of an effective default at the end of a help text.
fn default<'a>(help: &'a str, label: &str) -> &'a str {
    let (_, defaults) = help.split_once("Effective defaults:\n").unwrap();
    let line = |line: &&'a str| line.split_whitespace().next() == Some(label);
    let line = defaults.lines().find(line).unwrap_or_else(|| panic!("{label}: {help}"));
    line.trim_start().strip_prefix(label).unwrap().trim()
}

#[test]
fn cli_002_each_shell_has_a_completion_script_without_a_network() {
    let sandbox = Sandbox::new();
    for (shell, mark) in [
        ("bash", "complete "),
        ("zsh", "#compdef a2a"),
        ("fish", "complete -c a2a"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[a2a]"),
    ] {
        // An agent that can't be reached does not matter.
        let run = sandbox.run_with(&["completion", shell], &[("A2ACLI_AGENT_CARD", "127.0.0.1:1")]);
        assert_eq!((run.code, &*run.stderr), (0, ""), "{shell}: {run:?}");
        for expected in [mark, "subscribe", "poll-interval"] {
            assert!(run.stdout.contains(expected), "{shell}: {expected}");
        }
    }
    let unknown = sandbox.run(&["completion", "tcsh"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

#[test]
fn demo_server_001_the_demo_agent_runs_and_answers() {
    let server = DemoServer::start();
    let agent = Agent::at(&server.address);
    over_each_binding(|binding| {
        let answer = agent.over(binding, &["send", "echo hello"]);
        assert_eq!(answer.field("State"), "COMPLETED", "{binding}: {answer:?}");
        let streamed = agent.over(binding, &["send", "stream 3", "--stream"]);
        assert!(streamed.stdout.contains("chunk 3 of 3"), "{binding}: {streamed:?}");
        let asked = agent.over(binding, &["send", "ask"]);
        assert_eq!(asked.field("State"), "INPUT_REQUIRED", "{binding}: {asked:?}");
    });
}

/// A running `a2a demo-server`, killed on drop.
struct DemoServer {
    child: Child,
    address: String,
}

impl DemoServer {
    fn start() -> Self {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(&["demo-server", "--port", "0", "--store", "memory"]);
        let child = command.arg("--quiet").stdout(Stdio::piped()).spawn().unwrap();
        let mut server = Self { child, address: String::new() };
        let stdout = server.child.stdout.as_mut().unwrap();
        let lines = BufReader::new(stdout).lines().map(Result::unwrap);
        // All lines of the start are read, as the pipe is closed afterwards.
        let lines: Vec<_> = lines.take_while(|line| !line.starts_with("Try: ")).collect();
        let address = lines[0].strip_prefix("Listening: http://").unwrap();
        server.address = address.to_owned();
        server
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
