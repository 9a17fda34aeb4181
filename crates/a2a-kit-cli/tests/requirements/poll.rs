//! Waiting by polling, and by streams that break.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    common::foreign::{Answer, Foreign, Received, Then},
    common::{Run, kind},
    support::{Agent, BINDINGS, assert_failure, failure, over_each_binding},
};

fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}})
}

fn status(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c",
        "status": {"state": format!("TASK_STATE_{state}")}}})
}

/// An agent without streaming that answers GetTask by these answers.
fn polled(answers: Vec<Answer>) -> Foreign {
    let submitted = Answer::Result(json!({"task": task("SUBMITTED")}));
    Foreign::start(false, &[("SendMessage", vec![submitted]), ("GetTask", answers)])
}

/// The pauses between the polls so far.
fn pauses(agent: &Foreign) -> Vec<Duration> {
    let mut polls = agent.operations();
    polls.retain(|request| request.method == "GetTask");
    let pause = |pair: &[Received]| pair[1].at - pair[0].at;
    polls.windows(2).map(pause).collect()
}

#[test]
fn task_poll_002_interval_and_timeout_are_obeyed() {
    let foreign = polled(vec![Answer::Result(task("WORKING"))]);
    let agent = Agent::at(&foreign.address);
    let limits = ["--poll-interval", "300ms", "--timeout", "1500ms", "-o", "json"];
    let run = agent.run(&[&["send", "x"][..], &limits].concat());
    assert_failure(&run, "A2ACLI_ERR_TIMEOUT", 5);
    let details = json!({"taskId": "t", "contextId": "c", "state": "TASK_STATE_WORKING"});
    assert_eq!(failure(&run)["details"], details);
    let pauses = pauses(&foreign);
    assert!((1..=5).contains(&pauses.len()), "{pauses:?}");
    assert!(pauses.iter().all(|pause| *pause >= Duration::from_millis(300)), "{pauses:?}");
    for interval in ["99ms", "0", "soon"] {
        let run = agent.run(&["task", "get", "t", "--poll-interval", interval, "-o", "json"]);
        assert_failure(&run, "A2ACLI_ERR_USAGE", 2);
    }
}

#[test]
fn task_poll_002_timeout_names_the_task_over_each_binding() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let (id, context) = agent.start_task(binding, "slow 20");
        for arguments in [
            &["task", "get", &id, "--wait"][..],
            &["task", "subscribe", &id],
            &["task", "subscribe", &id, "--stream"],
        ] {
            let limits = ["--timeout", "300ms"];
            let run = agent.json_over(binding, &[arguments, &limits].concat());
            assert_failure(&run, "A2ACLI_ERR_TIMEOUT", 5);
            let details = &failure(&run)["details"];
            assert_eq!(details["taskId"], *id, "{binding} {arguments:?}");
            assert_eq!(details["contextId"], *context, "{binding} {arguments:?}");
            assert_eq!(details["state"], "TASK_STATE_WORKING", "{binding} {arguments:?}");
        }
        assert_eq!(agent.over(binding, &["task", "get", &id]).field("State"), "WORKING");
    });
}

#[test]
fn task_poll_002_backoff_doubles_obeys_retry_after_and_ends_after_five_faults() {
    let foreign = polled(vec![
        Answer::Status(503),
        Answer::Status(502),
        Answer::RetryAfter(1),
        Answer::Result(task("WORKING")),
        Answer::Status(429),
        Answer::Status(503),
    ]);
    let run = Agent::at(&foreign.address).run(&["send", "x", "-o", "json"]);
    assert_failure(&run, "A2ACLI_ERR_UNREACHABLE", 3);
    assert!(run.stdout.contains("a2a task get --wait t"), "{run:?}");
    let pauses = pauses(&foreign);
    let at_least = [200, 400, 1000, 100, 200, 400, 800, 1600];
    assert_eq!(pauses.len(), at_least.len(), "{pauses:?}");
    for (pause, millis) in pauses.iter().zip(at_least) {
        assert!(*pause >= Duration::from_millis(millis), "{millis}: {pauses:?}");
    }
}

#[test]
fn task_poll_002_an_interrupt_ends_the_wait_and_names_the_task() {
    let agent = Agent::demo();
    for (binding, signal) in BINDINGS.into_iter().zip([
        rustix::process::Signal::INT,
        rustix::process::Signal::TERM,
        rustix::process::Signal::INT,
    ]) {
        let mut command = agent.command(&["send", "slow 20", "-o", "json"]);
        command.args(["--transport", binding]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut note = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut note).unwrap();
        let id = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
        let run = Run::from(child.wait_with_output().unwrap());
        agent.sandbox.record(&command, &run);
        assert_failure(&run, "A2AX_ERR_INTERRUPTED", 130);
        let task = failure(&run)["details"]["taskId"].as_str().unwrap().to_owned();
        assert!(note.starts_with(&format!("note: task {task} context ")), "{binding}: {note}");
        // The task goes on.
        let canceled = agent.over(binding, &["task", "cancel", &task]);
        assert_eq!(canceled.field("State"), "CANCELED", "{binding}");
    }
}

