//! `a2a task`.

use crate::support::{Agent, assert_failure, over_each_binding};

#[test]
fn task_get_001_shows_state_artifacts_and_history() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let sent = agent.json_over(binding, &["send", "echo hello"]).json();
        let id = sent["task"]["id"].as_str().unwrap();
        let got = agent.json_over(binding, &["task", "get", id, "--history", "9"]).json();
        assert_eq!(got["id"], sent["task"]["id"], "{binding}");
        assert_eq!(got["contextId"], sent["task"]["contextId"], "{binding}");
        assert_eq!(got["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
        assert_eq!(got["artifacts"], sent["task"]["artifacts"], "{binding}");
        assert_eq!(got["history"][0]["parts"][0]["text"], "echo hello", "{binding}: {got}");
        let text = agent.over(binding, &["task", "get", id, "--history", "9"]);
        assert_eq!((text.field("Task ID"), text.field("State")), (id, "COMPLETED"), "{binding}");
        assert!(text.stdout.contains("\nText:\nhello\n\n"), "{binding}: {text:?}");
        assert!(text.stdout.contains("Role: USER\nText:\necho hello\n\n"), "{binding}: {text:?}");
        let missing = agent.json_over(binding, &["task", "get", "no-such-task"]);
        assert_failure(&missing, "TaskNotFoundError", 1);
    });
}

#[test]
fn task_cancel_001_cancels_and_repeating_it_succeeds() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let (id, context) = agent.start_task(binding, "slow 20");
        for attempt in 0..2 {
            let run = agent.over(binding, &["task", "cancel", &id]);
            assert_eq!(run.code, 0, "{binding} {attempt}: {run:?}");
            assert_eq!(run.field("Task ID"), id, "{binding} {attempt}");
            assert_eq!(run.field("Context ID"), context, "{binding} {attempt}");
            assert_eq!(run.field("State"), "CANCELED", "{binding} {attempt}");
        }
        let json = agent.json_over(binding, &["task", "cancel", &id]).json();
        assert_eq!(json["status"]["state"], "TASK_STATE_CANCELED", "{binding}");
        let done = agent.json_over(binding, &["send", "echo done"]).json();
        let done = done["task"]["id"].as_str().unwrap();
        let refused = agent.json_over(binding, &["task", "cancel", done]);
        assert_failure(&refused, "TaskNotCancelableError", 1);
    });
}

#[test]
fn task_poll_001_a_task_is_shown_once_or_waited_for() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let (id, _) = agent.start_task(binding, "slow 2");
        let once = agent.over(binding, &["task", "get", &id]);
        assert!(["SUBMITTED", "WORKING"].contains(&once.field("State")), "{binding}: {once:?}");
        for flag in ["--wait", "--watch"] {
            let waited = agent.over(binding, &["task", "get", &id, flag]);
            assert_eq!((waited.code, waited.field("State")), (0, "COMPLETED"), "{binding} {flag}");
        }
    });
}

#[test]
fn task_list_001_lists_by_page_context_and_status() {
    let agent = Agent::under_test();
    let first = agent.json(&["send", "echo 1"]);
    let context = first["task"]["contextId"].as_str().unwrap();
    for text in ["echo 2", "fail"] {
        agent.json(&["send", text, "--context-id", context]);
    }
    let list = ["task", "list", "--context-id", context];
    over_each_binding(|binding| {
        let all = agent.json_over(binding, &list).json();
        assert_eq!(all["tasks"].as_array().unwrap().len(), 3, "{binding}: {all}");
        let page = agent.json_over(binding, &[&list[..], &["--page-size", "2"]].concat()).json();
        assert_eq!(page["tasks"].as_array().unwrap().len(), 2, "{binding}");
        let token = page["nextPageToken"].as_str().unwrap();
        let next = ["--page-size", "2", "--page-token", token];
        let rest = agent.json_over(binding, &[&list[..], &next].concat()).json();
        assert_eq!(rest["tasks"].as_array().unwrap().len(), 1, "{binding}");
        let of_pages = [&page["tasks"][0], &page["tasks"][1], &rest["tasks"][0]];
        let of_pages = of_pages.map(|task| &task["id"]);
        let of_all: Vec<_> =
            all["tasks"].as_array().unwrap().iter().map(|task| &task["id"]).collect();
        assert_eq!(of_all, of_pages, "{binding}");
        for state in ["failed", "FAILED", "TASK_STATE_FAILED"] {
            let failed = agent.json_over(binding, &[&list[..], &["--status", state]].concat());
            let failed = failed.json();
            assert_eq!(failed["tasks"].as_array().unwrap().len(), 1, "{binding} {state}");
            assert_eq!(failed["tasks"][0]["status"]["state"], "TASK_STATE_FAILED", "{binding}");
        }
        let merged = agent.json_over(binding, &[&list[..], &["--all", "--limit", "1"]].concat());
        let merged = merged.json();
        assert_eq!(merged["tasks"].as_array().unwrap().len(), 3, "{binding}");
        assert_eq!(merged["nextPageToken"], "", "{binding}");
        let lines = agent.json_over(binding, &[&list[..], &["--stream"]].concat()).lines();
        assert!(lines.len() == 3 && lines.iter().all(|line| line["id"].is_string()), "{binding}");
        let text = agent.over(binding, &[&list[..], &["--page-size", "1"]].concat());
        assert!(!text.field("Next page token").is_empty(), "{binding}: {text:?}");
        assert_eq!(text.field("Total"), "3", "{binding}");
        assert_eq!(text.field("Context ID"), context, "{binding}");
    });
}

#[test]
fn task_subscribe_001_gives_the_final_task_or_its_events() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let (id, _) = agent.start_task(binding, "slow 2");
        let task = agent.json_over(binding, &["task", "subscribe", &id]).json();
        assert_eq!(task["id"], *id, "{binding}");
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
        assert_eq!(task["artifacts"][0]["name"], "slow", "{binding}");
        let (id, _) = agent.start_task(binding, "slow 2");
        let run = agent.json_over(binding, &["task", "subscribe", &id, "--stream"]);
        let lines = run.lines();
        assert_eq!(lines[0]["task"]["id"], *id, "{binding}: {run:?}");
        let last = &lines.last().unwrap()["statusUpdate"]["status"]["state"];
        assert_eq!(last, "TASK_STATE_COMPLETED", "{binding}: {run:?}");
        let missing = agent.json_over(binding, &["task", "subscribe", "no-such-task"]);
        assert_failure(&missing, "TaskNotFoundError", 1);
    });
}
