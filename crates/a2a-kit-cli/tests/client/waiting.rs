//! How long the client waits for agents that are not ours, how often it calls them, and what it says
//! about that.

use std::time::{Duration, Instant};

use crate::common::foreign::{Answer, Foreign, Then};
use crate::common::{Run, Server, kind};
use serde_json::{Value, json};

fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}})
}

fn status(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c",
        "status": {"state": format!("TASK_STATE_{state}")}}})
}

fn chunk(text: &str) -> Value {
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": true,
        "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

fn message(text: &str) -> Value {
    json!({"message": {"messageId": text, "role": "ROLE_AGENT", "parts": [{"text": text}]}})
}

/// A stream that ends although the task has not.
fn short() -> Answer {
    Answer::Events(vec![json!({"task": task("WORKING")}), chunk("x")], Then::End)
}

fn methods(agent: &Foreign) -> Vec<String> {
    agent.operations().into_iter().map(|request| request.method).collect()
}

fn error(run: &Run) -> Value {
    run.lines().pop().unwrap()["error"].clone()
}

#[test]
fn short_streams_of_a_send_are_followed_by_polling() {
    for arguments in [&["send", "hello", "--stream"][..], &["send", "hello"]] {
        let agent = Foreign::start(
            true,
            &[
                ("SendStreamingMessage", vec![short()]),
                ("SubscribeToTask", vec![short()]),
                (
                    "GetTask",
                    vec![Answer::Result(task("WORKING")), Answer::Result(task("COMPLETED"))],
                ),
            ],
        );
        let run = agent.run(arguments);
        assert_eq!(run.code, 0, "{run:?}");
        let expected = ["SendStreamingMessage", "SubscribeToTask", "GetTask", "GetTask"];
        assert_eq!(methods(&agent), expected, "{run:?}");
        let lost = "the stream was interrupted before the task settled";
        let resumed = format!("note: the stream was lost ({lost}): subscribing again\n");
        assert!(run.stderr.contains(&resumed), "{run:?}");
        assert!(run.stderr.contains(&format!("note: polling instead: {lost}\n")), "{run:?}");
    }
}

#[test]
fn upstream_agent_of_a_proxy_is_called_as_rarely() {
    let agent = Foreign::start(
        true,
        &[
            ("SendStreamingMessage", vec![short()]),
            ("SubscribeToTask", vec![short()]),
            ("GetTask", vec![Answer::Result(task("WORKING"))]),
        ],
    );
    let proxy = Server::start(&["--proxy", &agent.address]);
    for binding in ["jsonrpc", "http+json", "grpc"] {
        let before = agent.operations().len();
        let limits = ["--poll-interval", "500ms", "--timeout", "3s", "-o", "json"];
        let send = ["send", "hello", "--stream", "--transport", binding];
        let run = proxy.run(&[&send[..], &limits].concat());
        assert_eq!(error(&run)["code"], "A2ACLI_ERR_TIMEOUT", "{binding}: {run:?}");
        let calls = methods(&agent).split_off(before);
        assert_eq!(calls[..2], ["SendStreamingMessage", "SubscribeToTask"], "{binding}");
        assert!(calls[2..].iter().all(|call| call == "GetTask"), "{binding}: {calls:?}");
        assert!(calls.len() <= 10, "{binding}: {calls:?}");
    }
}

#[test]
fn short_streams_of_a_subscription_are_reopened_with_growing_pauses() {
    let agent = Foreign::start(true, &[("SubscribeToTask", vec![short()])]);
    let run = agent.run(&["task", "subscribe", "t", "--stream", "--timeout", "3s"]);
    assert_eq!((run.code, &error(&run)["code"]), (5, &json!("A2ACLI_ERR_TIMEOUT")), "{run:?}");
    let opened: Vec<_> = agent.operations().into_iter().map(|request| request.at).collect();
    assert!((2..=6).contains(&opened.len()), "{opened:?}");
    for (pair, millis) in opened.windows(2).zip([100, 200, 400, 800, 1600]) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(millis), "{opened:?}");
    }
}

