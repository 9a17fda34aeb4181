//! Tasks that are still working: answers at once, subscriptions and cancellation.

use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::{
    exchange::{is_terminal, state, text},
    recorder::{Learned, NO_SLOW, NO_TASK, Recorder, merge, send},
    step::Step,
    wire::Call,
};

/// How long the first event of a subscription is waited for before the task is canceled.
const FIRST_EVENT: Duration = Duration::from_secs(5);

pub(super) async fn run(recorder: &mut Recorder<'_>, learned: &Learned) {
    let unknown = Uuid::new_v4().to_string();
    let call = |operation, id: &str| Call::new(operation, json!({ "id": id }));
    recorder.step(Step::CancelUnknown, call("CancelTask", &unknown)).await;
    recorder.step(Step::SubscribeUnknown, call("SubscribeToTask", &unknown)).await;
    for (step, operation) in
        [(Step::CancelTerminal, "CancelTask"), (Step::SubscribeTerminal, "SubscribeToTask")]
    {
        let call = learned.ended.as_ref().map(|(id, _)| call(operation, id));
        recorder.step_if(step, call, NO_TASK).await;
    }
    active(recorder, learned).await;
}

/// A task that is still working, or waits for input: subscribes to it and cancels it.
async fn active(recorder: &mut Recorder<'_>, learned: &Learned) {
    let hello = recorder.prompts.hello.clone();
    // A task that may end by itself meanwhile shows nothing but the answer at once.
    let candidates = [
        (learned.slow.as_deref(), true),
        (learned.asking.as_deref(), true),
        (Some(&*hello), false),
    ];
    let mut id = None;
    for (prompt, stays) in candidates {
        let Some(prompt) = prompt else { continue };
        let mut params = send(prompt, json!({}));
        merge(&mut params, json!({ "configuration": { "returnImmediately": true } }));
        let call = Call::new("SendMessage", params);
        let Some(answer) = recorder.step(Step::SendImmediately, call).await else { break };
        if let Some(task) = answer.task().filter(|task| !is_terminal(state(task))) {
            id = stays.then(|| text(task, "id").to_owned());
            break;
        }
    }
    let Some(id) = id else {
        let steps = [Step::Subscribe, Step::Cancel, Step::CancelAgain, Step::GetAfterCancel];
        return recorder.missing(&steps, NO_SLOW);
    };
    let cancel = Call::new("CancelTask", json!({ "id": id }));
    if recorder.evidence.card.can_stream() {
        let subscribe = Call::new("SubscribeToTask", json!({ "id": id }));
        let (first, has_come) = oneshot::channel();
        let link = recorder.link;
        let (subscription, canceled) =
            tokio::join!(recorder.step_and_tell(Step::Subscribe, subscribe, Some(first)), async {
                // A subscription that is refused drops the sender, which also ends the wait.
                let _refused = tokio::time::timeout(FIRST_EVENT, has_come).await;
                link.call(cancel.clone()).await
            });
        if subscription.is_some() {
            recorder.record(Step::Cancel, canceled);
        }
    } else {
        recorder.missing(&[Step::Subscribe], "the card does not declare streaming");
        recorder.step(Step::Cancel, cancel.clone()).await;
    }
    recorder.step(Step::CancelAgain, cancel).await;
    recorder.step(Step::GetAfterCancel, Call::new("GetTask", json!({ "id": id }))).await;
}
