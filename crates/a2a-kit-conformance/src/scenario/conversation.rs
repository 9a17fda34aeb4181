//! Messages to tasks that exist, have ended, or never were.

use serde_json::json;
use uuid::Uuid;

use crate::{
    exchange::{is_interrupted, state, text},
    recorder::{Learned, NO_ASKING, NO_TASK, Recorder, send},
    step::Step,
    wire::Call,
};

pub(super) async fn run(recorder: &mut Recorder<'_>, learned: &Learned) {
    let hello = recorder.prompts.hello.clone();
    let to = |task: &str| Call::new("SendMessage", send(&hello, json!({ "taskId": task })));
    let ended = learned.ended.as_ref().map(|(id, _)| to(id));
    recorder.step_if(Step::SendToTerminal, ended, NO_TASK).await;
    let unknown = Uuid::new_v4().to_string();
    recorder.step(Step::SendUnknownTask, to(&unknown)).await;
    let look = Call::new("GetTask", json!({ "id": unknown }));
    recorder.step(Step::GetUnknownTaskAfterSend, look).await;
    ask(recorder, learned, &hello).await;
}

/// A task that asks: refuses another context, and goes on with a message.
async fn ask(recorder: &mut Recorder<'_>, learned: &Learned, hello: &str) {
    let Some(prompt) = &learned.asking else {
        let steps = [Step::SendAsking, Step::SendOtherContext, Step::SendResuming];
        return recorder.missing(&steps, NO_ASKING);
    };
    let asking = Call::new("SendMessage", send(prompt, json!({})));
    let asking = recorder.step(Step::SendAsking, asking).await;
    let Some(task) = asking.as_ref().and_then(|asking| asking.task()) else { return };
    if !is_interrupted(state(task)) {
        let steps = [Step::SendOtherContext, Step::SendResuming];
        return recorder.missing(&steps, "the task did not ask for input");
    }
    let id = text(task, "id");
    let elsewhere = format!("a2a-conformance-{}", Uuid::new_v4());
    let params = send(hello, json!({ "taskId": id, "contextId": elsewhere }));
    recorder.step(Step::SendOtherContext, Call::new("SendMessage", params)).await;
    let params = send(hello, json!({ "taskId": id }));
    recorder.step(Step::SendResuming, Call::new("SendMessage", params)).await;
    recorder.step(Step::GetResumed, Call::new("GetTask", json!({ "id": id }))).await;
    let params = json!({ "id": id, "historyLength": 1 });
    recorder.step(Step::GetResumedHistoryOne, Call::new("GetTask", params)).await;
}