#[test]
fn unknown_state_ends_the_wait_with_an_error_about_it() {
    let paused = || Answer::Events(vec![json!({"task": task("PAUSED")})], Then::StayOpen);
    let polled = |answer: Answer| {
        let sent = Answer::Result(json!({"task": task("SUBMITTED")}));
        Foreign::start(false, &[("SendMessage", vec![sent]), ("GetTask", vec![answer])])
    };
    let late = Answer::Events(vec![json!({"task": task("WORKING")}), status("PAUSED")], Then::End);
    for (agent, arguments, calls) in [
        (Foreign::start(true, &[("SendStreamingMessage", vec![paused()])]), &["send", "x"][..], 1),
        (Foreign::start(true, &[("SendStreamingMessage", vec![late])]), &["send", "x"], 1),
        (
            Foreign::start(true, &[("SubscribeToTask", vec![paused()])]),
            &["task", "subscribe", "t"],
            1,
        ),
        (polled(Answer::Result(task("PAUSED"))), &["send", "x"], 2),
        (polled(Answer::Result(task("PAUSED"))), &["task", "get", "t", "--wait"], 1),
    ] {
        let run = agent.run(arguments);
        assert_eq!(run.code, 1, "{arguments:?}: {run:?}");
        let error = error(&run);
        assert_eq!(error["code"], "InvalidAgentResponseError", "{arguments:?}: {run:?}");
        assert!(error["message"].as_str().unwrap().contains("unknown task state"), "{run:?}");
        assert_eq!(methods(&agent).len(), calls, "{arguments:?}: {run:?}");
    }
}

#[test]
fn send_that_waits_is_limited_by_the_timeout_and_not_by_that_of_a_request() {
    let agent = Foreign::start(false, &[("SendMessage", vec![Answer::Never])]);
    let limits = ["--request-timeout", "200ms", "--timeout", "1s"];
    let started = Instant::now();
    let run = agent.run(&[&["send", "hello", "--message-id", "m-1"][..], &limits].concat());
    assert!(started.elapsed() >= Duration::from_secs(1), "{run:?}");
    assert_eq!((run.code, &error(&run)["code"]), (5, &json!("A2ACLI_ERR_TIMEOUT")), "{run:?}");
    let hint = "the agent may have received the message: retry with --message-id m-1";
    assert_eq!(error(&run)["hint"], hint, "{run:?}");
}

#[test]
fn request_that_is_not_answered_is_a_timeout_and_not_an_unreachable_agent() {
    for (method, arguments) in [
        ("SendMessage", &["send", "hello", "--async"][..]),
        ("GetTask", &["task", "get", "t"]),
        ("CancelTask", &["task", "cancel", "t"]),
    ] {
        let agent = Foreign::start(false, &[(method, vec![Answer::Never])]);
        let run = agent.run(&[arguments, &["--request-timeout", "200ms"]].concat());
        assert_eq!((run.code, &error(&run)["code"]), (5, &json!("A2ACLI_ERR_TIMEOUT")), "{run:?}");
        let message = format!("{method} timed out after 200ms");
        assert!(error(&run)["message"].as_str().unwrap().contains(&message), "{run:?}");
    }
}

