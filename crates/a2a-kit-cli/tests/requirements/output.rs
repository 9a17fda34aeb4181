//! Output formats and errors.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use serde_json::Value;

use crate::{
    common::Run,
    support::{Agent, BINDINGS, assert_failure, failure, over_each_binding},
};

#[test]
fn out_003_lines_are_flushed_as_events_arrive_and_an_error_is_the_last_line() {
    let agent = Agent::demo();
    for binding in BINDINGS {
        let mut command = agent.command(&["send", "slow 20", "--stream", "-o", "json"]);
        command.args(["--transport", binding]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        let first: Value = serde_json::from_str(&first).unwrap();
        assert!(first["task"]["id"].is_string(), "{binding}: {first}");
        assert!(child.try_wait().unwrap().is_none(), "{binding}: the command still runs");
        let id = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        let lines: Vec<String> = stdout.lines().map(Result::unwrap).collect();
        let mut run = Run::from(child.wait_with_output().unwrap());
        run.stdout = lines.join("\n");
        agent.sandbox.record(&command, &run);
        assert_failure(&run, "A2AX_ERR_INTERRUPTED", 130);
        assert_eq!(failure(&run)["details"]["taskId"], first["task"]["id"], "{binding}");
    }
}

/// The errors of the protocol: reason, name, and JSON-RPC code.
const ERRORS: [(&str, &str, i64); 14] = [
    ("TASK_NOT_FOUND", "TaskNotFoundError", -32001),
    ("TASK_NOT_CANCELABLE", "TaskNotCancelableError", -32002),
    ("PUSH_NOTIFICATION_NOT_SUPPORTED", "PushNotificationNotSupportedError", -32003),
    ("UNSUPPORTED_OPERATION", "UnsupportedOperationError", -32004),
    ("CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError", -32005),
    ("INVALID_AGENT_RESPONSE", "InvalidAgentResponseError", -32006),
    ("EXTENDED_AGENT_CARD_NOT_CONFIGURED", "ExtendedAgentCardNotConfiguredError", -32007),
    ("EXTENSION_SUPPORT_REQUIRED", "ExtensionSupportRequiredError", -32008),
    ("VERSION_NOT_SUPPORTED", "VersionNotSupportedError", -32009),
    ("PARSE_ERROR", "JSONParseError", -32700),
    ("INVALID_REQUEST", "InvalidRequestError", -32600),
    ("METHOD_NOT_FOUND", "MethodNotFoundError", -32601),
    ("INVALID_PARAMS", "InvalidParamsError", -32602),
    ("INTERNAL", "InternalError", -32603),
];

#[test]
fn out_004_errors_of_the_protocol_have_its_names_and_are_the_same_over_each_binding() {
    let rules = ERRORS.map(|(reason, ..)| {
        let fault = format!("{{ error = {{ name = \"{reason}\", text = \"as asked\" }} }}");
        format!("[[rule]]\nwhen = {{ word = \"{reason}\" }}\nfault = {fault}\n")
    });
    let agent = Agent::script(&rules.concat(), &[]);
    for (reason, name, number) in ERRORS {
        let mut envelopes = Vec::new();
        over_each_binding(|binding| {
            let run = agent.json_over(binding, &["send", reason]);
            assert_failure(&run, name, 1);
            let error = failure(&run);
            assert_eq!(error["message"], "as asked", "{binding}: {error}");
            assert!(error["hint"].is_string(), "{binding}: {error}");
            let line = format!("error: {name}: as asked\n");
            assert!(run.stderr.ends_with(&line), "{binding}: {run:?}");
            let is_of_a2a = (-32099..=-32001).contains(&number);
            if is_of_a2a || binding == "jsonrpc" {
                assert_eq!(error["a2aCode"], number, "{binding}: {error}");
                envelopes.push(run.stdout.clone());
            }
            let streamed = agent.json_over(binding, &["send", reason, "--stream"]);
            assert_failure(&streamed, name, 1);
            let text = agent.over(binding, &["send", reason]);
            assert_eq!((text.code, text.stdout.as_str()), (1, ""), "{binding}: {text:?}");
            let start = format!("Error: {name}\nMessage: as asked\nHint: ");
            assert!(text.stderr.contains(&start), "{binding}: {text:?}");
            assert!(text.stderr.contains("\nA2A Code: "), "{binding}: {text:?}");
        });
        assert!(envelopes.iter().all(|one| *one == envelopes[0]), "{envelopes:?}");
    }
}

#[test]
fn out_004_own_errors_have_own_names_and_the_same_members() {
    let agent = Agent::demo();
    let unreachable = ["send", "x", "-a", "127.0.0.1:1", "-o", "json"];
    let wrong = ["send", "x", "--zebra", "-o", "json"];
    let missing = ["card", "get", "-a", "./missing.json", "-o", "json"];
    for (arguments, code, exit) in [
        (&unreachable[..], "A2ACLI_ERR_UNREACHABLE", 3),
        (&wrong, "A2ACLI_ERR_USAGE", 2),
        (&missing, "A2ACLI_ERR_CARD_NOT_FOUND", 3),
    ] {
        let run = agent.sandbox.run(arguments);
        assert_failure(&run, code, exit);
        assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
        let error = failure(&run);
        let members: Vec<_> = error.as_object().unwrap().keys().collect();
        assert_eq!(members, ["a2aCode", "code", "hint", "message"], "{run:?}");
        assert!(error["a2aCode"].is_null() && error["hint"].is_string(), "{error}");
        assert!(
            run.stderr
                .ends_with(&format!("error: {code}: {}\n", error["message"].as_str().unwrap())),
            "{run:?}"
        );
    }
    // The format is found in a command line that is invalid otherwise, and in the environment.
    let by_variable =
        agent.sandbox.run_with(&["send", "x", "--zebra"], &[("A2ACLI_OUTPUT", "json")]);
    assert_failure(&by_variable, "A2ACLI_ERR_USAGE", 2);
}

#[test]
fn out_005_text_has_labels_and_blocks_that_end_at_an_empty_line() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let run = agent.over(binding, &["send", "first\n\nthird"]);
        let (task, context) = (run.field("Task ID"), run.field("Context ID"));
        let artifact = run.field("Artifact ID");
        let expected = format!(
            "Task ID: {task}\nContext ID: {context}\nState: COMPLETED\n\
             Artifact: echo\nArtifact ID: {artifact}\nText:\nfirst\n \nthird\n\n"
        );
        assert_eq!(run.stdout, expected, "{binding}");
        let files = agent.over(binding, &["send", "file"]);
        assert!(files.stdout.contains("\nFile: pixels.png (image/png, 81 bytes)\n"), "{files:?}");
        let url = "\nFile: https://example.com/output.txt (text/plain)\n";
        assert!(files.stdout.contains(url), "{files:?}");
        let data = agent.over(binding, &["send", "data"]);
        assert!(data.stdout.contains("\nData:\n{\n  \"city\": \"Oslo\",\n"), "{data:?}");
        let streamed = agent.over(binding, &["send", "stream 2", "--stream"]);
        assert_eq!(streamed.stdout.matches("Artifact: stream\n").count(), 1, "{streamed:?}");
        let listed = agent.over(binding, &["task", "list", "--page-size", "1"]);
        for label in ["Task ID", "Context ID", "State", "Timestamp", "Next page token", "Total"] {
            assert!(!listed.field(label).is_empty(), "{binding}: {label}");
        }
    });
}

