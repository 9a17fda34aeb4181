//! Each check on exchanges that are right, and on exchanges with one fault.

use std::{sync::Arc, time::Duration};

use a2a_core::{AgentCard, ProtocolVersion};
use a2a_kit_client::Transport;
use a2a_kit_lint::Outcome;
use http::HeaderValue;
use serde_json::{Value, json};

use super::all;
use crate::{
    evidence::Evidence,
    exchange::{
        Answer, Event, EventStream, Exchange, RecordedRequest, RecordedResponse, StreamEnd,
    },
    step::Step,
    wire::{jsonrpc_answer, rest_answer},
};

fn exchange(
    binding: Transport,
    (operation, params): (&'static str, Value),
    (status, media_type, body): (u16, &'static str, Value),
) -> Exchange {
    let body = body.to_string();
    let answer = match binding {
        Transport::Rest => rest_answer(status, body.as_bytes()),
        _ => jsonrpc_answer(status, body.as_bytes()),
    };
    let mut response = RecordedResponse { status, body: body.into(), ..Default::default() };
    response.headers.insert("content-type", HeaderValue::from_static(media_type));
    Exchange {
        binding,
        operation,
        params,
        id: Some(json!("1")).filter(|_| binding == Transport::JsonRpc),
        request: RecordedRequest { line: "POST http://a/".to_owned(), ..Default::default() },
        response,
        answer,
        elapsed: Duration::from_millis(5),
    }
}

fn result(operation: &'static str, params: Value, result: Value) -> Exchange {
    let body = json!({"jsonrpc": "2.0", "id": "1", "result": result});
    exchange(Transport::JsonRpc, (operation, params), (200, "application/json", body))
}

fn error(operation: &'static str, code: i64, data: Value) -> Exchange {
    let error = json!({"code": code, "message": "no", "data": data});
    let body = json!({"jsonrpc": "2.0", "id": "1", "error": error});
    exchange(Transport::JsonRpc, (operation, json!({})), (200, "application/json", body))
}

fn rest_error(operation: &'static str, status: u16, body: Value) -> Exchange {
    exchange(Transport::Rest, (operation, json!({})), (status, "application/a2a+json", body))
}

fn info(reason: &str) -> Value {
    json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason,
        "domain": "a2a-protocol.org"}])
}

fn stream(events: &[Value], end: StreamEnd) -> Exchange {
    let mut exchange = result("SendStreamingMessage", json!({}), json!({}));
    exchange.response.headers.insert("content-type", HeaderValue::from_static("text/event-stream"));
    let events = events
        .iter()
        .enumerate()
        .map(|(at, value)| Event { value: value.clone(), at: Duration::from_millis(at as u64) })
        .collect();
    exchange.answer = Answer::Events(EventStream { events, end, ..Default::default() });
    exchange
}

fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c",
        "status": {"state": state, "timestamp": "2026-01-02T03:04:05.123Z"}})
}

fn status_event(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}})
}

