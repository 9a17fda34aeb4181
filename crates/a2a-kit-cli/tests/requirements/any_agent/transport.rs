//! Bindings.

use crate::support::{Agent, BINDINGS, over_each_binding};

#[test]
fn tx_004_each_binding_gives_the_same_result() {
    let agent = Agent::under_test();
    let sent = agent.json(&["send", "echo same"]);
    let id = sent["task"]["id"].as_str().unwrap();
    let tasks: Vec<_> = BINDINGS
        .iter()
        .map(|binding| agent.json_over(binding, &["task", "get", id, "--history", "1"]).json())
        .collect();
    assert!(tasks.iter().all(|task| *task == tasks[0]), "{tasks:?}");
    let texts: Vec<_> =
        BINDINGS.iter().map(|binding| agent.over(binding, &["task", "get", id]).stdout).collect();
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
}

#[test]
fn tx_005_grpc_carries_each_operation() {
    let agent = Agent::under_test();
    let over = |arguments: &[&str]| agent.over("grpc", arguments);
    let sent = over(&["send", "echo hello"]);
    assert_eq!(sent.field("State"), "COMPLETED");
    let id = sent.field("Task ID");
    assert_eq!(over(&["task", "get", id]).field("State"), "COMPLETED");
    let listed = over(&["task", "list", "--context-id", sent.field("Context ID")]);
    assert_eq!(listed.field("Task ID"), id);
    assert!(over(&["send", "stream 2", "--stream"]).stdout.contains("Artifact ID: stream"));
    let (running, _) = agent.start_task("grpc", "slow 20");
    assert_eq!(over(&["task", "cancel", &running]).field("State"), "CANCELED");
    let (running, _) = agent.start_task("grpc", "slow 1");
    assert_eq!(over(&["task", "subscribe", &running]).field("State"), "COMPLETED");
    let extended = over(&["card", "get", "--extended"]);
    assert!(!extended.field("Name").is_empty(), "{extended:?}");
}

#[test]
fn ver_001_the_version_is_on_each_request() {
    let agent = Agent::under_test();
    let sent = agent.json(&["send", "echo hello"]);
    let id = sent["task"]["id"].as_str().unwrap();
    over_each_binding(|binding| {
        for arguments in [
            &["send", "echo hello"][..],
            &["send", "stream 1", "--stream"],
            &["task", "get", id],
            &["task", "list"],
            &["task", "cancel", id],
            &["task", "subscribe", id],
            &["card", "get", "--extended"],
        ] {
            let run = agent.over(binding, &[arguments, &["--debug"]].concat());
            let requests: Vec<_> = run
                .stderr
                .lines()
                .filter(|line| line.contains("> POST ") || line.contains("> GET "))
                .filter(|line| !line.contains("/.well-known/"))
                .collect();
            assert!(!requests.is_empty(), "{binding} {arguments:?}: {run:?}");
            for request in requests {
                let exchange = request.split(' ').next().unwrap();
                let version = format!("{exchange} > a2a-version: 1.0");
                assert!(run.stderr.contains(&version), "{binding} {arguments:?}: {run:?}");
            }
        }
    });
}
