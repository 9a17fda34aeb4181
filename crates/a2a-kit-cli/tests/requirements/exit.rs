//! Exit status.

use std::fs::OpenOptions;

use serde_json::json;

use crate::{
    common::foreign::{Answer, Foreign},
    support::{Agent, Sandbox, assert_failure, over_each_binding},
};

#[test]
fn exit_001_success_failure_and_usage_have_their_status_over_each_binding() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        for (arguments, exit) in [
            (&["send", "echo hello"][..], 0),
            (&["send", "fail"], 0),
            (&["send", "slow 20", "--async"], 0),
            (&["task", "list"], 0),
            (&["task", "get", "nope"], 1),
            (&["task", "cancel", "nope"], 1),
            (&["send", "hello", "--zebra"], 2),
            (&["task", "list", "--page-size", "101"], 2),
            (&["send", "hello", "--async", "--stream"], 2),
            (&["send", "slow 20", "--timeout", "300ms"], 5),
        ] {
            for format in ["text", "json"] {
                let run = agent.over(binding, &[arguments, &["-o", format]].concat());
                assert_eq!(run.code, exit, "{binding} {format} {arguments:?}: {run:?}");
            }
        }
    });
    for arguments in [&[][..], &["task"], &["card"]] {
        let run = agent.sandbox.run(arguments);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains("--help"), "{run:?}");
    }
}

#[test]
fn exit_001_reserved_codes_are_used_consistently() {
    let sandbox = Sandbox::new();
    let run = |arguments: &[&str]| sandbox.run(&[arguments, &["-o", "json"]].concat());
    let file = sandbox.write("invalid.json", "{\"name\": 1}");
    assert_failure(&run(&["card", "get", "-a", &file, "--validate"]), "A2ACLI_ERR_CARD_INVALID", 1);
    let missing = run(&["send", "x", "-a", "./missing.json"]);
    assert_failure(&missing, "A2ACLI_ERR_CARD_NOT_FOUND", 3);
    let unreachable = run(&["send", "x", "-a", "127.0.0.1:1"]);
    assert_failure(&unreachable, "A2ACLI_ERR_UNREACHABLE", 3);
    let agent = Agent::start(&["--require-bearer", "right", "--auth-failures-allowed", "1000"]);
    over_each_binding(|binding| {
        let none = agent.json_over(binding, &["send", "x"]);
        assert_failure(&none, "A2ACLI_ERR_CREDENTIALS_MISSING", 4);
        assert!(none.stdout.contains("--bearer"), "{binding}: {none:?}");
        let wrong = agent.json_over(binding, &["send", "x", "--bearer", "wrong"]);
        assert_failure(&wrong, "A2ACLI_ERR_AUTH_FAILED", 4);
    });
    for status in [502, 503, 504] {
        let foreign = Foreign::start(false, &[("SendMessage", vec![Answer::Status(status)])]);
        let run = Agent::at(&foreign.address).run(&["send", "x", "-o", "json"]);
        assert_failure(&run, "A2ACLI_ERR_UNREACHABLE", 3);
    }
    let foreign = Foreign::start(false, &[("SendMessage", vec![Answer::Status(429)])]);
    let limited = Agent::at(&foreign.address).run(&["send", "x", "-o", "json"]);
    assert_failure(&limited, "A2AX_ERR_LIMITED", 1);
    let port = agent.reference.rsplit(':').next().unwrap();
    assert_failure(&run(&["serve", "--port", port]), "A2AX_ERR_ADDRESS_IN_USE", 1);
    for answer in [Answer::Text("<html>"), Answer::Result(json!({"task": {"id": 7}}))] {
        let foreign = Foreign::start(false, &[("SendMessage", vec![answer])]);
        let run = Agent::at(&foreign.address).run(&["send", "x", "-o", "json"]);
        assert_failure(&run, "InvalidAgentResponseError", 1);
    }
}

#[test]
fn exit_001_a_result_that_can_not_be_written_is_an_internal_error() {
    let agent = Agent::demo();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = agent.command(&["send", "echo hello"]);
    let output = command.stdout(full).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let run = output.wait_with_output().unwrap().into();
    agent.sandbox.record(&command, &run);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("Error: A2ACLI_ERR_INTERNAL\n"), "{run:?}");
}

#[test]
fn exit_002_rejected_and_unauthorized_tasks_are_no_failures_of_the_command() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        for (word, state) in
            [("reject", "REJECTED"), ("auth", "AUTH_REQUIRED"), ("panic", "FAILED")]
        {
            for mode in [&[][..], &["-o", "json"], &["-o", "json", "--stream"]] {
                let run = agent.over(binding, &[&["send", word], mode].concat());
                assert_eq!(run.code, 0, "{binding} {word} {mode:?}: {run:?}");
                let warnings = run.stderr.lines().filter(|line| line.starts_with("warning: "));
                let warnings: Vec<_> = warnings.collect();
                assert_eq!(warnings.len(), 1, "{binding} {word} {mode:?}: {run:?}");
                assert!(warnings[0].ends_with(&format!(" is {state}")), "{warnings:?}");
            }
        }
    });
}
