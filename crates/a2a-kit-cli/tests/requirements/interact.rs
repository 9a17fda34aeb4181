//! What the command sends by itself, and what it remembers: nothing.

use serde_json::json;

use crate::{
    common::foreign::{Answer, Foreign},
    support::{Agent, Sandbox, assert_failure, over_each_binding},
};

#[test]
fn interact_002_other_refused_ids_are_errors_of_the_protocol_too() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let done = agent.json_over(binding, &["send", "echo 1"]).json();
        let done = done["task"]["id"].as_str().unwrap();
        let ended = agent.json_over(binding, &["send", "echo 2", "--task-id", done]);
        assert_failure(&ended, "UnsupportedOperationError", 1);
        let (asked, _) = agent.start_task(binding, "ask");
        let other = ["send", "Ada", "--task-id", &asked, "--context-id", "another-context"];
        let run = agent.json_over(binding, &other);
        assert_failure(&run, "InvalidParamsError", 1);
    });
}

#[test]
fn interact_003_ids_are_sent_only_if_given() {
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
    let answer = Answer::Result(json!({ "message": message }));
    let foreign = Foreign::start(false, &[("SendMessage", vec![answer])]);
    let agent = Agent::at(&foreign.address);
    for (flags, task, context) in [
        (&[][..], None, None),
        (&["--task-id", "t-1"], Some("t-1"), None),
        (&["--context-id", "c-1"], None, Some("c-1")),
        (&["--task-id", "t-1", "--context-id", "c-1"], Some("t-1"), Some("c-1")),
    ] {
        let run = agent.run(&[&["send", "hello", "-o", "json"], flags].concat());
        // The answer has no ids either, and none are made up for it.
        assert_eq!(run.json(), json!({ "message": message }), "{flags:?}");
        let sent = foreign.operations().pop().unwrap().params;
        let sent = &sent["message"];
        assert_eq!(sent["taskId"].as_str(), task, "{flags:?}: {sent}");
        assert_eq!(sent["contextId"].as_str(), context, "{flags:?}: {sent}");
        // A context is not taken for a chat: nothing of it is repeated or referred to.
        assert_eq!(sent["parts"], json!([{"text": "hello"}]), "{flags:?}: {sent}");
        assert!(sent.get("referenceTaskIds").is_none(), "{flags:?}: {sent}");
    }
    let text = agent.run(&["send", "hello"]);
    assert_eq!(text.stdout, "Message ID: m\nRole: AGENT\nText:\nhi\n\n");
}

#[test]
fn interact_005_nothing_is_remembered() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let first = agent.over(binding, &["send", "ask"]);
        let second = agent.over(binding, &["send", "ask"]);
        for label in ["Task ID", "Context ID"] {
            assert_ne!(first.field(label), second.field(label), "{binding}");
        }
        // Only the card may be cached.
        for folder in ["config", "data", "state"] {
            assert_eq!(agent.sandbox.files(folder), [""; 0], "{binding} {folder}");
        }
        for file in agent.sandbox.files(".") {
            assert!(file.starts_with("cache/"), "{binding}: {file}");
            let content = std::fs::read(agent.sandbox.home().join(&file)).unwrap();
            let content = String::from_utf8_lossy(&content);
            assert!(!content.contains(first.field("Task ID")), "{binding}: {file}");
        }
    });
    for flag in ["--continue", "--last", "--resume"] {
        let run = agent.run(&["send", "hello", flag, "-o", "json"]);
        assert_failure(&run, "A2ACLI_ERR_USAGE", 2);
    }
    let without = Sandbox::new().run(&["task", "get", "-a", &agent.reference, "-o", "json"]);
    assert_failure(&without, "A2ACLI_ERR_USAGE", 2);
}
