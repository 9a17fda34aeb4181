//! Messages to tasks that exist, have ended, or never were, and streams of messages.

use serde_json::json;
use uuid::Uuid;

use crate::{
    exchange::{is_interrupted, state, text},
    recorder::{Learned, NO_ASKING, NO_TASK, NO_TEXT, Recorder, send},
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

/// Streams of messages.
pub(super) async fn stream(recorder: &mut Recorder<'_>, learned: &mut Learned) {
    let prompts = recorder.prompts.clone();
    let text_of_stream = prompts.stream.as_ref().unwrap_or(&prompts.hello);
    let call = |text: &str, members| Call::new("SendStreamingMessage", send(text, members));
    let streamed = recorder.step(Step::Stream, call(text_of_stream, json!({}))).await;
    if !recorder.evidence.card.can_stream() {
        let steps = [
            Step::GetTaskAfterStream,
            Step::StreamAsking,
            Step::StreamMessageAnswer,
            Step::StreamUnknownTask,
            Step::StreamToTerminal,
        ];
        return recorder.missing(&steps, "the card does not declare streaming");
    }
    let id = streamed.as_ref().and_then(|exchange| {
        let first = exchange.stream()?.events.first()?;
        Some(text(first.value.get("task")?, "id").to_owned())
    });
    let get = id.map(|id| Call::new("GetTask", json!({ "id": id })));
    recorder.step_if(Step::GetTaskAfterStream, get, "the stream did not start with a task").await;
    let unknown = json!({ "taskId": Uuid::new_v4().to_string() });
    recorder.step(Step::StreamUnknownTask, call(&prompts.hello, unknown)).await;
    let ended = learned.ended.as_ref();
    let ended = ended.map(|(id, _)| call(&prompts.hello, json!({ "taskId": id })));
    recorder.step_if(Step::StreamToTerminal, ended, NO_TASK).await;
    let asking = learned.asking.as_ref().map(|prompt| call(prompt, json!({})));
    recorder.step_if(Step::StreamAsking, asking, NO_ASKING).await;
    let message = prompts.message.as_ref().map(|prompt| call(prompt, json!({})));
    recorder.step_if(Step::StreamMessageAnswer, message, NO_TEXT).await;
}