#[test]
fn task_poll_003_polling_ends_at_settled_states_and_not_at_an_unspecified_one() {
    for settled in
        ["COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED"]
    {
        let answers = ["SUBMITTED", "UNSPECIFIED", "WORKING", settled];
        let answers = answers.map(|state| Answer::Result(task(state))).to_vec();
        let foreign = polled(answers.clone());
        let sent = Agent::at(&foreign.address).run(&["send", "x", "-o", "json"]);
        assert_eq!(sent.json(), json!({"task": task(settled)}));
        let foreign = polled(answers);
        let got = Agent::at(&foreign.address).run(&["task", "get", "t", "--wait", "-o", "json"]);
        assert_eq!(got.json(), task(settled));
    }
    let foreign = polled(vec![Answer::Result(task("UNSPECIFIED"))]);
    let shown = Agent::at(&foreign.address).run(&["task", "get", "t"]);
    assert_eq!((shown.code, shown.field("State")), (0, "UNSPECIFIED"), "{shown:?}");
}

#[test]
fn task_poll_003_waits_end_at_interrupted_states_over_each_binding() {
    for agent in [Agent::demo(), Agent::start(&["--no-streaming"])] {
        over_each_binding(|binding| {
            for (word, state) in [("ask", "INPUT_REQUIRED"), ("auth", "AUTH_REQUIRED")] {
                let sent = agent.over(binding, &["send", word]);
                assert_eq!((sent.code, sent.field("State")), (0, state), "{binding}: {sent:?}");
                let id = sent.field("Task ID");
                let got = agent.over(binding, &["task", "get", id, "--wait"]);
                assert_eq!((got.code, got.field("State")), (0, state), "{binding}: {got:?}");
            }
        });
    }
}

#[test]
fn task_poll_004_a_cut_stream_is_followed_to_the_end_over_each_binding() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let waited = agent.json_over(binding, &["send", "drop 5"]);
        assert_eq!(waited.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
        assert!(waited.stderr.contains("the stream was lost"), "{binding}: {waited:?}");
        let parts = &waited.json()["task"]["artifacts"][0]["parts"];
        assert_eq!(parts.as_array().unwrap().len(), 5, "{binding}: {parts}");
        let streamed = agent.json_over(binding, &["send", "drop 5", "--stream"]);
        let last = kind(streamed.lines().last().unwrap());
        assert!(last.ends_with(" COMPLETED"), "{binding}: {streamed:?}");
    });
}

#[test]
fn task_poll_004_polling_follows_if_subscribing_fails_too() {
    let lost = || Answer::Events(vec![json!({"task": task("WORKING")})], Then::End);
    for refused in [Answer::Error(-32004, "no"), Answer::Status(503), lost()] {
        let foreign = Foreign::start(
            true,
            &[
                ("SendStreamingMessage", vec![lost()]),
                ("SubscribeToTask", vec![refused.clone()]),
                (
                    "GetTask",
                    vec![Answer::Result(task("WORKING")), Answer::Result(task("COMPLETED"))],
                ),
            ],
        );
        let agent = Agent::at(&foreign.address);
        let streamed = agent.run(&["send", "x", "--stream", "-o", "json"]);
        assert_eq!(streamed.code, 0, "{refused:?}: {streamed:?}");
        let last = streamed.lines().pop().unwrap();
        assert_eq!(last, json!({"task": task("COMPLETED")}), "{refused:?}: {streamed:?}");
        let tried = foreign.operations();
        let tried = tried.iter().filter(|request| request.method == "SubscribeToTask").count();
        assert_eq!(tried, 1, "{refused:?}: one try");
        let waited = agent.run(&["send", "x", "-o", "json"]);
        assert_eq!(waited.json(), json!({"task": task("COMPLETED")}), "{refused:?}");
    }
}

#[test]
fn task_subscribe_002_a_cut_subscription_is_resumed() {
    let first = vec![json!({"task": task("SUBMITTED")}), status("WORKING")];
    let second = vec![json!({"task": task("WORKING")}), status("COMPLETED")];
    let third = vec![json!({"task": task("COMPLETED")})];
    let foreign = Foreign::start(
        true,
        &[(
            "SubscribeToTask",
            vec![
                Answer::Events(first, Then::End),
                Answer::Status(503),
                Answer::Events(second, Then::End),
                Answer::Events(third, Then::End),
            ],
        )],
    );
    let agent = Agent::at(&foreign.address);
    let run = agent.run(&["task", "subscribe", "t", "--stream", "-o", "json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let kinds: Vec<_> = run.lines().iter().map(kind).collect();
    assert_eq!(kinds, ["task SUBMITTED", "status WORKING", "status COMPLETED"], "{run:?}");
    // GetTask is not part of the script, so a call would fail the run.
    assert!(foreign.operations().iter().all(|request| request.method == "SubscribeToTask"));
}

#[test]
fn task_subscribe_002_the_first_event_is_the_complete_task() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let (id, context) = agent.start_task(binding, "stream 20");
        let run = agent.json_over(binding, &["task", "subscribe", &id, "--stream"]);
        let lines = run.lines();
        let task = &lines[0]["task"];
        assert_eq!((&task["id"], &task["contextId"]), (&id.into(), &context.into()), "{binding}");
        assert!(task["status"]["state"].is_string(), "{binding}: {run:?}");
        assert_eq!(kind(lines.last().unwrap()), "status COMPLETED", "{binding}: {run:?}");
        let before = task["artifacts"][0]["parts"].as_array().map_or(0, Vec::len);
        let chunks = lines.iter().filter(|line| line["artifactUpdate"].is_object()).count();
        assert_eq!(before + chunks, 20, "{binding}: nothing is missing: {run:?}");
    });
}
