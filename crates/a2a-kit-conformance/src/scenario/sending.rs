//! Sending texts and reading the tasks, which also shows how the agent behaves.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    exchange::{Exchange, is_interrupted, is_terminal, state, text},
    recorder::{Learned, NO_TASK, NO_TEXT, Recorder, merge, send},
    step::Step,
    wire::Call,
};

/// How many tasks the context for listing gets.
const TASKS_IN_CONTEXT: usize = 3;

pub(super) async fn run(recorder: &mut Recorder<'_>, learned: &mut Learned) {
    let prompts = recorder.prompts.clone();
    learned.asking = prompts.ask.clone();
    learned.slow = prompts.slow.clone();
    let hello = prompts.hello.as_str();
    let sent = recorder.step(Step::Send, Call::new("SendMessage", send(hello, json!({})))).await;
    learn(learned, sent.as_ref(), Some(hello));
    artifact(recorder, learned).await;
    for (step, prompt) in
        [(Step::SendMessageAnswer, &prompts.message), (Step::SendFailing, &prompts.fail)]
    {
        let call = prompt.as_ref().map(|text| Call::new("SendMessage", send(text, json!({}))));
        let answer = recorder.step_if(step, call, NO_TEXT).await;
        learn(learned, answer.as_ref(), None);
    }
    context(recorder, learned, hello).await;
    members(recorder, hello).await;
    read(recorder, learned).await;
}

/// Keeps what an answer shows about the agent.
fn learn(learned: &mut Learned, answer: Option<&Exchange>, prompt: Option<&str>) {
    let Some(task) = answer.and_then(Exchange::task) else { return };
    let ids = (text(task, "id").to_owned(), text(task, "contextId").to_owned());
    if is_terminal(state(task)) {
        learned.ended.get_or_insert(ids.clone());
    }
    if is_interrupted(state(task)) && learned.asking.is_none() {
        learned.asking = prompt.map(str::to_owned);
    }
    let artifacts = task.get("artifacts").and_then(Value::as_array);
    if artifacts.is_some_and(|artifacts| !artifacts.is_empty()) {
        learned.with_artifact.get_or_insert(ids.0);
    }
}

/// A task with an artifact.
async fn artifact(recorder: &mut Recorder<'_>, learned: &mut Learned) {
    let prompt = recorder.prompts.artifact.as_ref();
    let call = prompt.map(|text| Call::new("SendMessage", send(text, json!({}))));
    let answer = recorder.step_if(Step::SendArtifact, call, NO_TEXT).await;
    learn(learned, answer.as_ref(), None);
    let id = learned.with_artifact.as_ref();
    let call = id.map(|id| Call::new("GetTask", json!({ "id": id })));
    let reason = "no task had an artifact: name a text that gives one with --prompt-for artifact=…";
    recorder.step_if(Step::GetArtifactTask, call, reason).await;
}

/// Several tasks in a context that the client chose, or if the agent refuses that, in its own.
async fn context(recorder: &mut Recorder<'_>, learned: &mut Learned, hello: &str) {
    let mut context = format!("a2a-conformance-{}", Uuid::new_v4());
    for _ in 0..TASKS_IN_CONTEXT {
        let params = send(hello, json!({ "contextId": context }));
        let answer = recorder.step(Step::SendInContext, Call::new("SendMessage", params)).await;
        let Some(answer) = answer else { return };
        learn(learned, Some(&answer), Some(hello));
        match (answer.task(), &learned.ended) {
            (Some(task), _) => {
                let given = text(task, "contextId");
                if !given.is_empty() {
                    learned.context = Some(given.to_owned());
                }
            }
            (None, Some((_, of_agent))) if answer.error().is_some() && !of_agent.is_empty() => {
                context.clone_from(of_agent);
            }
            (None, _) => {}
        }
    }
}

/// Members of requests: unknown ones, and the length of the history.
async fn members(recorder: &mut Recorder<'_>, hello: &str) {
    if recorder.evidence.is_json() {
        let mut params = send(hello, json!({ "xUnknownMember": { "a": [1] } }));
        merge(&mut params, json!({ "xUnknownMember": "ignored" }));
        if let Some(part) = params.pointer_mut("/message/parts/0") {
            merge(part, json!({ "xUnknownMember": true }));
        }
        recorder.step(Step::SendUnknownMembers, Call::new("SendMessage", params)).await;
    } else {
        recorder.missing(&[Step::SendUnknownMembers], "gRPC messages have no names of members");
    }
    for (step, length) in [(Step::SendHistoryZero, 0), (Step::SendHistoryOne, 1)] {
        let mut params = send(hello, json!({}));
        merge(&mut params, json!({ "configuration": { "historyLength": length } }));
        recorder.step(step, Call::new("SendMessage", params)).await;
    }
    let mut params = send(hello, json!({}));
    let part = json!({ "raw": "AAEC", "mediaType": "application/x-a2a-conformance" });
    if let Some(message) = params.get_mut("message") {
        merge(message, json!({ "parts": [part] }));
    }
    recorder.step(Step::SendForeignMediaType, Call::new("SendMessage", params)).await;
}

/// Reads tasks: one that exists, and one that does not.
async fn read(recorder: &mut Recorder<'_>, learned: &Learned) {
    let unknown = Uuid::new_v4().to_string();
    recorder.step(Step::GetUnknown, Call::new("GetTask", json!({ "id": unknown }))).await;
    let steps = [
        (Step::GetTask, json!({})),
        (Step::GetTaskAgain, json!({})),
        (Step::GetHistoryZero, json!({ "historyLength": 0 })),
        (Step::GetHistoryOne, json!({ "historyLength": 1 })),
    ];
    for (step, members) in steps {
        let call = learned.ended.as_ref().map(|(id, _)| {
            let mut params = json!({ "id": id });
            merge(&mut params, members);
            Call::new("GetTask", params)
        });
        recorder.step_if(step, call, NO_TASK).await;
    }
}
