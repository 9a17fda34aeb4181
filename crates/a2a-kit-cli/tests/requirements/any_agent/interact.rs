//! Conversations.

use crate::{
    common::Run,
    support::{Agent, assert_failure, failure, over_each_binding},
};

#[test]
fn interact_001_a_context_is_continued_by_a_new_task() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let first = agent.over(binding, &["send", "echo 1"]);
        let context = first.field("Context ID");
        let second = agent.over(binding, &["send", "echo 2", "--context-id", context]);
        assert_eq!(second.field("Context ID"), context, "{binding}");
        assert_ne!(second.field("Task ID"), first.field("Task ID"), "{binding}");
        let by_variable = [("A2ACLI_CONTEXT_ID", context), ("A2ACLI_TRANSPORT", binding)];
        let third = agent.run_with(&["send", "echo 3"], &by_variable);
        assert_eq!(third.field("Context ID"), context, "{binding}");
    });
}

#[test]
fn interact_002_a_task_is_continued_by_its_id_alone() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        for with_context in [false, true] {
            let asked = agent.over(binding, &["send", "ask"]);
            let (task, context) = (asked.field("Task ID"), asked.field("Context ID"));
            let mut reply = vec!["send", "Ada", "--task-id", task];
            if with_context {
                reply.extend(["--context-id", context]);
            }
            let answered = agent.over(binding, &reply);
            assert_eq!(answered.field("State"), "COMPLETED", "{binding}: {answered:?}");
            assert_eq!(answered.field("Task ID"), task, "{binding}");
            assert_eq!(answered.field("Context ID"), context, "{binding}");
        }
    });
}

#[test]
fn interact_002_a_refused_task_id_is_an_error_and_no_new_task() {
    let agent = Agent::under_test();
    let first = agent.json(&["send", "echo 1"]);
    let context = first["task"]["contextId"].as_str().unwrap();
    over_each_binding(|binding| {
        for more in [&[][..], &["--stream"], &["--async"]] {
            let reply = ["send", "echo 2", "--task-id", "no-such-task", "--context-id", context];
            let run = agent.json_over(binding, &[&reply[..], more].concat());
            assert_failure(&run, "TaskNotFoundError", 1);
            let error = failure(&run);
            assert!(error["hint"].as_str().unwrap().contains("--debug"), "{binding}: {error}");
            assert_eq!(error["a2aCode"], -32001, "{binding}: {error}");
        }
        let list = agent.json_over(binding, &["task", "list", "--context-id", context]).json();
        assert_eq!(list["tasks"].as_array().unwrap().len(), 1, "{binding}: {list}");
    });
}

/// The three lines that every task command prints.
fn assert_ids(run: &Run, task: &str, context: &str, state: &str) {
    let lines = format!("Task ID: {task}\nContext ID: {context}\nState: {state}\n");
    assert!(run.stdout.contains(&lines), "{lines}: {run:?}");
}

#[test]
fn interact_004_ids_and_state_are_printed_at_the_end_and_at_a_pause_with_a_resume_command() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let (id, context) = agent.start_task(binding, "ask");
        let asked = agent.over(binding, &["task", "get", &id, "--wait"]);
        assert_ids(&asked, &id, &context, "INPUT_REQUIRED");
        let resume = format!("a2a send -a {} --task-id {id} \"<reply>\"", agent.reference);
        assert_eq!(asked.field("Resume with"), resume, "{binding}");
        for arguments in [&["send", "ask"][..], &["send", "ask", "--stream"]] {
            let run = agent.over(binding, arguments);
            let (id, context) = (run.field("Task ID"), run.field("Context ID"));
            assert_ids(&run, id, context, "INPUT_REQUIRED");
            let resume = run.field("Resume with");
            // The printed command works.
            let words: Vec<_> = resume
                .split(' ')
                .map(|word| if word == "\"<reply>\"" { "Ada" } else { word })
                .collect();
            assert_eq!(words[0], "a2a", "{binding}: {resume}");
            let resumed = agent.sandbox.run(&words[1..]);
            assert_ids(&resumed, id, context, "COMPLETED");
        }
        let streamed = agent.over(binding, &["send", "stream 2", "--stream"]);
        let (id, context) = (streamed.field("Task ID"), streamed.field("Context ID"));
        let end = format!("Task ID: {id}\nContext ID: {context}\nState: COMPLETED\n");
        assert!(streamed.stdout.ends_with(&end), "{binding}: {streamed:?}");
    });
}
