//! What the commands print on a terminal, and that programs get the same as ever.
#![cfg(unix)]

use crate::common::{
    Run, Server, command,
    terminal::{Streams, Terminal},
};

/// A completed task of the server, whose output is always the same.
fn completed(server: &Server) -> String {
    let sent = server.json(&["send", "data"]);
    sent["task"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn json_is_the_same_on_a_terminal_and_in_a_pipe() {
    let server = Server::start(&[]);
    let id = completed(&server);
    for arguments in [
        &["task", "get", &id, "-o", "json"][..],
        &["task", "get", &id, "-o", "json", "--compact", "--render"],
        &["task", "subscribe", &id, "-o", "json", "--stream"],
        &["task", "list", "-o", "json"],
        &["card", "get", "-o", "json"],
        &["task", "get", "nope", "-o", "json"],
    ] {
        let piped = server.run(arguments);
        let shown = Terminal::start_with(server.client(arguments), Streams::STDOUT).end();
        assert_eq!(shown.text(), piped.stdout, "{arguments:?}");
        assert_eq!(shown.code, piped.code, "{arguments:?}");
    }
}

#[test]
fn json_on_a_terminal_has_no_progress_line() {
    let server = Server::start(&[]);
    let arguments = ["send", "slow 1", "-o", "json"];
    let shown = Terminal::start(server.client(&arguments)).end();
    assert!(!shown.bytes.contains('\u{1b}'), "{}", shown.bytes);
    let (_, json) = shown.bytes.split_once("\r\n").unwrap();
    let document: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(document["task"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[test]
fn text_is_aligned_and_times_are_relative_on_a_terminal() {
    let server = Server::start(&[]);
    let id = completed(&server);
    let arguments = ["task", "get", &id, "--verbose"];
    let piped = server.run(&arguments).stdout;
    let mut client = server.client(&arguments);
    client.env("NO_COLOR", "1");
    let shown = Terminal::start_with(client, Streams::STDOUT).end().text();
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let timestamp =
        |text: &str| text.lines().find(|line| line.starts_with("Timestamp:")).unwrap().to_owned();
    assert!(timestamp(&shown).ends_with(" ago)") || timestamp(&shown).ends_with(" now)"));
    assert!(!timestamp(&piped).contains('('));
    // Apart from that, only the number of spaces behind labels differs.
    let squeezed = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("Timestamp:"));
        let words = |line: &str| match line.split_once(": ") {
            Some((label, value)) => format!("{label}: {}", value.trim_start()),
            None => line.to_owned(),
        };
        lines.map(words).collect::<Vec<_>>()
    };
    assert_eq!(squeezed(&shown), squeezed(&piped));
    let columns: Vec<_> = ["Task ID:     ", "Context ID:  ", "State:       COMPLETED"]
        .into_iter()
        .filter(|start| shown.lines().any(|line| line.starts_with(start)))
        .collect();
    assert_eq!(columns.len(), 3, "{shown}");
}

#[test]
fn colors_follow_the_terminal_and_the_usual_variables() {
    let server = Server::start(&[]);
    let id = completed(&server);
    for (streams, variable, colored) in [
        (Streams::STDOUT, None, true),
        (Streams::STDOUT, Some(("NO_COLOR", "1")), false),
        (Streams::STDOUT, Some(("CLICOLOR", "0")), false),
        (Streams::STDERR, None, false),
        (Streams::STDERR, Some(("CLICOLOR_FORCE", "1")), true),
    ] {
        let mut client = server.client(&["task", "get", &id]);
        client.envs(variable);
        let ended = Terminal::start_with(client, streams).end();
        let stdout = if streams.stdout { &ended.bytes } else { &ended.pipes[0] };
        let has_color = stdout.contains("\u{1b}[32mCOMPLETED\u{1b}[0m");
        assert_eq!(has_color, colored, "{streams:?} {variable:?}: {stdout:?}");
        assert_eq!(stdout.contains('\u{1b}'), colored, "{streams:?} {variable:?}: {stdout:?}");
    }
}

#[test]
fn notes_warnings_and_errors_have_colors_on_a_terminal() {
    let server = Server::start(&[]);
    let shown = Terminal::start_with(server.client(&["send", "fail"]), Streams::STDERR).end();
    assert!(shown.bytes.contains("\u{1b}[33mwarning:\u{1b}[0m task "), "{}", shown.bytes);
    assert!(shown.bytes.contains("\u{1b}[2mnote: task "), "{}", shown.bytes);
    let failed = Terminal::start_with(server.client(&["task", "get", "nope"]), Streams::STDERR);
    let failed = failed.end();
    assert_eq!(failed.code, 1);
    assert!(failed.screen.starts_with("Error: TaskNotFoundError\nMessage: "), "{failed:?}");
}

#[test]
fn progress_line_shows_the_state_and_disappears() {
    let server = Server::start(&[]);
    let terminal = Terminal::start(server.client(&["send", "slow 2"]));
    terminal.wait_for(" WORKING 1s");
    let ended = terminal.end();
    assert_eq!(ended.code, 0);
    assert!(!ended.screen.contains("WORKING"), "{}", ended.screen);
    assert!(ended.screen.contains("State:       COMPLETED\n"), "{}", ended.screen);
    assert!(ended.screen.contains("Worked for 2 seconds"), "{}", ended.screen);
    // Piped to another program, the result has no trace of the line.
    let piped = Terminal::start_with(server.client(&["send", "slow 2"]), Streams::STDERR);
    piped.wait_for(" WORKING 1s");
    let piped = piped.end();
    assert!(piped.pipes[0].starts_with("Task ID: "), "{piped:?}");
    assert!(!piped.pipes[0].contains('\u{1b}'), "{piped:?}");
}

#[test]
fn dumb_terminal_has_no_control_sequences() {
    let server = Server::start(&[]);
    for is_ci in [false, true] {
        let mut client = server.client(&["send", "slow 1"]);
        client.env("TERM", "dumb");
        client.envs(is_ci.then_some(("CI", "true")));
        let ended = Terminal::start(client).end();
        assert!(!ended.bytes.contains('\u{1b}'), "CI {is_ci}: {}", ended.bytes);
    }
}

#[test]
fn markdown_is_rendered_on_a_terminal_only() {
    let server = Server::start(&[]);
    let markdown = "echo # Title\n\n- **one**\n- `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\
                    [link](https://a.example/) &#27;[31m \u{1b}[2J";
    let arguments = ["send", markdown, "--render"];
    let piped = server.run(&arguments);
    assert!(piped.stdout.contains("\n- **one**\n- `two`\n"), "{}", piped.stdout);
    let shown = Terminal::start_with(server.client(&arguments), Streams::STDOUT).end();
    for line in ["Title", "• one", "• two", "a │ b", "1 │ 2", "link (https://a.example/)"] {
        assert!(shown.screen.lines().any(|shown| shown.starts_with(line)), "{line}: {shown:?}");
    }
    assert!(shown.bytes.contains("\u{1b}[1mone\u{1b}[0m"), "{}", shown.bytes);
    // What the agent sends is never a control sequence.
    assert!(shown.screen.contains("\\x1b[31m \\x1b[2J"), "{}", shown.screen);
    assert!(!shown.bytes.contains("\u{1b}[2J"), "{}", shown.bytes);
    let unrendered = Terminal::start_with(server.client(&["send", markdown]), Streams::STDOUT);
    assert!(unrendered.end().screen.contains("- **one**"));
}

#[test]
fn help_is_the_same_in_a_pipe() {
    let piped = Run::of(command().arg("--help"));
    assert!(!piped.stdout.contains('\u{1b}'));
    let mut help = command();
    help.arg("--help");
    let shown = Terminal::start_with(help, Streams::STDOUT).end();
    assert_eq!(shown.text(), piped.stdout);
}
