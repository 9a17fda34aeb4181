//! Callers: none, another one, and the extended card.

use serde_json::json;

use crate::{
    recorder::{Learned, NO_TASK, Recorder, send},
    step::Step,
    wire::{Call, Principal},
};

pub(super) async fn run(recorder: &mut Recorder<'_>, learned: &Learned) {
    let hello = recorder.prompts.hello.clone();
    recorder.step(Step::ExtendedCard, Call::new("GetExtendedAgentCard", json!({}))).await;
    let call = Call::new("GetExtendedAgentCard", json!({})).by(Principal::Anonymous);
    let call = recorder.evidence.facts.has_schemes.then_some(call);
    let reason = "the card declares no security scheme for its extended card";
    recorder.step_if(Step::ExtendedCardAnonymous, call, reason).await;
    let call = Call::new("SendMessage", send(&hello, json!({}))).by(Principal::Anonymous);
    let call = recorder.evidence.facts.requires_credentials.then_some(call);
    recorder.step_if(Step::Anonymous, call, "the card requires no credentials").await;
    others(recorder, learned).await;
}

/// Another caller looks for the tasks of the first one.
async fn others(recorder: &mut Recorder<'_>, learned: &Learned) {
    let id = learned.ended.as_ref().map(|(id, _)| id.clone()).unwrap_or_default();
    let steps = [
        (Step::GetByOther, "GetTask", json!({ "id": id })),
        (Step::CancelByOther, "CancelTask", json!({ "id": id })),
        (Step::SubscribeByOther, "SubscribeToTask", json!({ "id": id })),
        (Step::PushByOther, "ListTaskPushNotificationConfigs", json!({ "taskId": id })),
        (Step::ListByOther, "ListTasks", json!({ "pageSize": 100 })),
    ];
    for (step, operation, params) in steps {
        if !recorder.link.has_second_identity() {
            let reason = "it needs a second caller: --second-bearer or --second-api-key";
            recorder.missing(&[step], reason);
        } else if id.is_empty() {
            recorder.missing(&[step], NO_TASK);
        } else {
            recorder.step(step, Call::new(operation, params).by(Principal::Second)).await;
        }
    }
}
