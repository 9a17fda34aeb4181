//! `a2a send`, against agents with known faults.

use serde_json::json;

use crate::{
    common::foreign::{Answer, Foreign, Then},
    support::{Agent, assert_failure, over_each_binding},
};

#[test]
fn send_003_stream_of_an_agent_without_streaming_degrades_to_polling() {
    let agent = Agent::start(&["--no-streaming"]);
    over_each_binding(|binding| {
        let run = agent.json_over(binding, &["send", "slow 1", "--stream"]);
        assert_eq!(run.code, 0, "{binding}: {run:?}");
        assert!(run.stderr.contains("note: the agent does not stream"), "{binding}: {run:?}");
        let last = run.lines().pop().unwrap();
        assert_eq!(last["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{binding}: {run:?}");
    });
}

#[test]
fn send_003_an_open_stream_does_not_hang_after_a_message_or_a_settled_state() {
    let task = |state: &str| json!({"id": "t", "contextId": "c", "status": {"state": state}});
    let message =
        json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}});
    for (last, member) in [
        (message, "message"),
        (json!({"task": task("TASK_STATE_COMPLETED")}), "task"),
        (json!({"task": task("TASK_STATE_INPUT_REQUIRED")}), "task"),
    ] {
        let events = Answer::Events(vec![last.clone()], Then::StayOpen);
        let foreign = Foreign::start(true, &[("SendStreamingMessage", vec![events])]);
        let agent = Agent::at(&foreign.address);
        let streamed = agent.json_over("jsonrpc", &["send", "x", "--stream"]);
        assert_eq!((streamed.code, streamed.lines().pop()), (0, Some(last.clone())), "{last}");
        let waited = agent.json_over("jsonrpc", &["send", "x"]).json();
        assert!(waited[member].is_object(), "{last}: {waited}");
    }
}

#[test]
fn send_005_a_media_type_without_a_part_is_a_usage_error() {
    let agent = Agent::demo();
    for parts in [
        &["--media-type", "text/x", "--text", "a"][..],
        &["--text", "a", "--media-type", "text/x", "--media-type", "text/y"],
    ] {
        let run = agent.run(&[&["send"], parts, &["-o", "json"]].concat());
        assert_failure(&run, "A2ACLI_ERR_USAGE", 2);
        assert!(run.stdout.contains("--media-type"), "{run:?}");
    }
}

#[test]
fn send_006_no_part_two_readers_of_stdin_and_large_files_are_usage_errors() {
    let agent = Agent::demo();
    let large = agent.sandbox.write("large.bin", vec![0; (10 << 20) + 1]);
    for (parts, hint) in [
        (&[][..], "--text"),
        (&["--text", "-", "--data", "-"], "standard input"),
        (&["--file", "missing.bin"], "missing.bin"),
        (&["--data", "{"], "JSON"),
        (&["--file", &large], "--max-inline"),
    ] {
        let run = agent.run(&[&["send", "-o", "json"], parts].concat());
        assert_failure(&run, "A2ACLI_ERR_USAGE", 2);
        assert!(run.stdout.contains(hint), "{parts:?}: {run:?}");
    }
}
