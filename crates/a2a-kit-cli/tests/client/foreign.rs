//! How the client follows tasks of agents that are not ours, and not at their best.

use std::time::Duration;

use crate::common::foreign::{Answer, Foreign, Then};
use crate::common::{Run, command, kind};
use serde_json::{Value, json};

fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}})
}

fn status(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c",
        "status": {"state": format!("TASK_STATE_{state}")}}})
}

fn chunk(text: &str) -> Value {
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c",
        "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

fn message() -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "bye"}]}})
}

#[test]
fn polling_survives_faults_and_unspecified_states_and_stops_when_the_task_settles() {
    for settled in
        ["COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED"]
    {
        let agent = Foreign::start(
            false,
            &[
                ("SendMessage", vec![Answer::Result(json!({"task": task("SUBMITTED")}))]),
                (
                    "GetTask",
                    vec![
                        Answer::Status(503),
                        Answer::Result(task("UNSPECIFIED")),
                        Answer::Status(502),
                        Answer::Result(task("WORKING")),
                        Answer::Result(task(settled)),
                    ],
                ),
            ],
        );
        let run = agent.run(&["send", "hello"]);
        assert_eq!(run.json(), json!({"task": task(settled)}), "{settled}");
    }
}

#[test]
fn polls_follow_growing_intervals_unless_one_is_set() {
    let working = || Answer::Result(task("WORKING"));
    let answers = || vec![working(), working(), working(), Answer::Result(task("COMPLETED"))];
    let submitted = || vec![Answer::Result(json!({"task": task("SUBMITTED")}))];
    for (flags, expected) in
        [(&[][..], [100, 200, 400, 800]), (&["--poll-interval", "600ms"], [600, 600, 600, 600])]
    {
        let agent = Foreign::start(false, &[("SendMessage", submitted()), ("GetTask", answers())]);
        let run = Run::of(command().args(["send", "hello", "-a", &agent.address]).args(flags));
        assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
        let calls = agent.operations();
        let pauses: Vec<_> = calls.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        assert_eq!(pauses.len(), expected.len(), "{pauses:?}");
        for (pause, millis) in pauses.iter().zip(expected) {
            // The default interval is 2 s.
            let range = Duration::from_millis(millis)..Duration::from_secs(2);
            assert!(range.contains(pause), "{millis}: {pauses:?}");
        }
    }
}