#[test]
fn out_005_control_characters_of_agents_are_escaped() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        for mode in [&[][..], &["--stream"], &["--verbose"], &["--debug"]] {
            let run = agent.over(binding, &[&["send", "html"], mode].concat());
            assert!(run.stdout.contains("\\x1b[31mred\\x1b[0m"), "{binding} {mode:?}: {run:?}");
            let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
            assert!(!run.stdout.contains(is_control), "{binding} {mode:?}: {run:?}");
            assert!(!run.stderr.contains(is_control), "{binding} {mode:?}: {run:?}");
        }
    });
}

#[test]
fn out_007_debug_prints_the_raw_messages_on_stderr() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let quiet = agent.json_over(binding, &["send", "echo raw"]);
        assert!(!quiet.stderr.contains("a2a-version"), "{binding}: {quiet:?}");
        // The card is a message too, if it is fetched.
        let run = agent.json_over(binding, &["send", "echo raw", "--debug", "--no-cache"]);
        assert_eq!(run.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
        for expected in [
            "> POST ",
            "> a2a-version: 1.0",
            r#"{"text":"echo raw"}"#,
            "< 200 OK",
            r#""state":"TASK_STATE_COMPLETED""#,
            "supportedInterfaces",
        ] {
            assert!(run.stderr.contains(expected), "{binding} {expected}: {run:?}");
        }
        let by_variable = [("A2ACLI_DEBUG", "1"), ("A2ACLI_TRANSPORT", binding)];
        let run = agent.run_with(&["task", "get", "nope"], &by_variable);
        assert!(run.stderr.contains("> a2a-version: 1.0"), "{binding}: {run:?}");
    });
}
