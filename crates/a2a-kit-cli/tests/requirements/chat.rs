//! `a2a chat`.

use crate::{
    common::Run,
    support::{Agent, over_each_binding},
};

/// Sends lines to a chat whose standard input is a pipe.
fn chat(agent: &Agent, binding: &str, lines: &str) -> Run {
    let mut command = agent.command(&["chat", "--transport", binding]);
    agent.sandbox.finish_with_stdin(&mut command, lines)
}

/// The values of all lines with a label.
fn values(run: &Run, label: &str) -> Vec<String> {
    let start = format!("{label}: ");
    run.stdout.lines().filter_map(|line| line.strip_prefix(&start)).map(str::to_owned).collect()
}

#[test]
fn chat_001_the_context_is_kept_and_an_interrupted_task_is_continued() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let run = chat(&agent, binding, "ask\nAda\necho again\n/new\necho new\n/quit\n");
        assert_eq!(run.code, 0, "{binding}: {run:?}");
        assert!(run.stdout.contains("\nYou said: Ada\n"), "{binding}: {run:?}");
        let states = values(&run, "State");
        assert!(states.contains(&"INPUT_REQUIRED".to_owned()), "{binding}: {run:?}");
        let mut tasks = values(&run, "Task ID");
        tasks.dedup();
        assert_eq!(tasks.len(), 3, "{binding}: the reply continues the task: {run:?}");
        let mut contexts = values(&run, "Context ID");
        contexts.dedup();
        assert_eq!(contexts.len(), 2, "{binding}: /new begins a context: {run:?}");
        let task = agent.json_over(binding, &["task", "get", &tasks[0], "--history", "9"]).json();
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{binding}: {task}");
        let ended = agent.json_over(binding, &["task", "get", &tasks[1]]).json();
        assert_eq!(ended["contextId"], task["contextId"], "{binding}");
    });
}

#[test]
fn out_005_a_chat_without_a_terminal_prints_plain_text() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let run = chat(&agent, binding, "echo hello\nhtml\n");
        assert_eq!(run.code, 0, "{binding}: {run:?}");
        assert!(run.stdout.contains("\nText:\nhello\n\n"), "{binding}: {run:?}");
        let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!run.stdout.contains(is_control), "{binding}: {run:?}");
        assert!(!run.stderr.contains(is_control), "{binding}: {run:?}");
    });
}
