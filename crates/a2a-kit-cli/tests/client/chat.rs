//! `a2a chat`, typed into a real pseudo-terminal and piped.
#![cfg(unix)]

use std::process::Command;

use crate::common::{
    Run, Server,
    terminal::{Streams, Terminal},
};

/// A chat with a home directory of its own.
fn chat(server: &Server, arguments: &[&str]) -> (Command, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut command = server.client(&["chat"]);
    command.args(arguments).env("HOME", home.path()).env("XDG_CONFIG_HOME", home.path());
    (command, home)
}

fn start(server: &Server) -> (Terminal, tempfile::TempDir) {
    let (command, home) = chat(server, &[]);
    let terminal = Terminal::start(command);
    terminal.wait_for("Ctrl-D leaves.");
    wait_for_prompt(&terminal, "> ", 1);
    (terminal, home)
}

/// Waits until the last line is this prompt, and there were at least so many lines with it.
fn wait_for_prompt(terminal: &Terminal, prompt: &str, count: usize) -> String {
    let prompt = prompt.trim_end();
    terminal.wait_until(&format!("prompt {prompt:?} number {count}"), |screen| {
        let lines: Vec<_> = screen.lines().filter(|line| line.starts_with(prompt)).collect();
        let last = screen.trim_end().lines().last().unwrap_or_default();
        lines.len() >= count && last.trim_end() == prompt
    })
}

fn field(screen: &str, label: &str) -> Vec<String> {
    let start = format!("{label}:");
    let values = screen.lines().filter_map(|line| line.strip_prefix(&start));
    values.map(|value| value.trim().to_owned()).collect()
}

#[test]
fn reply_continues_the_task_and_new_starts_another_context() {
    let server = Server::start(&[]);
    let (terminal, _home) = start(&server);
    terminal.line("ask");
    let screen = wait_for_prompt(&terminal, "reply> ", 1);
    assert!(screen.contains("What is your name?"), "{screen}");
    assert_eq!(field(&screen, "State"), ["INPUT_REQUIRED"], "{screen}");
    let task = field(&screen, "Task ID")[0].clone();
    let context = field(&screen, "Context ID")[0].clone();
    terminal.line("Ada");
    let screen = wait_for_prompt(&terminal, "> ", 2);
    assert!(screen.contains("You said: Ada"), "{screen}");
    assert_eq!(field(&screen, "State"), ["INPUT_REQUIRED", "COMPLETED"], "{screen}");
    let finished = server.json(&["task", "get", &task]);
    assert_eq!(finished["status"]["state"], "TASK_STATE_COMPLETED");

    // The context is kept, and the task is another one.
    terminal.line("ask");
    let screen = wait_for_prompt(&terminal, "reply> ", 2);
    assert_eq!(field(&screen, "Context ID"), [context.clone(), context.clone()], "{screen}");
    assert_ne!(field(&screen, "Task ID")[1], task, "{screen}");
    terminal.line("/new");
    wait_for_prompt(&terminal, "> ", 3);
    terminal.line("ask");
    let screen = wait_for_prompt(&terminal, "reply> ", 3);
    assert_ne!(field(&screen, "Context ID")[2], context, "{screen}");

    terminal.enter("\u{4}");
    let ended = terminal.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    let resume = ended.screen.lines().last().unwrap();
    let task = field(&ended.screen, "Task ID").pop().unwrap();
    assert!(resume.contains(&format!("a2a chat -a {}", server.address)), "{resume}");
    assert!(resume.ends_with(&format!(" --task-id {task}")), "{resume}");
}

