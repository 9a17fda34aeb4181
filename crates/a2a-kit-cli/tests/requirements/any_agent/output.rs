//! Output formats and exit status.

use crate::support::{Agent, over_each_binding};

#[test]
fn out_001_ids_and_state_are_on_stdout_in_each_mode_and_nothing_else_is() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let text = agent.over(binding, &["send", "echo hello"]);
        let (task, context) = (text.field("Task ID"), text.field("Context ID"));
        let ids = format!("Task ID: {task}\nContext ID: {context}\nState: COMPLETED\n");
        assert!(text.stdout.starts_with(&ids), "{binding}: {text:?}");
        assert_eq!(text.stderr, format!("note: task {task} context {context}\n"), "{binding}");

        let run = agent.json_over(binding, &["send", "echo hello"]);
        let json = run.json();
        for member in ["id", "contextId"] {
            assert!(!json["task"][member].as_str().unwrap().is_empty(), "{binding}: {json}");
        }
        assert_eq!(json["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
        assert!(run.stderr.starts_with("note: task "), "{binding}: {run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{binding}: {run:?}");

        let lines = agent.json_over(binding, &["send", "stream 1", "--stream"]).lines();
        assert!(!lines[0]["task"]["id"].as_str().unwrap().is_empty(), "{binding}");
        assert!(!lines[0]["task"]["contextId"].as_str().unwrap().is_empty(), "{binding}");
        let last = &lines.last().unwrap()["statusUpdate"];
        assert_eq!(last["taskId"], lines[0]["task"]["id"], "{binding}");
        assert_eq!(last["contextId"], lines[0]["task"]["contextId"], "{binding}");
        assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
    });
}

#[test]
fn out_002_json_is_one_document_of_a_settled_task() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        // The agent streams, and the command follows the stream; it still prints one document.
        for (word, state) in
            [("stream 3", "TASK_STATE_COMPLETED"), ("ask", "TASK_STATE_INPUT_REQUIRED")]
        {
            let run = agent.json_over(binding, &["send", word]);
            assert_eq!(run.json()["task"]["status"]["state"], state, "{binding}: {run:?}");
            assert!(run.stdout.lines().count() > 1, "{binding}: indented: {run:?}");
            assert!(run.stdout.starts_with("{\n  \"task\""), "{binding}: {run:?}");
        }
        let run = agent.json_over(binding, &["send", "stream 3", "--compact"]);
        assert_eq!(run.stdout.lines().count(), 1, "{binding}: {run:?}");
        assert_eq!(run.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
    });
}

#[test]
fn out_003_stream_prints_one_json_document_per_line() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let run = agent.json_over(binding, &["send", "stream 3", "--stream"]);
        assert_eq!(run.code, 0, "{binding}: {run:?}");
        // `lines` reads each line as a document of its own.
        let lines = run.lines();
        assert!(lines.len() >= 5, "{binding}: {run:?}");
        let last = &lines.last().unwrap()["statusUpdate"]["status"]["state"];
        assert_eq!(last, "TASK_STATE_COMPLETED", "{binding}: {run:?}");
        let failed = agent.json_over(binding, &["send", "x", "--task-id", "nope", "--stream"]);
        let last = failed.lines().pop().unwrap();
        assert_eq!(last["error"]["code"], "TaskNotFoundError", "{binding}: {failed:?}");
        assert_eq!(failed.code, 1, "{binding}");
        let message = agent.json_over(binding, &["send", "message x", "--stream"]).lines();
        assert!(message.last().unwrap()["message"].is_object(), "{binding}: {message:?}");
    });
}

#[test]
fn out_006_async_prints_task_and_context_id() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let (task, context) = agent.start_task(binding, "slow 1");
        assert!(!task.is_empty() && !context.is_empty(), "{binding}");
        let text = agent.over(binding, &["send", "slow 1", "--async"]);
        let (task, context) = (text.field("Task ID"), text.field("Context ID"));
        let got = agent.json_over(binding, &["task", "get", task]).json();
        assert_eq!((&got["id"], &got["contextId"]), (&task.into(), &context.into()), "{binding}");
    });
}

#[test]
fn exit_002_the_outcome_is_in_the_state_and_a_warning_and_not_in_the_exit_status() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        for (word, state) in [("fail", "FAILED"), ("ask", "INPUT_REQUIRED")] {
            for mode in [&[][..], &["--stream"], &["-o", "json"], &["-o", "json", "--stream"]] {
                let run = agent.over(binding, &[&["send", word], mode].concat());
                assert_eq!(run.code, 0, "{binding} {word} {mode:?}: {run:?}");
                let warnings: Vec<_> =
                    run.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
                assert_eq!(warnings.len(), 1, "{binding} {word} {mode:?}: {run:?}");
                assert!(warnings[0].ends_with(&format!(" is {state}")), "{binding}: {warnings:?}");
            }
        }
        let done = agent.over(binding, &["send", "echo done"]);
        assert!(done.code == 0 && !done.stderr.contains("warning"), "{binding}: {done:?}");
    });
}