#[test]
fn message_that_was_not_sent_is_not_said_to_be_received() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let agent = |binding: &str, scheme: &str| {
        Foreign::start_with(&[], |card| {
            let interface = &mut card["supportedInterfaces"][0];
            let plaintext = interface["url"].as_str().unwrap().replace("http://", "https://");
            let url = if scheme == "http" { format!("http://{address}") } else { plaintext };
            interface["url"] = url.into();
            interface["protocolBinding"] = binding.into();
        })
    };
    for binding in ["JSONRPC", "HTTP+JSON", "GRPC"] {
        // Nothing listens, or the server does not speak TLS.
        for scheme in ["http", "https"] {
            let run = agent(binding, scheme).run(&["send", "hello"]);
            assert_eq!(run.code, 3, "{binding} {scheme}: {run:?}");
            assert!(!run.stdout.contains("may have received"), "{binding} {scheme}: {run:?}");
        }
    }
    let unavailable = Foreign::start(false, &[("SendMessage", vec![Answer::Status(502)])]);
    let run = unavailable.run(&["send", "hello"]);
    assert!(run.stdout.contains("may have received"), "{run:?}");
}

#[test]
fn read_is_repeated_once_when_the_agent_says_when() {
    for busy in [Answer::Limited(1), Answer::RetryAfter(1)] {
        let answers = vec![busy.clone(), Answer::Result(task("WORKING"))];
        let agent = Foreign::start(false, &[("GetTask", answers)]);
        let run = agent.run(&["task", "get", "t"]);
        assert_eq!(run.json(), task("WORKING"), "{busy:?}");
        assert!(run.stderr.contains("retrying in 1s"), "{busy:?}: {run:?}");
        let calls = agent.operations();
        assert!(calls[1].at - calls[0].at >= Duration::from_secs(1), "{busy:?}");

        let agent = Foreign::start(false, &[("GetTask", vec![busy.clone()])]);
        let run = agent.run(&["task", "get", "t"]);
        assert_eq!(methods(&agent).len(), 2, "{busy:?}: {run:?}");
        let error = error(&run);
        assert!(error["message"].as_str().unwrap().ends_with("(retry after 1s)"), "{run:?}");
        assert_eq!(error["details"]["retryAfter"], 1, "{run:?}");
    }
    // Not beyond the timeout, not without a delay, and not for a send.
    for (arguments, method, answer) in [
        (&["task", "get", "t"][..], "GetTask", Answer::Limited(3600)),
        (&["task", "get", "t"], "GetTask", Answer::Status(429)),
        (&["send", "hello", "--async"], "SendMessage", Answer::Limited(1)),
        (&["task", "cancel", "t"], "CancelTask", Answer::Limited(1)),
    ] {
        let agent = Foreign::start(false, &[(method, vec![answer.clone()])]);
        let run = agent.run(arguments);
        assert_eq!(methods(&agent).len(), 1, "{answer:?}: {run:?}");
        let hint = error(&run)["hint"].as_str().unwrap().to_owned();
        assert!(hint.starts_with("the agent limits requests: retry "), "{answer:?}: {run:?}");
    }
}

#[test]
fn streamed_artifact_is_shown_if_a_task_does_not_list_it() {
    let events =
        vec![chunk("one "), json!({"task": task("WORKING")}), chunk("two"), status("COMPLETED")];
    let answer = Answer::Events(events, Then::End);
    let agent = Foreign::start(true, &[("SendStreamingMessage", vec![answer])]);
    let parts = &agent.run(&["send", "hello"]).json()["task"]["artifacts"][0]["parts"];
    assert_eq!(*parts, json!([{"text": "one "}, {"text": "two"}]));
}

#[test]
fn further_messages_of_a_stream_are_noted_and_streamed() {
    let messages = ["one", "two", "three"].map(message);
    let answer = Answer::Events(messages.to_vec(), Then::End);
    let agent = Foreign::start(true, &[("SendStreamingMessage", vec![answer])]);
    let run = agent.run(&["send", "hello"]);
    assert_eq!(run.json(), message("three"));
    let note = "note: the agent sent 3 messages in one stream: the result is the last one";
    assert!(run.stderr.contains(note), "{run:?}");
    let run = agent.run(&["send", "hello", "--stream"]);
    assert_eq!(run.lines(), messages, "{run:?}");
    assert_eq!(run.lines().iter().map(kind).count(), 3);
}