#[test]
fn attached_file_is_sent_with_the_next_message() {
    let server = Server::start(&[]);
    let (terminal, home) = start(&server);
    std::fs::write(home.path().join("a note.txt"), "twelve bytes").unwrap();
    terminal.line("/attach ~/missing.txt");
    terminal.wait_for("failed to read ");
    terminal.line("/attach ~/a note.txt");
    terminal.wait_for("File: a note.txt (text/plain, 12 bytes)");
    terminal.line("look");
    // The demo agent gives back the parts of a message that it does not know.
    let screen = wait_for_prompt(&terminal, "> ", 4);
    assert_eq!(field(&screen, "File").len(), 2, "{screen}");
    terminal.line("again");
    let screen = wait_for_prompt(&terminal, "> ", 5);
    assert_eq!(field(&screen, "File").len(), 2, "{screen}");
    terminal.line("/quit");
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn interrupt_cancels_the_task_and_the_chat_goes_on() {
    let server = Server::start(&[]);
    let (terminal, _home) = start(&server);
    terminal.line("slow 600");
    terminal.wait_for("1 of 600 seconds");
    terminal.enter("\u{3}");
    let screen = wait_for_prompt(&terminal, "> ", 2);
    assert!(screen.contains("note: canceling task "), "{screen}");
    assert_eq!(field(&screen, "State"), ["CANCELED"], "{screen}");
    assert!(!screen.contains("^C"), "{screen}");
    terminal.line("echo still here");
    terminal.wait_until("answer", |screen| screen.lines().any(|line| line == "still here"));
    wait_for_prompt(&terminal, "> ", 3);
    // At the prompt, one Ctrl-C discards the line, and a second one leaves.
    terminal.enter("unsent\u{3}");
    terminal.wait_for("press Ctrl-C again");
    wait_for_prompt(&terminal, "> ", 4);
    terminal.enter("\u{3}");
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn signal_restores_the_terminal_and_names_the_ids() {
    let server = Server::start(&[]);
    let (terminal, _home) = start(&server);
    terminal.line("ask");
    wait_for_prompt(&terminal, "reply> ", 1);
    let id = rustix::process::Pid::from_raw(terminal.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let ended = terminal.end();
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(ended.screen.contains("Resume with: a2a chat "), "{}", ended.screen);
    assert!(ended.bytes.trim_end().ends_with("interrupted"), "{}", ended.bytes);
}

#[test]
fn message_of_several_lines_is_typed_pasted_and_recalled() {
    let server = Server::start(&[]);
    let (terminal, _home) = start(&server);
    terminal.enter("echo one\ntwo");
    terminal.wait_until("two lines", |screen| screen.lines().any(|line| line == "two"));
    terminal.enter("\r");
    terminal.wait_until("echo", |screen| screen.contains("Artifact: echo\none\ntwo\n"));
    wait_for_prompt(&terminal, "> ", 2);
    terminal.enter("\u{1b}[200~echo three\nfour\u{1b}[201~\r");
    terminal.wait_until("echo", |screen| screen.contains("Artifact: echo\nthree\nfour\n"));
    let screen = wait_for_prompt(&terminal, "> ", 3);
    assert_eq!(field(&screen, "State").len(), 2, "{screen}");
    // The second message from the end.
    terminal.enter("\u{1b}[A\u{1b}[A\u{1b}[A\r");
    terminal.wait_until("echo", |screen| screen.matches("Artifact: echo\none\ntwo\n").count() == 2);
    wait_for_prompt(&terminal, "> ", 4);
    terminal.enter("\u{4}");
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn window_is_resized_while_a_line_is_typed() {
    let server = Server::start(&[]);
    let (terminal, _home) = start(&server);
    terminal.resize(60, 30);
    terminal.enter(&format!("echo {}", "x".repeat(40)));
    // The prompt and the line take 47 columns: two rows of 30.
    terminal.wait_until("two rows", |screen| {
        screen.contains(&format!("> echo {}\n{}", "x".repeat(23), "x".repeat(17)))
            || screen.contains(&format!("> echo {}", "x".repeat(40)))
    });
    terminal.enter("\r");
    terminal.wait_for("COMPLETED");
    terminal.enter("\u{4}");
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn commands_show_the_task_the_card_and_raw_events() {
    let server = Server::start(&[]);
    let (terminal, _home) = start(&server);
    terminal.line("/task");
    terminal.wait_for("no task in this conversation yet");
    terminal.line("/nonsense");
    terminal.wait_for("unknown command \"/nonsense\"");
    terminal.line("/help");
    terminal.wait_for("/attach <path or URL>");
    terminal.line("ask");
    let screen = wait_for_prompt(&terminal, "reply> ", 1);
    let task = field(&screen, "Task ID")[0].clone();
    terminal.line("/task");
    let screen = wait_for_prompt(&terminal, "reply> ", 2);
    assert_eq!(field(&screen, "Task ID"), [task.clone(), task.clone()], "{screen}");
    terminal.line("/cancel");
    let screen = wait_for_prompt(&terminal, "> ", 5);
    assert_eq!(field(&screen, "State").pop().unwrap(), "CANCELED", "{screen}");
    terminal.line("/raw");
    terminal.wait_for("showing events as JSON");
    terminal.line("message");
    terminal.wait_for("{\"message\":{");
    terminal.line("/card");
    terminal.wait_for("Name:");
    terminal.enter("\u{4}");
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn lost_stream_is_resumed_without_repeating_text() {
    let server = Server::start(&[]);
    let (terminal, _home) = start(&server);
    terminal.line("drop 6");
    let screen = wait_for_prompt(&terminal, "> ", 2);
    for number in 1..=6 {
        let chunk = format!("chunk {number} of 6");
        assert_eq!(screen.matches(&chunk).count(), 1, "{chunk}: {screen}");
    }
    assert_eq!(field(&screen, "State"), ["COMPLETED"], "{screen}");
    terminal.line("/quit");
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn agent_that_does_not_stream_is_polled() {
    let server = Server::start(&["--no-streaming"]);
    let (terminal, _home) = start(&server);
    terminal.line("slow 1");
    let screen = wait_for_prompt(&terminal, "> ", 2);
    assert!(screen.contains("Worked for 1 seconds"), "{screen}");
    assert_eq!(field(&screen, "State"), ["COMPLETED"], "{screen}");
}

#[test]
fn control_characters_of_an_agent_are_escaped() {
    let server = Server::start(&[]);
    let (terminal, _home) = start(&server);
    terminal.line("html");
    let screen = wait_for_prompt(&terminal, "> ", 2);
    assert!(screen.contains("\\x1b[31mred\\x1b[0m"), "{screen}");
}

#[test]
fn piped_lines_are_answered_in_text() {
    let server = Server::start(&[]);
    let (mut command, _home) = chat(&server, &[]);
    let run = Run::with_stdin(&mut command, "ask\nAda\n\necho bye\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stdout.contains('\u{1b}') && !run.stdout.contains("> "), "{run:?}");
    let states = field(&run.stdout, "State");
    assert_eq!(states, ["INPUT_REQUIRED", "COMPLETED", "COMPLETED", "COMPLETED"], "{run:?}");
    let tasks = field(&run.stdout, "Task ID");
    assert_eq!(tasks[0], tasks[1], "{run:?}");
    assert_ne!(tasks[1], tasks[2], "{run:?}");
    let mut contexts = field(&run.stdout, "Context ID");
    contexts.dedup();
    assert_eq!(contexts.len(), 1, "{run:?}");
    let resume = run.stdout.lines().last().unwrap();
    assert_eq!(
        resume,
        format!("Resume with: a2a chat -a {} --context-id {}", server.address, contexts[0])
    );

    // What is printed at the end continues the conversation.
    let (mut command, _home) = chat(&server, &["--context-id", &contexts[0]]);
    let resumed = Run::with_stdin(&mut command, "echo again");
    assert_eq!(field(&resumed.stdout, "Context ID")[0], contexts[0], "{resumed:?}");
}

#[test]
fn piped_json_is_one_document_per_line() {
    let server = Server::start(&[]);
    let (mut command, _home) = chat(&server, &["-o", "json", "--stream"]);
    let run = Run::with_stdin(&mut command, "ask\nAda\n/task\n");
    assert_eq!(run.code, 0, "{run:?}");
    let lines = run.lines();
    assert!(lines[0]["task"].is_object(), "{run:?}");
    let last = lines.last().unwrap();
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED", "{run:?}");
    let (mut command, _home) = chat(&server, &["-o", "json"]);
    let without = Run::with_stdin(&mut command, "ask\n");
    assert_eq!(without.code, 2, "{without:?}");
    assert_eq!(without.lines()[0]["error"]["code"], "A2ACLI_ERR_USAGE");
}

#[test]
fn first_failure_ends_a_piped_conversation() {
    let server = Server::start(&[]);
    let (mut command, _home) = chat(&server, &["--task-id", "nope"]);
    let run = Run::with_stdin(&mut command, "hello\nhello again\n");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("Error: TaskNotFoundError\n"), "{run:?}");
    let (mut command, _home) = chat(&server, &[]);
    let unknown = Run::with_stdin(&mut command, "/nonsense\n");
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

#[test]
fn terminal_input_without_terminal_output_is_a_usage_error() {
    let server = Server::start(&[]);
    let stdin = Streams { stdin: true, stdout: false, stderr: false };
    for (arguments, streams) in [(&[][..], stdin), (&["-o", "json", "--stream"], Streams::ALL)] {
        let (command, _home) = chat(&server, arguments);
        let ended = Terminal::start_with(command, streams).end();
        assert_eq!(ended.code, 2, "{ended:?}");
        let said = format!("{}{}", ended.bytes, ended.pipes.concat());
        assert!(said.contains("A2ACLI_ERR_USAGE"), "{ended:?}");
    }
}
