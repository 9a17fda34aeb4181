//! `a2a task`, with its usage errors.

use crate::support::{Agent, assert_failure, over_each_binding};

#[test]
fn task_get_001_the_id_is_an_argument_a_flag_or_a_variable() {
    let agent = Agent::demo();
    let sent = agent.json(&["send", "echo hello"]);
    let id = sent["task"]["id"].as_str().unwrap();
    over_each_binding(|binding| {
        let by_flag = agent.over(binding, &["task", "get", "--task-id", id]);
        let variables = [("A2ACLI_TASK_ID", id), ("A2ACLI_TRANSPORT", binding)];
        let by_variable = agent.run_with(&["task", "get"], &variables);
        for run in [by_flag, by_variable] {
            assert_eq!(run.field("Task ID"), id, "{binding}: {run:?}");
        }
    });
    let two = agent.run(&["task", "get", id, "--task-id", "another", "-o", "json"]);
    assert_failure(&two, "A2ACLI_ERR_USAGE", 2);
    let none = agent.run(&["task", "get", "-o", "json"]);
    assert_failure(&none, "A2ACLI_ERR_USAGE", 2);
    // As a JSON line with `--stream`.
    let line = agent.run(&["task", "get", id, "--stream", "-o", "json"]);
    assert_eq!((line.lines().len(), &line.lines()[0]["id"]), (1, &id.into()));
}

#[test]
fn task_list_001_invalid_filters_are_usage_errors_and_since_limits_the_list() {
    let agent = Agent::start(&[]);
    agent.json(&["send", "echo hello"]);
    over_each_binding(|binding| {
        for (since, count) in [("2020-01-01T00:00:00Z", 1), ("2999-01-01T00:00:00Z", 0)] {
            let list = agent.json_over(binding, &["task", "list", "--since", since]).json();
            let tasks = list["tasks"].as_array().map_or(0, Vec::len);
            assert_eq!(tasks, count, "{binding} {since}");
        }
        let with = agent.json_over(binding, &["task", "list", "--include-artifacts"]).json();
        assert_eq!(with["tasks"][0]["artifacts"][0]["name"], "echo", "{binding}");
        let without = agent.json_over(binding, &["task", "list"]).json();
        assert!(without["tasks"][0].get("artifacts").is_none(), "{binding}");
    });
    for flags in [
        ["--page-size", "0"],
        ["--page-size", "101"],
        ["--status", "unspecified"],
        ["--since", "yesterday"],
    ] {
        let run = agent.run(&["task", "list", flags[0], flags[1], "-o", "json"]);
        assert_failure(&run, "A2ACLI_ERR_USAGE", 2);
    }
}
