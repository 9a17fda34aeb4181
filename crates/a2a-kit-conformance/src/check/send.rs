//! Sending messages.

use std::time::Duration;

use a2a_core::ErrorKind;
use a2a_kit_client::Transport;
use serde_json::Value;

use super::definition::{Check, Feature::Push, must, should};
use crate::{
    evidence::Evidence,
    exchange::{Answer, is_settled, is_terminal, state, text},
    expect,
    step::Step,
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    must("R-018", "3.1.1", "A send returns either a task or a message").by(one_member),
    must("R-020", "3.1.1", "Messages to a task that has ended are refused").errors(
        &[Step::SendToTerminal, Step::StreamToTerminal],
        &[ErrorKind::UnsupportedOperation],
    ),
    must("R-021", "3.1.1", "Media types that the agent can't take are refused as such")
        .by(media_type),
    must("R-022", "3.4.2", "Messages to an unknown task get TaskNotFoundError")
        .errors(&[Step::SendUnknownTask, Step::StreamUnknownTask], &[ErrorKind::TaskNotFound]),
    must("R-023", "3.2.2", "A send waits for an end or a pause of the task").by(waits),
    must("R-024", "3.2.2", "A send that waits returns the latest state of the task").by(is_latest),
    must("R-025", "3.2.2", "With `returnImmediately`, a send returns before the task ends")
        .by(at_once),
    must("R-028", "3.2.4", "No more history is returned than `historyLength`").by(history),
    should("R-030", "3.2.4", "With `historyLength` 0, `history` is left out").by(history_zero),
    must("R-034", "3.3.4", "A push config in a message is refused without the capability")
        .errors(&[Step::SendWithPush], &[ErrorKind::PushNotificationNotSupported])
        .without(Push),
    must("R-162", "3.3.2", "Invalid requests are refused").errors(
        &[Step::SendNothing, Step::SendWrongType],
        &[ErrorKind::InvalidParams, ErrorKind::InvalidRequest, ErrorKind::ParseError],
    ),
    should("R-235", "5.7", "Requests without REQUIRED members are refused").refusals(&[
        (Step::SendWithoutParts, "a message without parts was accepted"),
        (Step::SendWithoutMessageId, "a message without `messageId` was accepted"),
        (Step::SendWithoutRole, "a message without `role` was accepted"),
    ]),
    must("R-227", "4.1.6", "Parts with two contents are refused")
        .refusals(&[(Step::SendTwoContents, "a part with both `text` and `url` was accepted")])
        .on(JSON),
    should("R-238", "5.7", "Unknown members are ignored").by(unknown_members).on(JSON),
    must("R-185", "3.4.1", "A generated `contextId` is returned").by(context_returned),
    must("R-187", "3.4.1", "A client's `contextId` is kept or refused").by(context_kept),
    must("R-194", "3.4.2", "Each new task has an id of its own").by(unique_ids),
    must("R-197", "3.4.2", "No task is created under an unknown `taskId`").refusals(&[(
        Step::GetUnknownTaskAfterSend,
        "a message to an unknown task created a task with that id",
    )]),
    must("R-198", "3.4.3", "The context is inferred from the task").by(inferred),
    must("R-199", "3.4.3", "A `contextId` that is not the task's is refused").refusals(&[(
        Step::SendOtherContext,
        "a message with the `taskId` of a task and another `contextId` was accepted",
    )]),
    must("R-203", "3.4.3", "A message to a task that asks resumes it").by(resumes),
];

/// The bindings whose messages can violate the schema.
const JSON: &[Transport] = &[Transport::JsonRpc, Transport::Rest];

/// A task that works this long gives an answer at once if asked to.
const WORK: Duration = Duration::from_secs(3);

const SENDS: [Step; 6] = [
    Step::Send,
    Step::SendInContext,
    Step::SendArtifact,
    Step::SendMessageAnswer,
    Step::SendFailing,
    Step::SendAsking,
];

fn one_member(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for step in SENDS {
        for exchange in evidence.of_step(step) {
            match &exchange.answer {
                Answer::Result(result) => {
                    let has = |name: &str| result.get(name).is_some_and(Value::is_object);
                    verdict.require(has("task") != has("message"), exchange, || {
                        "the response has not exactly one of `task` and `message`".to_owned()
                    });
                }
                Answer::Unusable(why) if step == Step::Send => {
                    verdict.found(exchange, format!("the send has no usable answer: {why}"));
                }
                Answer::Error(error) if step == Step::Send => {
                    verdict.not_measured(format!("the send answered {}", error.summary()));
                }
                Answer::Events(_) => {
                    let answer = exchange.summary();
                    let message =
                        format!("the send was answered with {answer}, not with one response");
                    verdict.found(exchange, message);
                }
                Answer::Error(_) | Answer::Unusable(_) => {}
            }
        }
    }
    let _reason_noted = verdict.take(evidence, Step::Send);
}

fn media_type(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::SendForeignMediaType) else { return };
    if exchange.error().is_some() {
        expect::error(verdict, exchange, &[ErrorKind::ContentTypeNotSupported]);
    } else if evidence.card.default_input_modes.iter().any(|mode| mode == "*/*") {
        verdict.skip("the card lists the media type */*");
    } else {
        verdict.not_measured("the agent took a part of the type application/x-a2a-conformance");
    }
}

fn waits(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.of_steps(&SENDS) {
        // A stream in place of the response waits too, until it ends.
        let Some(state) = exchange.task().map(state).or_else(|| exchange.last_state()) else {
            continue;
        };
        verdict.require(is_settled(state), exchange, || {
            format!("the send returned a task in {state} instead of waiting for its end or a pause")
        });
    }
    let _reason_noted = verdict.take(evidence, Step::Send);
}