fn chunk(text: &str, append: bool) -> Value {
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": append,
        "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

/// The outcome of a check on these exchanges.
fn judge(id: &str, steps: Vec<(Step, Exchange)>) -> String {
    let binding = steps[0].1.binding;
    let card = AgentCard::default().with_streaming(true).with_push_notifications(true);
    let mut evidence = Evidence::new(binding, ProtocolVersion::V1_0, "http://a", card.into());
    for (step, exchange) in steps {
        evidence.push(step, exchange);
    }
    let mut checks = all().filter(|check| check.applies(binding, ProtocolVersion::V1_0));
    match checks.find(|check| check.rule.id == id).unwrap().outcome(&evidence, &[]) {
        Outcome::Fail(findings) => format!("fail: {}", findings[0].message),
        outcome => [outcome.name(), outcome.reason().unwrap_or_default()].join(" ").trim().into(),
    }
}

/// Each row: a check, exchanges that pass, and exchanges that fail.
fn check(id: &str, good: Vec<(Step, Exchange)>, bad: Vec<(Step, Exchange)>) {
    assert_eq!(judge(id, good), "pass", "{id}");
    let found = judge(id, bad);
    assert!(found.starts_with("fail: "), "{id}: {found}");
}

const DONE: &str = "TASK_STATE_COMPLETED";
const WORKING: &str = "TASK_STATE_WORKING";

fn sent(task: Value) -> Exchange {
    result("SendMessage", json!({"message": {"contextId": "c"}}), json!({"task": task}))
}

#[test]
fn answers_to_messages_are_judged() {
    let message = result("SendMessage", json!({}), json!({"message": {"messageId": "m"}}));
    let bare = result("SendMessage", json!({}), task(DONE));
    check("R-018", vec![(Step::Send, message)], vec![(Step::Send, bare)]);
    check("R-023", vec![(Step::Send, sent(task(DONE)))], vec![(Step::Send, sent(task(WORKING)))]);
    let mut elsewhere = task(DONE);
    elsewhere["contextId"] = json!("other");
    check(
        "R-187",
        vec![(Step::SendInContext, sent(task(DONE)))],
        vec![(Step::SendInContext, sent(elsewhere))],
    );
    let mut lost = task(DONE);
    lost.as_object_mut().unwrap().remove("contextId");
    check("R-185", vec![(Step::Send, sent(task(DONE)))], vec![(Step::Send, sent(lost))]);
    check(
        "R-020",
        vec![(Step::SendToTerminal, error("SendMessage", -32004, info("UNSUPPORTED_OPERATION")))],
        vec![(Step::SendToTerminal, sent(task(DONE)))],
    );
    let with_history = |count: usize| {
        let mut task = task(DONE);
        task["history"] = json!(vec![json!({"messageId": "m"}); count]);
        sent(task)
    };
    check(
        "R-028",
        vec![(Step::SendHistoryOne, with_history(1))],
        vec![(Step::SendHistoryOne, with_history(2))],
    );
    check(
        "R-238",
        vec![(Step::Send, sent(task(DONE))), (Step::SendUnknownMembers, sent(task(DONE)))],
        vec![
            (Step::Send, sent(task(DONE))),
            (Step::SendUnknownMembers, error("SendMessage", -32602, json!([]))),
        ],
    );
}

#[test]
fn newest_message_of_the_history_is_kept() {
    let with = |ids: &[&str]| {
        let mut task = task(DONE);
        let messages: Vec<_> = ids.iter().map(|id| json!({"messageId": id})).collect();
        task["history"] = json!(messages);
        result("GetTask", json!({"id": "t"}), task)
    };
    let steps =
        |one: &str| vec![(Step::GetTask, with(&["m1", "m2"])), (Step::GetHistoryOne, with(&[one]))];
    check("R-029", steps("m2"), steps("m1"));
}

#[test]
fn streams_are_judged() {
    let first = json!({"task": task(WORKING)});
    let good = [first.clone(), chunk("1", false), chunk("2", true), status_event(DONE)];
    let closed = |events: &[Value]| vec![(Step::Stream, stream(events, StreamEnd::Closed))];
    for (id, bad) in [
        ("R-035", vec![]),
        ("R-037", vec![status_event(WORKING), status_event(DONE)]),
        ("R-038", vec![first.clone(), json!({"message": {}}), status_event(DONE)]),
        ("R-212", vec![first.clone(), status_event(WORKING), status_event(WORKING)]),
        ("R-240", vec![first.clone(), chunk("2", true), chunk("1", false), status_event(DONE)]),
        ("R-082", vec![json!({"task": task(DONE), "statusUpdate": {}})]),
    ] {
        check(id, closed(&good), closed(&bad));
    }
    check("R-039", closed(&good), vec![(Step::Stream, stream(&good, StreamEnd::Open))]);
    let message = json!({"message": {"messageId": "m"}});
    check("R-036", closed(std::slice::from_ref(&message)), closed(&[message.clone(), message]));
}

#[test]
fn chunks_of_a_stream_add_up_to_the_task() {
    let stored = |text: &str| {
        let mut task = task(DONE);
        task["artifacts"] = json!([{"artifactId": "a", "parts": [{"text": text}]}]);
        (Step::GetTaskAfterStream, result("GetTask", json!({"id": "t"}), task))
    };
    let events =
        [json!({"task": task(WORKING)}), chunk("1", false), chunk("2", true), status_event(DONE)];
    let streamed = || (Step::Stream, stream(&events, StreamEnd::Closed));
    check("R-212", vec![streamed(), stored("12")], vec![streamed(), stored("21")]);
}

#[test]
fn framing_of_events_is_judged() {
    let with_fault = || {
        let mut exchange = stream(&[json!({"task": task(DONE)})], StreamEnd::Closed);
        if let Answer::Events(stream) = &mut exchange.answer {
            stream.framing.push("an event is not ended by a blank line".to_owned());
        }
        vec![(Step::Stream, exchange)]
    };
    let good = vec![(Step::Stream, stream(&[json!({"task": task(DONE)})], StreamEnd::Closed))];
    check("R-277", good, with_fault());
}

#[test]
fn lists_are_judged() {
    let list = |params: Value, result_: Value| result("ListTasks", params, result_);
    let page = |ids: &[&str], next: &str| {
        let tasks: Vec<_> = ids
            .iter()
            .map(|id| {
                let mut task = task(DONE);
                task["id"] = json!(id);
                task
            })
            .collect();
        json!({"tasks": tasks, "nextPageToken": next, "pageSize": 50, "totalSize": 2})
    };
    let good = || vec![(Step::List, list(json!({}), page(&["a", "b"], "")))];
    let changed = |change: fn(&mut Value)| {
        let mut body = page(&["a", "b"], "");
        change(&mut body);
        vec![(Step::List, list(json!({}), body))]
    };
    check(
        "R-052",
        good(),
        changed(|body| {
            body.as_object_mut().unwrap().remove("nextPageToken");
        }),
    );
    check("R-050", good(), changed(|body| body["tasks"][0]["artifacts"] = json!([])));
    check("R-056", good(), changed(|body| body["tasks"][0]["history"] = json!([])));
    check(
        "R-049",
        good(),
        changed(|body| {
            body["tasks"][1]["status"]["timestamp"] = json!("2027-01-02T03:04:05.123Z");
        }),
    );
    let context = || (Step::ListContext, list(json!({"contextId": "c"}), page(&["a", "b"], "")));
    let pages = |second: &str| {
        vec![
            context(),
            (Step::ListPage, list(json!({"contextId": "c"}), page(&["a"], "x"))),
            (Step::ListPage, list(json!({"contextId": "c"}), page(&[second], ""))),
        ]
    };
    check("R-048", pages("b"), pages("a"));
    let refused = error("ListTasks", -32602, json!([]));
    check(
        "R-053",
        vec![(Step::ListPageZero, refused)],
        vec![(Step::ListPageZero, list(json!({"pageSize": 0}), page(&["a"], "")))],
    );
    let mut elsewhere = page(&["a", "b"], "");
    elsewhere["tasks"][0]["contextId"] = json!("other");
    check(
        "R-054",
        vec![context()],
        vec![(Step::ListContext, list(json!({"contextId": "c"}), elsewhere))],
    );
    let mut fewer = page(&["a", "b"], "");
    fewer["totalSize"] = json!(1);
    check(
        "R-055",
        vec![context()],
        vec![(Step::ListContext, list(json!({"contextId": "c"}), fewer))],
    );
}

#[test]
fn unknown_and_ended_tasks_are_judged() {
    let empty = || result("GetTask", json!({"id": "x"}), json!({"id": "", "status": {}}));
    for (id, step, code, reason) in [
        ("R-046", Step::GetUnknown, -32001, "TASK_NOT_FOUND"),
        ("R-060", Step::CancelUnknown, -32001, "TASK_NOT_FOUND"),
        ("R-059", Step::CancelTerminal, -32002, "TASK_NOT_CANCELABLE"),
        ("R-066", Step::SubscribeTerminal, -32004, "UNSUPPORTED_OPERATION"),
        ("R-142", Step::VersionUnknown, -32009, "VERSION_NOT_SUPPORTED"),
    ] {
        let good = || vec![(step, error("GetTask", code, info(reason)))];
        check(id, good(), vec![(step, empty())]);
        check(id, good(), vec![(step, error("GetTask", -32603, json!([])))]);
    }
    check(
        "R-058",
        vec![(Step::Cancel, result("CancelTask", json!({"id": "t"}), task("TASK_STATE_CANCELED")))],
        vec![(Step::Cancel, result("CancelTask", json!({"id": "t"}), task(DONE)))],
    );
    check(
        "R-143",
        vec![(Step::VersionMissing, error("SendMessage", -32009, json!([])))],
        vec![(Step::VersionMissing, sent(task(DONE)))],
    );
}

#[test]
fn codes_and_details_of_errors_are_judged() {
    let good = || vec![(Step::GetUnknown, error("GetTask", -32001, info("TASK_NOT_FOUND")))];
    check(
        "R-172",
        good(),
        vec![(Step::GetUnknown, error("GetTask", -32002, info("TASK_NOT_FOUND")))],
    );
    check("R-174", good(), vec![(Step::GetUnknown, error("GetTask", -32001, json!([])))]);
    check(
        "R-170",
        good(),
        vec![(Step::GetUnknown, error("GetTask", -32001, json!([{"reason": "X"}])))],
    );
    let body = |code: u16, details: Value| json!({"error": {"code": code, "status": "NOT_FOUND", "message": "no", "details": details}});
    let right =
        || vec![(Step::GetUnknown, rest_error("GetTask", 404, body(404, info("TASK_NOT_FOUND"))))];
    let as_success = rest_error("GetTask", 200, body(404, info("TASK_NOT_FOUND")));
    check("R-172", right(), vec![(Step::GetUnknown, as_success)]);
    let bare = rest_error("GetTask", 404, body(404, json!([])));
    check("R-173", right(), vec![(Step::GetUnknown, bare)]);
}

#[test]
fn json_is_judged() {
    let good = || vec![(Step::Send, sent(task(DONE)))];
    let changed = |change: fn(&mut Value)| {
        let mut task = task(DONE);
        change(&mut task);
        vec![(Step::Send, sent(task))]
    };
    check("R-228", good(), changed(|task| task["context_id"] = json!("c")));
    check("R-229", good(), changed(|task| task["status"]["state"] = json!(3)));
    check("R-230", good(), changed(|task| task["status"]["timestamp"] = json!("today")));
    check(
        "R-233",
        good(),
        changed(|task| {
            task["status"]["timestamp"] = json!("2026-01-02T03:04:05.123+00:00");
        }),
    );
    check(
        "R-231",
        good(),
        changed(|task| {
            task["status"]["timestamp"] = json!("2026-01-02T03:04:05Z");
        }),
    );
    check(
        "R-234",
        good(),
        changed(|task| {
            task.as_object_mut().unwrap().remove("id");
        }),
    );
    check("R-014", good(), changed(|task| task["kind"] = json!("task")));
    let with_part = |part: Value| {
        let mut task = task(DONE);
        task["artifacts"] = json!([{"artifactId": "a", "parts": [part]}]);
        vec![(Step::Send, sent(task))]
    };
    check("R-226", with_part(json!({"text": ""})), with_part(json!({"text": "", "url": ""})));
}

#[test]
fn members_of_the_agent_are_its_own() {
    let mut task = task(DONE);
    task["metadata"] = json!({"snake_case": {"kind": "x"}});
    let steps = || vec![(Step::Send, sent(task.clone()))];
    assert_eq!(judge("R-228", steps()), "pass");
    assert_eq!(judge("R-014", steps()), "pass");
}

#[test]
fn envelopes_are_judged() {
    let with = |body: Value, media_type| {
        let call = ("GetTask", json!({"id": "t"}));
        vec![(Step::GetTask, exchange(Transport::JsonRpc, call, (200, media_type, body)))]
    };
    let good =
        || with(json!({"jsonrpc": "2.0", "id": "1", "result": task(DONE)}), "application/json");
    let bad = |body| with(body, "application/json");
    check("R-280", good(), bad(json!({"id": "1", "result": {}})));
    check("R-281", good(), bad(json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
    check("R-283", good(), bad(json!({"jsonrpc": "2.0", "id": "1"})));
    check("R-274", good(), with(json!({"jsonrpc": "2.0", "id": "1", "result": {}}), "text/plain"));
}

#[test]
fn push_configs_are_judged() {
    let config = |id: &str| json!({"id": id, "taskId": "t", "url": "http://w/"});
    let params = json!({"taskId": "t", "url": "http://w/"});
    let created = |id: &str| {
        (Step::PushCreate, result("CreateTaskPushNotificationConfig", params.clone(), config(id)))
    };
    check("R-070", vec![created("c")], vec![created("")]);
    let list = |ids: &[&str]| {
        let configs: Vec<_> = ids.iter().map(|id| config(id)).collect();
        let result_ = json!({"configs": configs});
        (Step::PushList, result("ListTaskPushNotificationConfigs", json!({}), result_))
    };
    check("R-075", vec![created("c"), list(&["c"])], vec![created("c"), list(&[])]);
    let delete = |step, answer: Exchange| (step, answer);
    let fine = || result("DeleteTaskPushNotificationConfig", json!({}), json!({}));
    let gone = || error("DeleteTaskPushNotificationConfig", -32001, json!([]));
    check(
        "R-078",
        vec![delete(Step::PushDelete, fine()), delete(Step::PushDeleteAgain, fine())],
        vec![delete(Step::PushDelete, fine()), delete(Step::PushDeleteAgain, gone())],
    );
    let mut leaking = task(DONE);
    leaking["metadata"] = json!({"token": crate::webhook::TOKEN});
    check(
        "R-423",
        vec![created("c")],
        vec![created("c"), (Step::GetTask, result("GetTask", json!({}), leaking))],
    );
}

#[test]
fn tasks_of_other_callers_are_judged() {
    let hidden = || vec![(Step::GetByOther, error("GetTask", -32001, info("TASK_NOT_FOUND")))];
    let open = || vec![(Step::GetByOther, result("GetTask", json!({"id": "t"}), task(DONE)))];
    check("R-418", hidden(), open());
    check("R-161", hidden(), open());
    let listed = |tasks: Value| {
        let result_ = json!({"tasks": tasks});
        vec![
            (Step::Send, sent(task(DONE))),
            (Step::ListByOther, result("ListTasks", json!({}), result_)),
        ]
    };
    check("R-047", listed(json!([])), listed(json!([task(DONE)])));
}

#[test]
fn what_was_not_tried_is_not_passed() {
    for check in all() {
        for binding in check.bindings.iter().filter(|_| check.is_of_interface()) {
            let card = AgentCard::default().with_streaming(true).with_push_notifications(true);
            let evidence = Evidence::new(*binding, check.versions[0], "http://a", card.into());
            let found = check.outcome(&evidence, &[]);
            assert!(
                matches!(found, Outcome::NotMeasured(_) | Outcome::Skip(_)),
                "{} on {binding}: {found:?}",
                check.rule.id
            );
        }
    }
}

/// A send that was answered with an event stream, as by an agent that always streams.
fn streamed_send(binding: Transport, version: ProtocolVersion) -> Evidence {
    let events = [json!({"task": task(WORKING)}), status_event(DONE)];
    let mut exchange = stream(&events, StreamEnd::Closed);
    exchange.binding = binding;
    exchange.operation = "SendMessage";
    let mut evidence = Evidence::new(binding, version, "http://a", Arc::default());
    evidence.push(Step::Send, exchange);
    evidence
}

#[test]
fn event_stream_as_the_answer_to_a_unary_call_is_a_violation() {
    let one_zero = ProtocolVersion::V1_0;
    for (binding, version, id, expected) in [
        (Transport::JsonRpc, one_zero, "R-274", "fail"),
        (Transport::JsonRpc, ProtocolVersion::V0_3, "R-274", "fail"),
        (Transport::JsonRpc, one_zero, "R-018", "fail"),
        (Transport::JsonRpc, one_zero, "R-023", "pass"),
        (Transport::Rest, one_zero, "R-292", "fail"),
        (Transport::Rest, one_zero, "R-300", "fail"),
        (Transport::Rest, one_zero, "R-018", "fail"),
        (Transport::Rest, ProtocolVersion::V0_3, "R-303", "fail"),
    ] {
        let evidence = streamed_send(binding, version);
        let mut checks = all().filter(|check| check.applies(binding, version));
        let found = checks.find(|check| check.rule.id == id).unwrap().outcome(&evidence, &[]);
        assert_eq!(found.name(), expected, "{id} on {binding} {version}");
    }
}
