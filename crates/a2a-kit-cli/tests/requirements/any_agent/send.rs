//! `a2a send`.

use serde_json::{Value, json};

use crate::support::{Agent, over_each_binding};

/// The flags of a message that the agent echoes.
const ECHOED: [&str; 4] = ["--message-id", "acc-echo-1", "-o", "json"];

/// The parts of the artifact with the name `echo`.
fn echoed(answer: &Value) -> &Value {
    let artifacts = answer["task"]["artifacts"].as_array().unwrap();
    &artifacts.iter().find(|artifact| artifact["name"] == "echo").unwrap()["parts"]
}

#[test]
fn send_001_sends_a_message_over_each_binding() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let text = agent.over(binding, &["send", "echo how are you"]);
        assert_eq!((text.code, text.field("State")), (0, "COMPLETED"), "{binding}: {text:?}");
        assert!(text.stdout.contains("\nArtifact: echo\nArtifact ID: "), "{binding}: {text:?}");
        assert!(text.stdout.contains("\nText:\nhow are you\n\n"), "{binding}: {text:?}");
        let json = agent.json_over(binding, &["send", "--text", "echo fine"]).json();
        assert_eq!(json["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
        assert_eq!(echoed(&json)[0]["text"], "fine", "{binding}");
    });
}

#[test]
fn send_002_waits_until_the_task_ends() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let waited = agent.json_over(binding, &["send", "slow 1"]).json();
        assert_eq!(waited["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
        assert_eq!(waited["task"]["artifacts"][0]["name"], "slow", "{binding}");
    });
}

#[test]
fn send_002_async_returns_the_ids_at_once() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        for flag in ["--async", "--no-wait", "--return-immediately"] {
            let run = agent.over(binding, &["send", "slow 20", flag]);
            assert_eq!(run.code, 0, "{binding} {flag}: {run:?}");
            let is_running = ["SUBMITTED", "WORKING"].contains(&run.field("State"));
            assert!(is_running && !run.field("Context ID").is_empty(), "{binding} {flag}: {run:?}");
            let canceled = agent.over(binding, &["task", "cancel", run.field("Task ID")]);
            assert_eq!(canceled.field("State"), "CANCELED", "{binding} {flag}");
        }
    });
}

#[test]
fn send_003_stream_prints_events_until_the_task_ends() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let run = agent.json_over(binding, &["send", "stream 3", "--stream"]);
        let lines = run.lines();
        assert!(lines[0]["task"].is_object(), "{binding}: {run:?}");
        let chunks = lines.iter().filter(|line| line["artifactUpdate"].is_object()).count();
        assert_eq!(chunks, 3, "{binding}: {run:?}");
        let last = &lines.last().unwrap()["statusUpdate"]["status"]["state"];
        assert_eq!(last, "TASK_STATE_COMPLETED", "{binding}: {run:?}");
    });
}

#[test]
fn send_003_a_message_without_a_task_ends_the_stream_and_the_wait() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let waited = agent.json_over(binding, &["send", "message hello"]).json();
        assert_eq!(waited["message"]["role"], "ROLE_AGENT", "{binding}: {waited}");
        let streamed = agent.json_over(binding, &["send", "message hello", "--stream"]);
        let lines = streamed.lines();
        assert_eq!((streamed.code, lines.len()), (0, 1), "{binding}: {streamed:?}");
        assert_eq!(lines[0]["message"]["parts"], waited["message"]["parts"], "{binding}");
        let text = agent.over(binding, &["send", "message hello", "--stream"]);
        assert_eq!((text.code, text.field("Role")), (0, "AGENT"), "{binding}: {text:?}");
    });
}

#[test]
fn send_004_artifacts_are_shown_with_all_parts() {
    let agent = Agent::under_test();
    let file = agent.sandbox.write("notes.md", "# Notes");
    let url = "https://example.com/a.png";
    let data = r#"{"key": "value"}"#;
    let parts = ["--text", "first\n\nsecond", "--file", &file, "--file", url, "--data", data];
    over_each_binding(|binding| {
        let send = [&["send"][..], &parts, &["--message-id", "acc-echo-1"]].concat();
        let answer = agent.json_over(binding, &send).json();
        let expected = json!([
            {"text": "first\n\nsecond"},
            {"raw": "IyBOb3Rlcw==", "filename": "notes.md", "mediaType": "text/markdown"},
            {"url": url, "mediaType": "image/png"},
            {"data": {"key": "value"}},
        ]);
        assert_eq!(echoed(&answer), &expected, "{binding}");
        let text = agent.over(binding, &send);
        assert!(
            text.stdout.contains(
                "\nText:\nfirst\n \nsecond\n\nFile: notes.md (text/markdown, 7 bytes)\n\
                 File: https://example.com/a.png (image/png)\n\
                 Data:\n{\n  \"key\": \"value\"\n}\n\n"
            ),
            "{binding}: {text:?}"
        );
    });
}

#[test]
fn send_005_media_type_belongs_to_the_part_before_it() {
    let agent = Agent::under_test();
    let file = agent.sandbox.write("notes.md", "# Notes");
    let unknown = agent.sandbox.write("notes.unknown", "text");
    over_each_binding(|binding| {
        let parts = [
            ["--text", "a"],
            ["--media-type", "text/x-first"],
            ["--file", &file],
            ["--file", &file],
            ["--media-type", "text/x-other"],
            ["--file", &unknown],
            ["--data", "{}"],
            ["--media-type", "application/x-data"],
            ["--text", "b"],
        ];
        let answer =
            agent.over(binding, &[&["send"][..], parts.as_flattened(), &ECHOED].concat()).json();
        let types: Vec<_> = echoed(&answer)
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["mediaType"].as_str().unwrap_or_default())
            .collect();
        let expected = [
            "text/x-first",
            "text/markdown",
            "text/x-other",
            "text/plain",
            "application/x-data",
            "",
        ];
        assert_eq!(types, expected, "{binding}");
    });
}

#[test]
fn send_006_parts_keep_the_order_of_the_command_line() {
    let agent = Agent::under_test();
    over_each_binding(|binding| {
        let parts = [
            "--data",
            "-",
            "--text",
            "one",
            "two",
            "--file",
            "https://example.com/three",
            "--text-part",
            "four",
            "--data-part",
            "{\"five\": true}",
            "--file-part",
            "https://example.com/six",
        ];
        let send = [&["send", "--transport", binding][..], &parts, &ECHOED].concat();
        let mut command = agent.command(&send);
        let run = agent.sandbox.finish_with_stdin(&mut command, "{\"zero\": \"stdin\"}");
        assert_eq!(
            echoed(&run.json()),
            &json!([
                {"data": {"zero": "stdin"}},
                {"text": "one"},
                {"text": "two"},
                {"url": "https://example.com/three"},
                {"text": "four"},
                {"data": {"five": true}},
                {"url": "https://example.com/six"},
            ]),
            "{binding}"
        );
    });
}