#[test]
fn agent_that_streams_its_answer_gets_one_request() {
    let answer = vec![json!({"task": task("SUBMITTED")}), chunk("hi"), status("COMPLETED")];
    let streamed = Answer::Events(answer, Then::StayOpen);
    let agent = Foreign::start(true, &[("SendStreamingMessage", vec![streamed])]);
    let run = agent.run(&["send", "hello"]);
    assert_eq!(run.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{run:?}");
    let methods: Vec<_> = agent.operations().into_iter().map(|call| call.method).collect();
    assert_eq!(methods, ["SendStreamingMessage"]);
}

#[test]
fn stream_that_breaks_ends_the_text_that_it_has_begun() {
    let events = vec![json!({"task": task("WORKING")}), chunk("half of it")];
    let agent = Foreign::start(
        true,
        &[
            ("SendStreamingMessage", vec![Answer::Events(events, Then::End)]),
            ("SubscribeToTask", vec![Answer::Status(404)]),
            ("GetTask", vec![Answer::Status(404)]),
        ],
    );
    let run = Run::of(command().args(["send", "hello", "--stream", "-a", &agent.address]));
    assert_ne!(run.code, 0, "{run:?}");
    assert!(run.stdout.ends_with("Text:\nhalf of it\n\n"), "{run:?}");
}

#[test]
fn polling_gives_up_after_five_faults_in_a_row_and_at_once_on_an_error() {
    let agent = Foreign::start(
        false,
        &[
            ("SendMessage", vec![Answer::Result(json!({"task": task("SUBMITTED")}))]),
            ("GetTask", vec![Answer::Status(503)]),
        ],
    );
    let run = agent.run(&["send", "hello"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert_eq!(run.lines()[0]["error"]["code"], "A2ACLI_ERR_UNREACHABLE");
    assert_eq!(
        run.lines()[0]["error"]["hint"],
        format!("the task may still run: a2a task get --wait t -a {}", agent.address)
    );
    let agent = Foreign::start(
        false,
        &[
            ("SendMessage", vec![Answer::Result(json!({"task": task("SUBMITTED")}))]),
            ("GetTask", vec![Answer::Error(-32603, "out of order")]),
        ],
    );
    let run = agent.run(&["send", "hello"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(run.lines()[0]["error"]["code"], "InternalError");
    assert_eq!(run.lines()[0]["error"]["message"], "out of order");
}

#[test]
fn a_lost_stream_is_subscribed_to_once_and_then_polled() {
    let lost = vec![json!({"task": task("WORKING")}), chunk("1")];
    let agent = Foreign::start(
        true,
        &[
            ("SendStreamingMessage", vec![Answer::Events(lost, Then::End)]),
            ("SubscribeToTask", vec![Answer::Error(-32004, "not here")]),
            ("GetTask", vec![Answer::Result(task("WORKING")), Answer::Result(task("COMPLETED"))]),
        ],
    );
    let run = agent.run(&["send", "hello", "--stream"]);
    assert_eq!(run.code, 0, "{run:?}");
    let kinds: Vec<_> = run.lines().iter().map(kind).collect();
    assert_eq!(kinds, ["task WORKING", "artifact 1", "task COMPLETED"], "{run:?}");
    let waiting = agent.run(&["send", "hello"]);
    let mut complete = task("COMPLETED");
    complete["artifacts"] = json!([{"artifactId": "a", "parts": [{"text": "1"}]}]);
    assert_eq!(waiting.json(), json!({"task": complete}));
}

#[test]
fn a_reconnected_stream_prints_its_task_only_if_that_is_news() {
    let first = vec![json!({"task": task("WORKING")})];
    let second = vec![json!({"task": task("WORKING")}), chunk("1"), status("COMPLETED")];
    let agent = Foreign::start(
        true,
        &[
            ("SendStreamingMessage", vec![Answer::Events(first, Then::End)]),
            ("SubscribeToTask", vec![Answer::Events(second, Then::End)]),
        ],
    );
    let run = agent.run(&["send", "hello", "--stream"]);
    let kinds: Vec<_> = run.lines().iter().map(kind).collect();
    assert_eq!(kinds, ["task WORKING", "artifact 1", "status COMPLETED"], "{run:?}");
}

#[test]
fn an_interrupted_state_ends_the_wait_though_the_stream_stays_open() {
    let events = vec![json!({"task": task("WORKING")}), status("INPUT_REQUIRED")];
    let agent = Foreign::start(
        true,
        &[("SendStreamingMessage", vec![Answer::Events(events, Then::StayOpen)])],
    );
    let run = agent.run(&["send", "hello", "--stream"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(kind(run.lines().last().unwrap()), "status INPUT_REQUIRED");
}

#[test]
fn a_late_message_after_a_task_is_printed_and_a_lone_one_is_the_answer() {
    let late = vec![json!({"task": task("WORKING")}), message()];
    let agent =
        Foreign::start(true, &[("SendStreamingMessage", vec![Answer::Events(late, Then::End)])]);
    let run = agent.run(&["send", "hello", "--stream"]);
    assert_eq!((run.code, run.lines().last()), (0, Some(&message())), "{run:?}");
    let alone = vec![message()];
    let agent = Foreign::start(
        true,
        &[("SendStreamingMessage", vec![Answer::Events(alone, Then::StayOpen)])],
    );
    assert_eq!(agent.run(&["send", "hello"]).json(), message());
}

#[test]
fn what_can_not_be_understood_is_an_invalid_answer() {
    for answer in [
        Answer::Text("<html>"),
        Answer::Result(json!({"task": {"id": 7}})),
        Answer::Result(json!({})),
    ] {
        let agent = Foreign::start(false, &[("SendMessage", vec![answer.clone()])]);
        let run = agent.run(&["send", "hello"]);
        assert_eq!(run.code, 1, "{answer:?}: {run:?}");
        let code = &run.lines()[0]["error"]["code"];
        assert_eq!(code, "InvalidAgentResponseError", "{answer:?}: {run:?}");
    }
}

#[test]
fn a_subscription_that_is_refused_shows_a_task_that_has_ended_and_else_the_error() {
    let refused = ("SubscribeToTask", vec![Answer::Error(-32004, "it has ended")]);
    let ended = Foreign::start(
        true,
        &[refused.clone(), ("GetTask", vec![Answer::Result(task("COMPLETED"))])],
    );
    assert_eq!(ended.run(&["task", "subscribe", "t"]).json(), task("COMPLETED"));
    let working =
        Foreign::start(true, &[refused, ("GetTask", vec![Answer::Result(task("WORKING"))])]);
    let run = working.run(&["task", "subscribe", "t"]);
    assert_eq!(run.lines()[0]["error"]["code"], "UnsupportedOperationError", "{run:?}");
}

#[test]
fn a_canceled_task_may_be_canceled_again() {
    let refused = ("CancelTask", vec![Answer::Error(-32002, "it has ended")]);
    for (state, code) in [("CANCELED", 0), ("COMPLETED", 1)] {
        let get = ("GetTask", vec![Answer::Result(task(state))]);
        let agent = Foreign::start(true, &[refused.clone(), get]);
        assert_eq!(agent.run(&["task", "cancel", "t"]).code, code, "{state}");
    }
}