fn is_latest(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(later) = verdict.take(evidence, Step::GetTask) else { return };
    let Some(task) = later.task() else {
        return verdict.not_measured(format!("GetTask answered {}", later.summary()));
    };
    for exchange in evidence.of_steps(&SENDS) {
        let Some(sent) = exchange.task().filter(|sent| text(sent, "id") == text(task, "id")) else {
            continue;
        };
        for member in ["status", "artifacts"] {
            let is_same = sent.pointer(&format!("/{member}")) == task.get(member)
                || member == "status" && state(sent) == state(task);
            verdict.require(is_same, exchange, || {
                format!("the `{member}` of the sent task differs from that of GetTask afterwards")
            });
        }
    }
}

fn at_once(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let mut slow = false;
    for exchange in evidence.of_step(Step::SendImmediately) {
        let has_ended = exchange.task().is_none_or(|task| is_terminal(state(task)));
        if !has_ended {
            verdict.measured();
            slow = true;
        } else if exchange.elapsed >= WORK && exchange.error().is_none() {
            let (seconds, answer) = (exchange.elapsed.as_secs_f32(), exchange.summary());
            let message =
                format!("with `returnImmediately`, the answer came after {seconds:.1} s: {answer}");
            verdict.found(exchange, message);
        }
    }
    if !slow {
        verdict.not_measured("every task ended at once: name a slow one with --prompt-for slow=…");
    }
}

fn history(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (step, limit) in [
        (Step::SendHistoryZero, 0),
        (Step::SendHistoryOne, 1),
        (Step::GetHistoryZero, 0),
        (Step::GetHistoryOne, 1),
        (Step::GetResumedHistoryOne, 1),
    ] {
        if step == Step::GetResumedHistoryOne && evidence.get(step).is_err() {
            continue;
        }
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        let Some(task) = exchange.task() else {
            verdict.not_measured(format!("{} answered {}", exchange.operation, exchange.summary()));
            continue;
        };
        let history = task.get("history").and_then(Value::as_array).map_or(0, Vec::len);
        verdict.require(history <= limit, exchange, || {
            format!("with `historyLength` {limit}, {history} messages were returned")
        });
    }
}

fn history_zero(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for step in [Step::SendHistoryZero, Step::GetHistoryZero] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        if let Some(task) = exchange.task() {
            verdict.require(task.get("history").is_none(), exchange, || {
                "with `historyLength` 0, `history` is in the answer".to_owned()
            });
        }
    }
}

fn unknown_members(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::SendUnknownMembers) else { return };
    if !evidence.get(Step::Send).is_ok_and(|sent| sent.succeeded()) {
        return verdict.not_measured("the same message without them was refused too");
    }
    verdict.accepted(exchange, "a message with unknown members");
}

fn context_returned(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let mut known = false;
    let steps = [Step::Send, Step::GetTask, Step::SendAsking, Step::SendFailing];
    for exchange in evidence.of_steps(&steps) {
        let Some(task) = exchange.task() else { continue };
        known = true;
        verdict.require(!text(task, "contextId").is_empty(), exchange, || {
            "the task has no `contextId`, so that the conversation can't be continued".to_owned()
        });
    }
    if !known {
        verdict.not_measured("the agent answered without tasks");
    }
}

fn context_kept(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.of_step(Step::SendInContext) {
        let asked = exchange.params.pointer("/message/contextId").and_then(Value::as_str);
        let asked = asked.unwrap_or_default();
        let result =
            exchange.result().and_then(|result| result.get("task").or(result.get("message")));
        let Some(payload) = result else {
            verdict.measured();
            continue;
        };
        let given = text(payload, "contextId");
        verdict.require(given == asked, exchange, || {
            format!("the `contextId` {asked:?} was answered with {given:?}")
        });
    }
    let _reason_noted = verdict.take(evidence, Step::SendInContext);
}

fn unique_ids(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let mut seen = Vec::new();
    for exchange in evidence.of_steps(&[Step::Send, Step::SendInContext, Step::SendHistoryZero]) {
        let Some(task) = exchange.task() else { continue };
        let id = text(task, "id");
        verdict.require(!id.is_empty(), exchange, || "the task has no `id`");
        verdict.require(!seen.contains(&id), exchange, || {
            format!("the task {id:?} was answered to two messages that name no task")
        });
        seen.push(id);
    }
    if seen.is_empty() {
        verdict.not_measured("the agent answered without tasks");
    }
}

fn inferred(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(resumed) = verdict.take(evidence, Step::SendResuming) else { return };
    let asking = evidence.get(Step::SendAsking).ok().and_then(|asking| asking.task());
    let (Some(before), Some(after)) = (asking, resumed.task()) else {
        return verdict.not_measured(format!("the message to the task got {}", resumed.summary()));
    };
    let contexts = (text(before, "contextId"), text(after, "contextId"));
    verdict.require(contexts.0 == contexts.1, resumed, || {
        format!("the task in context {:?} continued in context {:?}", contexts.0, contexts.1)
    });
}

fn resumes(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(resumed) = verdict.take(evidence, Step::SendResuming) else { return };
    let asking = evidence.get(Step::SendAsking).ok().and_then(|asking| asking.task());
    let id = asking.map(|task| text(task, "id")).unwrap_or_default();
    match (resumed.task(), &resumed.answer) {
        (Some(task), _) => verdict.require(text(task, "id") == id, resumed, || {
            let other = text(task, "id");
            format!("a message to the task {id:?} was answered with the task {other:?}")
        }),
        (None, Answer::Error(error)) => {
            let message =
                format!("a message to the task that asks for input got {}", error.summary());
            verdict.found(resumed, message);
        }
        (None, _) => verdict.not_measured(format!("the answer was {}", resumed.summary())),
    }
}
